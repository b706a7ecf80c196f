package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// What a terminal is sent (ECMA-48, and the private modes of xterm, which terminals that lack them ignore).
const (
	enterScreen  = "\x1b[?1049h\x1b[?25l\x1b[?7l" // the alternate screen, no cursor, no line goes on in the next one
	leaveScreen  = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
	beginFrame   = "\x1b[?2026h\x1b[H" // the terminal shows nothing of the frame before its end
	endFrame     = "\x1b[?2026l"
	clearLine    = "\x1b[K"
	reverseVideo = "\x1b[7m"
	plainText    = "\x1b[0m"
)

// What keys send.
const (
	suspendKey = 0x1a // Ctrl-Z
	escape     = 0x1b // and those that have no character, followed by more
)

// screen is the alternate screen of a terminal, and its keys. It is used by one goroutine.
type screen struct {
	in, out *os.File
	former  *unix.Termios // the terminal's settings before the screen was entered; nil: it is not
}

// enter shows the screen. A key is read at once then and is not shown. Ctrl-C sends its signal; Ctrl-Z and Ctrl-\ do
// not, as they would stop and end the process with the screen in view.
func (s *screen) enter() error {
	if s.former != nil {
		return nil
	}
	former, err := unix.IoctlGetTermios(int(s.in.Fd()), unix.TCGETS)
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	keys := *former
	keys.Lflag &^= unix.ICANON | unix.ECHO
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 1, 0
	keys.Cc[unix.VSUSP], keys.Cc[unix.VQUIT] = 0, 0
	if err := unix.IoctlSetTermios(int(s.in.Fd()), unix.TCSETS, &keys); err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	s.former = former
	_, err = s.out.WriteString(enterScreen)
	return err
}

// leave restores the terminal.
func (s *screen) leave() error {
	if s.former == nil {
		return nil
	}
	_, err := s.out.WriteString(leaveScreen)
	err = errors.Join(err, unix.IoctlSetTermios(int(s.in.Fd()), unix.TCSETS, s.former))
	s.former = nil
	return err
}

// suspend leaves the screen and stops the process and its group, as Ctrl-Z does. The kernel ignores that signal where
// there is no shell that could let them go on. In either case the caller enters the screen again afterwards.
func (s *screen) suspend() error {
	return errors.Join(s.leave(), unix.Kill(0, unix.SIGTSTP))
}

// size returns the columns and rows of the terminal.
func (s *screen) size() (width, height int) {
	size, err := unix.IoctlGetWinsize(int(s.out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// draw shows the lines, which are as many as the terminal has, in one write, so that nothing flickers: each covers the
// one before. The lines of those numbers are highlighted.
func (s *screen) draw(lines []string, width int, highlighted ...int) error {
	if s.former == nil {
		return nil
	}
	var frame strings.Builder
	frame.WriteString(beginFrame)
	for i, line := range lines {
		if i > 0 {
			frame.WriteString("\r\n")
		}
		rest := clearLine
		if utf8.RuneCountInString(line) >= width {
			rest = "" // the cursor is on the last character, which it would clear
		}
		if line != "" && slices.Contains(highlighted, i) {
			line = reverseVideo + line + plainText
		}
		frame.WriteString(line + rest)
	}
	frame.WriteString(endFrame)
	_, err := s.out.WriteString(frame.String())
	return err
}
