package redistest

import "syscall"

// endsWithParent makes the server end with the test binary, even when that is killed.
func endsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
