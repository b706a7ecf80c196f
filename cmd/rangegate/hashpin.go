package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"rangegate/api/control"
	"rangegate/cmd/rangegate/console"
	"rangegate/cmd/rangegate/gateway"
)

// The length of a PIN, in characters.
const (
	minPINLength = 6
	maxPINLength = 100
)

type hashPIN struct{}

// Run reads a PIN from the terminal, or one line from standard input, and prints its hash for the
// configuration.
func (hashPIN) Run(t *terminal) error {
	pin, err := readPIN(t)
	if err != nil {
		return err
	}
	pin = strings.TrimSpace(pin)
	if n := utf8.RuneCountInString(pin); n < minPINLength || n > maxPINLength {
		return gateway.Misconfigured{Err: fmt.Errorf("a PIN has %d to %d characters", minPINLength, maxPINLength)}
	}
	if reason := trivialPIN(pin); reason != "" {
		return gateway.Misconfigured{Err: fmt.Errorf("this PIN is among the first that somebody would try: %s", reason)}
	}
	hash, err := control.HashPIN(pin)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(t.out, hash)
	return err
}

// minDifferent is how many different characters a PIN has at least.
const minDifferent = 3

// trivialPIN returns why a PIN would be tried first, or "".
func trivialPIN(pin string) string {
	letters := []rune(strings.ToLower(pin))
	different, steps := map[rune]bool{}, map[int]bool{}
	for i, r := range letters {
		different[r] = true
		if i > 0 {
			steps[stepOf(letters[i-1], r)] = true
		}
	}
	switch {
	case len(different) < minDifferent:
		return "it has fewer than three different characters"
	case len(steps) == 1:
		return "its characters ascend or descend"
	case isRepeated(letters):
		return "it is one part that is repeated"
	case isProgression(string(letters)):
		return "its numbers ascend by equal steps"
	case isDate(string(letters)):
		return "it is a date"
	case slices.Contains(commonPINs, string(letters)):
		return "it is on every list of common PINs"
	}
	return ""
}

// stepOf returns the distance of two characters. After 9 comes 0.
func stepOf(a, b rune) int {
	step := int(b - a)
	if a >= '0' && a <= '9' && b >= '0' && b <= '9' {
		step = (step + 10) % 10
	}
	return step
}

// isRepeated is true for a text such as 123123, 12341234, or 112233, whose characters ascend in pairs.
func isRepeated(letters []rune) bool {
	for size := 1; size <= len(letters)/2; size++ {
		if len(letters)%size == 0 && slices.Equal(letters[size:], letters[:len(letters)-size]) {
			return true
		}
	}
	pairs, steps := len(letters)%2 == 0, map[int]bool{}
	for i := 0; pairs && i < len(letters); i += 2 {
		pairs = letters[i] == letters[i+1]
		if i > 0 {
			steps[stepOf(letters[i-2], letters[i])] = true
		}
	}
	return pairs && len(steps) == 1
}

// isProgression is true for three numbers or more with the same step between them, such as 246810, 102030 or
// 9101112. The second number has as many digits as the first, or one more.
func isProgression(digits string) bool {
	for first := 1; first <= len(digits)/3; first++ {
		for second := first; second <= first+1 && first+second <= len(digits); second++ {
			a, errA := strconv.ParseInt(digits[:first], 10, 64)
			b, errB := strconv.ParseInt(digits[first:first+second], 10, 64)
			if errA != nil || errB != nil || b <= a {
				continue
			}
			var row strings.Builder
			for n := a; row.Len() < len(digits); n += b - a {
				fmt.Fprint(&row, n)
			}
			if row.String() == digits {
				return true
			}
		}
	}
	return false
}

// dates are the ways in which people write a birthday in digits.
var dates = []string{"020106", "010206", "060102", "02012006", "01022006", "20060102"}

// isDate is true for a day of 1900 to 2099, or of any two-digit year.
func isDate(digits string) bool {
	return slices.ContainsFunc(dates, func(layout string) bool {
		day, err := time.Parse(layout, digits)
		return err == nil && len(digits) == len(layout) && day.Year() >= 1900 && day.Year() < 2100
	})
}

// commonPINs are those that people choose most often, without those that follow a rule above.
var commonPINs = []string{
	"147258", "147852", "159357", "159753", "258456", "456789", "741852", "789456", "852456", "963852", "987456",
	"123321", "321123", "123654", "654123", "112358", "314159", "1234qwer", "qwerty", "qwertz", "qwerty1", "asdfgh",
	"asdfghjk", "password",
	"passwort", "password1", "iloveyou", "letmein", "welcome", "rangegate", "1q2w3e", "1q2w3e4r", "abc123", "admin123",
	"changeme", "secret",
}

// readPIN asks twice on a terminal, without echo.
func readPIN(t *terminal) (string, error) {
	if !console.IsTerminal(os.Stdin) {
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
		return "", gateway.Misconfigured{Err: errors.New("that was not the same PIN twice")}
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
