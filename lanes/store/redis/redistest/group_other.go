//go:build !linux

package redistest

import "syscall"

// newProcessGroup makes signals reach the server and its children. When the test binary is killed the server remains.
func newProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
