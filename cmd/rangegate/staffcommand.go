package main

import (
	"errors"
	"net/http"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/gateway"
)

// staffCommands ask the gateway of this machine about who signs in at control screens.
type staffCommands struct {
	Unlock staffUnlock `cmd:"" help:"Forget the wrong PINs of one of a range's staff, who can sign in at once then."`
}

type staffUnlock struct {
	Name  string `arg:"" help:"The name with which they sign in."`
	Range string `required:"" placeholder:"ID" help:"The range's id."`
	operator
}

// Run unlocks a name.
func (u staffUnlock) Run(t *terminal) error {
	id, err := uuid.Parse(u.Range)
	if err != nil {
		return gateway.Misconfigured{Err: errors.New("--range: the id of a range is a UUID")}
	}
	var answer struct{ Waited bool }
	err = u.ask(t, http.MethodPost, "/ranges/"+id.String()+"/staff/unlock", map[string]string{"name": u.Name}, &answer)
	var refused refusal
	switch {
	case errors.As(err, &refused) && refused.code == "not_found":
		return gateway.Misconfigured{Err: errors.New("--range: the gateway has no range with that id")}
	case err != nil:
		return err
	}
	if !answer.Waited {
		t.printf("nobody had to wait for wrong PINs of %s\n", u.Name)
		return nil
	}
	t.printf("%s can sign in again\n", u.Name)
	return nil
}
