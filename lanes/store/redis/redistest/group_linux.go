package redistest

import "syscall"

// groupOfItsOwn makes signals reach the server and its children, and the server end with the test binary even when that
// is killed.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
