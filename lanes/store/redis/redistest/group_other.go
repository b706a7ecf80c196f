//go:build !linux

package redistest

import "syscall"

// groupOfItsOwn makes signals reach the server and its children. A server whose test binary was killed stays.
func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
