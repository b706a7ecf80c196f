package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"rangegate/api/control"
)

// The length of a PIN, in characters.
const (
	shortestPIN = 6
	longestPIN  = 100
)

type hashPIN struct{}

// Run prints what the configuration keeps of a PIN, which is typed in, or comes on standard input as one line.
func (hashPIN) Run(t *terminal) error {
	pin, err := readPIN(t)
	if err != nil {
		return err
	}
	pin = strings.TrimSpace(pin)
	if n := utf8.RuneCountInString(pin); n < shortestPIN || n > longestPIN {
		return misconfigured{fmt.Errorf("a PIN has %d to %d characters", shortestPIN, longestPIN)}
	}
	hash, err := control.HashPIN(pin)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(t.out, hash)
	return err
}

// readPIN asks for the PIN twice where a person types it, and does not show it.
func readPIN(t *terminal) (string, error) {
	if !isTerminal(os.Stdin) {
		return line(bufio.NewReader(os.Stdin))
	}
	before, err := hideInput(os.Stdin)
	if err != nil {
		return "", err
	}
	shown := make(chan struct{})
	defer close(shown)
	defer func() { _ = unix.IoctlSetTermios(int(os.Stdin.Fd()), unix.TCSETS, before) }()
	go func() { // a signal that ends the process would leave the terminal blind
		select {
		case <-t.ctx.Done():
			_ = unix.IoctlSetTermios(int(os.Stdin.Fd()), unix.TCSETS, before)
			fmt.Fprintln(t.log)
			os.Exit(exitFailed)
		case <-shown:
		}
	}()
	typed := bufio.NewReader(os.Stdin)
	var pins [2]string
	for i, prompt := range []string{"PIN: ", "The same again: "} {
		fmt.Fprint(t.log, prompt)
		pins[i], err = line(typed)
		fmt.Fprintln(t.log)
		if err != nil {
			return "", err
		}
	}
	if pins[0] != pins[1] {
		return "", misconfigured{errors.New("that was not the same PIN twice")}
	}
	return pins[0], nil
}

// hideInput lets the terminal show nothing of what is typed, and answers how it was before.
func hideInput(of *os.File) (before *unix.Termios, err error) {
	before, err = unix.IoctlGetTermios(int(of.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	return before, unix.IoctlSetTermios(int(of.Fd()), unix.TCSETS, &hidden)
}

// line is the next line, with or without its end.
func line(from *bufio.Reader) (string, error) {
	text, err := from.ReadString('\n')
	if errors.Is(err, io.EOF) && text != "" {
		err = nil
	}
	return strings.TrimRight(text, "\r\n"), err
}
