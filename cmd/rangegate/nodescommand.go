package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/preflight"
)

// nodesCommands ask the gateway of this machine, at its operations address, about the nodes that it is one of.
type nodesCommands struct {
	List       nodesList       `cmd:"" help:"List the living nodes and how many ranges each owns."`
	Drain      nodesDrain      `cmd:"" help:"Make a node give its ranges to the others, and take none until it is started again."`
	DrainRange nodesDrainRange `cmd:"" help:"Make the node that owns a range give it to another one."`
	Forget     nodesForget     `cmd:"" help:"Let the others take the ranges of a dead node at once. Refused while it is alive."`
}

// askNodes asks about nodes. A gateway without any has no such paths.
func (o operator) askNodes(t *terminal, method, path string, into any) error {
	err := o.ask(t, method, "/nodes"+path, nil, into)
	var refused refusal
	if errors.As(err, &refused) && refused.code == "not_found" {
		return gateway.Misconfigured{Err: errors.New("the gateway has no nodes beside it: its " +
			"configuration has no nodes")}
	}
	return err
}

type nodesList struct{ operator }

// Run prints a table of the nodes. It fails when a range has no owner.
func (n nodesList) Run(t *terminal) error {
	var answer struct {
		Nodes []struct {
			Name, Address, Version, Configuration, Refusing string
			Here, Draining                                  bool
			Since                                           time.Time `json:"configuration_since"`
			Ranges                                          int
		}
		Unowned int `json:"ranges_unowned"`
	}
	if err := n.askNodes(t, http.MethodGet, "", &answer); err != nil {
		return err
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NODE\tADDRESS\tVERSION\tCONFIGURATION\tSINCE\tRANGES\tSTATE")
	for _, node := range answer.Nodes {
		state := "serves"
		switch {
		case node.Draining:
			state = "draining"
		case node.Refusing != "":
			state = "takes no ranges: " + node.Refusing
		}
		if node.Here {
			state += ", here"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", node.Name, node.Address, node.Version,
			node.Configuration,
			node.Since.Local().Format(time.DateTime), node.Ranges, state)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if answer.Unowned > 0 {
		return fmt.Errorf("owned by no living node: %s", preflight.Number(answer.Unowned, "range"))
	}
	return nil
}

type nodesDrain struct {
	Name string `arg:"" help:"The node."`
	operator
}

// Run drains a node.
func (n nodesDrain) Run(t *terminal) error {
	if err := n.askNodes(t, http.MethodPost, "/"+url.PathEscape(n.Name)+"/drain", nil); err != nil {
		return err
	}
	t.printf("%s gives its ranges to the others; 'rangegate nodes list' says when it has none\n", n.Name)
	return nil
}

type nodesDrainRange struct {
	Range uuid.UUID `arg:"" help:"The id of the range."`
	operator
}

// Run drains a range.
func (n nodesDrainRange) Run(t *terminal) error {
	var answer struct{ Node string }
	if err := n.ask(t, http.MethodPost, "/observer/drain?range="+n.Range.String(), nil, &answer); err != nil {
		return err
	}
	t.printf("range %s is given to %s; it stays there until the node that had it is started again\n", n.Range,
		answer.Node)
	return nil
}

type nodesForget struct {
	Name string `arg:"" help:"The node."`
	operator
}

// Run forgets a node.
func (n nodesForget) Run(t *terminal) error {
	var answer struct{ Ranges int }
	if err := n.askNodes(t, http.MethodPost, "/"+url.PathEscape(n.Name)+"/forget", &answer); err != nil {
		return err
	}
	t.printf("%s is forgotten; it owned %d ranges\n", n.Name, answer.Ranges)
	return nil
}
