package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// checkController runs check-controller against the controller, as its maker would.
func checkController(lane *controller, more ...string) (output string, err error) {
	address := fmt.Sprintf("ws://127.0.0.1:%d/lane", lane.port)
	command := support.Command(append([]string{"check-controller", address, "--lane", support.LaneID(1)}, more...)...)
	command.Env = append(command.Env, "RANGEGATE_LINK_KEY="+key)
	out, err := command.CombinedOutput()
	return string(out), err
}

// checkAgain repeats a check, which begins with a new controller, until it finds what it should. It gives a controller
// two seconds for an answer: one that stands still for longer breaks the rule. What is wrong is so every time.
func checkAgain(check func() (output string, err error), found func(output string, err error) bool) (string, error) {
	output, err := check()
	for range 2 {
		if found(output, err) {
			break
		}
		output, err = check()
	}
	return output, err
}

func nothing(_ string, err error) bool { return err == nil }

// says is that the output has the text.
func says(text string) func(output string, err error) bool {
	return func(output string, _ error) bool { return strings.Contains(output, text) }
}

func TestAControllerThatKeepsEveryRule(t *testing.T) {
	output, err := checkAgain(func() (string, error) {
		lane := start(t)
		ctx, checked := context.WithCancel(t.Context())
		defer checked()
		go func() {
			waits := func(s shown) bool { return s.Remaining != nil && *s.Remaining == 60*60_000 }
			for support.Wait(ctx, 10*time.Millisecond) {
				if lane.shows(waits) {
					lane.do("enter")
					return
				}
			}
		}()
		return checkController(lane, "--reports", "30s")
	}, nothing)
	require.NoError(t, err, output)
	require.NotContains(t, output, "BROKEN")
	require.Equal(t, 18, strings.Count(output, "holds "), output)
}

func TestMistakesAreFound(t *testing.T) {
	for mistake, rule := range map[string]string{
		"confirms nothing":   "confirms a state",
		"forgets":            "knows what is in force in its next hello",
		"takes older states": "a state that is older than the one in force changes nothing",
		"closes at zero": "with an open end, if it has declared that it can, it goes on at zero and " +
			"locks at the bound",
		"keeps every connection": "a new connection replaces the one before",
		"lets anybody in":        "refuses a gateway with an older epoch",
		"asks for no challenge":  "refuses a gateway that asks for no proof",
		"believes every proof":   "refuses a gateway whose proof is wrong, or missing",
		"remembers every epoch":  "keeps its gateway and its fire line, whoever else connects",
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			broken := "BROKEN  " + rule + ": "
			output, err := checkAgain(func() (string, error) {
				return checkController(start(t, mistake))
			}, says(broken))
			require.Error(t, err)
			require.Contains(t, output, broken)
		})
	}
}

// The key comes from a file too. Another one than the controller's breaks the first rule, and no more is tested.
func TestAKeyFromAFile(t *testing.T) {
	check := func(key string) (string, error) {
		address := fmt.Sprintf("ws://127.0.0.1:%d/lane", start(t).port)
		file := support.WriteFile(t, "lane.key", key+"\n")
		out, err := support.Command("check-controller", address, "--lane", support.LaneID(1), "--key-file", file).
			CombinedOutput()
		return string(out), err
	}
	output, err := checkAgain(func() (string, error) { return check(key) }, nothing)
	require.NoError(t, err, output)
	output, err = check("another key, which is as long as it has to be")
	require.Error(t, err)
	require.Contains(t, output, "BROKEN  answers the gateway's hello within 5 s, for its lane: ")
	require.Contains(t, output, "has not proven that it has the key")
	require.NotContains(t, output, "holds ")
	require.NotContains(t, output, "another key")
}

func TestNobodyAnswers(t *testing.T) {
	lane := start(t)
	lane.port = 1
	begun := time.Now()
	output, err := checkController(lane)
	require.Error(t, err)
	require.Contains(t, output, "BROKEN  answers the gateway's hello within 5 s, for its lane: ")
	require.Less(t, time.Since(begun), time.Minute)
}
