package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// child is this program once more, in a process of its own: what it does takes nothing of the gateway's. It says on its
// output when the last of what it looks after was closed, and when the last was opened, and how much it was told when it
// is asked for it.
type child struct {
	process *exec.Cmd
	in      io.WriteCloser
	turned  chan turn
	counted chan count
}

type turn struct {
	closed bool
	at     time.Time
}

// count is how much a child was told so far.
type count struct{ bytes, messages int64 }

// newChild starts one. It is up when it has said its first line.
func newChild(args ...string) (c *child, first string, err error) {
	c = &child{turned: make(chan turn, 100), counted: make(chan count, 1)}
	var out io.ReadCloser
	if c.process, c.in, out, err = start(args...); err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return nil, "", errors.Join(fmt.Errorf("the %s did not start", args[0]), c.close())
	}
	go c.listen(lines)
	return c, lines.Text(), nil
}

func (c *child) listen(lines *bufio.Scanner) {
	defer close(c.turned)
	defer close(c.counted)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if word == "counted" {
			var sum count
			if _, err := fmt.Sscan(rest, &sum.bytes, &sum.messages); err == nil {
				c.counted <- sum
			}
			continue
		}
		var at int64
		if _, err := fmt.Sscan(rest, &at); err == nil {
			c.turned <- turn{word == "closed", time.Unix(0, at)}
		}
	}
}

var errEnded = errors.New("the other process has ended")

// wait is when everything was closed, or opened.
func (c *child) wait(ctx context.Context, closed bool) (time.Time, error) {
	for {
		select {
		case t, going := <-c.turned:
			if !going {
				return time.Time{}, errEnded
			}
			if t.closed == closed {
				return t.at, nil
			}
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("not everything was reached: %w", ctx.Err())
		}
	}
}

// soFar asks how much the child was told.
func (c *child) soFar() (count, error) {
	if _, err := fmt.Fprintln(c.in); err != nil {
		return count{}, err
	}
	sum, going := <-c.counted
	if !going {
		return count{}, errEnded
	}
	return sum, nil
}

func (c *child) close() error {
	_ = c.in.Close()
	return c.process.Wait()
}
