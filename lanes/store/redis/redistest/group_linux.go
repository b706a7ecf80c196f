package redistest

import "syscall"

// newProcessGroup makes signals reach the server and its children, and ends the server when the test binary is killed.
func newProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
