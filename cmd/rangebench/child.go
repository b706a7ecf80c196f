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

// child is another process of this program, so that its work is not counted as the gateway's. It prints when
// its last lane or screen has closed or opened, and, on request, how much it has received.
type child struct {
	process *exec.Cmd
	in      io.WriteCloser
	turns   chan turn
	counted chan count
	apart   chan spread
}

// spread is how far apart lanes were ordered to run, and began by themselves.
type spread struct{ ordered, begun time.Duration }

type turn struct {
	closed bool
	at     time.Time
}

// count is what a child has received so far, and how many of its screens a change has reached since it was last asked.
type count struct{ bytes, messages, reached int64 }

// newChild starts a child. It is ready when it has printed its first line.
func newChild(args ...string) (c *child, first string, err error) {
	c = &child{turns: make(chan turn, 100), counted: make(chan count, 1), apart: make(chan spread, 1)}
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
	defer close(c.turns)
	defer close(c.counted)
	defer close(c.apart)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if word == "counted" {
			var sum count
			if _, err := fmt.Sscan(rest, &sum.bytes, &sum.messages, &sum.reached); err == nil {
				c.counted <- sum
			}
			continue
		}
		if word == "apart" {
			var far spread
			if _, err := fmt.Sscan(rest, (*int64)(&far.ordered), (*int64)(&far.begun)); err == nil {
				c.apart <- far
			}
			continue
		}
		var at int64
		if _, err := fmt.Sscan(rest, &at); err == nil {
			c.turns <- turn{word == "closed", time.Unix(0, at)}
		}
	}
}

var errEnded = errors.New("the other process has ended")

// wait returns when everything was closed, or opened.
func (c *child) wait(ctx context.Context, closed bool) (time.Time, error) {
	for {
		select {
		case t, going := <-c.turns:
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

// spread returns how far apart all lanes were ordered to run, and began, once they run.
func (c *child) spread(ctx context.Context) (spread, error) {
	select {
	case far, going := <-c.apart:
		if !going {
			return spread{}, errEnded
		}
		return far, nil
	case <-ctx.Done():
		return spread{}, fmt.Errorf("not every lane runs: %w", ctx.Err())
	}
}

// receivedSoFar asks how much the child has received.
func (c *child) receivedSoFar() (count, error) {
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
