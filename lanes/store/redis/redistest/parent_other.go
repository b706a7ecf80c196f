//go:build !linux

package redistest

import "syscall"

// endsWithParent has no counterpart here: a server whose test binary was killed stays.
func endsWithParent() *syscall.SysProcAttr { return nil }
