package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// peer is another process of this program that answers questions, one line of JSON each.
type peer struct {
	process *exec.Cmd
	in      io.WriteCloser
	ask     *json.Encoder
	answers *json.Decoder
}

// start starts a process with a hidden command, which ends with this one.
func start(args ...string) (process *exec.Cmd, in io.WriteCloser, out io.ReadCloser, err error) {
	process = exec.Command(os.Args[0], args...)
	process.Stderr = os.Stderr
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if in, err = process.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	if out, err = process.StdoutPipe(); err != nil {
		return nil, nil, nil, err
	}
	return process, in, out, process.Start()
}

func newPeer(args ...string) (*peer, error) {
	process, in, out, err := start(args...)
	if err != nil {
		return nil, err
	}
	return &peer{process, in, json.NewEncoder(in), json.NewDecoder(out)}, nil
}

// question sends a question and reads the answer.
func (p *peer) question(question, answer any) error {
	if err := p.ask.Encode(question); err != nil {
		return err
	}
	err := p.answers.Decode(answer)
	if errors.Is(err, io.EOF) {
		return errEnded
	}
	return err
}

func (p *peer) close() error {
	_ = p.in.Close()
	return p.process.Wait()
}

// answerAll answers questions until the input ends.
func answerAll[Q, A any](answer func(Q) (A, error)) error {
	questions, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q Q
		if err := questions.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading the question: %w", err)
		}
		a, err := answer(q)
		if err != nil {
			return err
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}
