package preflight

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listensAt names the process that listens at the port of the address, if it can be seen: those of other users only root
// sees.
func listensAt(address string) string {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return ""
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, inode := range listening(table, port) {
			sockets["socket:["+inode+"]"] = true
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range open {
		if to, err := os.Readlink(file); err == nil && sockets[to] {
			process := filepath.Dir(filepath.Dir(file))
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			return fmt.Sprintf("%s (pid %s)", strings.TrimSpace(string(name)), filepath.Base(process))
		}
	}
	return ""
}

// listening is the inodes of the sockets of a table of the kernel's that listen at the port.
func listening(table string, port uint64) (inodes []string) {
	file, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	const local, state, inode, listens = 1, 3, 9, "0A"
	for lines := bufio.NewScanner(file); lines.Scan(); {
		columns := strings.Fields(lines.Text())
		if len(columns) > inode && columns[state] == listens && strings.HasSuffix(columns[local], fmt.Sprintf(":%04X", port)) {
			inodes = append(inodes, columns[inode])
		}
	}
	return inodes
}
