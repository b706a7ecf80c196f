package main

import (
	"bufio"
	"context"
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
	minPINLength = 6
	maxPINLength = 100
)

type hashPIN struct{}

// Run reads a PIN from the terminal, or one line from standard input, and prints its hash for the configuration.
func (hashPIN) Run(t *terminal) error {
	pin, err := readPIN(t)
	if err != nil {
		return err
	}
	pin = strings.TrimSpace(pin)
	if n := utf8.RuneCountInString(pin); n < minPINLength || n > maxPINLength {
		return misconfigured{fmt.Errorf("a PIN has %d to %d characters", minPINLength, maxPINLength)}
	}
	hash, err := control.HashPIN(pin)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(t.out, hash)
	return err
}

// readPIN asks twice on a terminal, without echo.
func readPIN(t *terminal) (string, error) {
	if !isTerminal(os.Stdin) {
		return readLine(bufio.NewReader(os.Stdin))
	}
	echo, err := disableEcho(os.Stdin)
	if err != nil {
		return "", err
	}
	restore := func() { _ = unix.IoctlSetTermios(int(os.Stdin.Fd()), unix.TCSETS, echo) }
	defer restore()
	stop := context.AfterFunc(t.ctx, func() { // a signal would end the process without echo on the terminal
		restore()
		t.logf("\n")
		os.Exit(exitFailed)
	})
	defer stop()
	input := bufio.NewReader(os.Stdin)
	var pins [2]string
	for i, prompt := range []string{"PIN: ", "The same again: "} {
		t.logf("%s", prompt)
		pins[i], err = readLine(input)
		t.logf("\n")
		if err != nil {
			return "", err
		}
	}
	if pins[0] != pins[1] {
		return "", misconfigured{errors.New("that was not the same PIN twice")}
	}
	return pins[0], nil
}

// disableEcho turns the terminal's echo off, and returns its former settings.
func disableEcho(terminal *os.File) (former *unix.Termios, err error) {
	former, err = unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *former
	hidden.Lflag &^= unix.ECHO
	return former, unix.IoctlSetTermios(int(terminal.Fd()), unix.TCSETS, &hidden)
}

// readLine reads a line. The last one may lack its end.
func readLine(input *bufio.Reader) (string, error) {
	text, err := input.ReadString('\n')
	if errors.Is(err, io.EOF) && text != "" {
		err = nil
	}
	return strings.TrimRight(text, "\r\n"), err
}
