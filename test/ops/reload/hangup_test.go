package reload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// It may come while the gateway still reads its configuration, or brings its lanes back.
func TestAHangUpDuringTheStartEndsNothing(t *testing.T) {
	configuration := newFixture(t, support.Lanes(1, 1)).config.String()
	file := filepath.Join(t.TempDir(), "rangegate.yaml")
	require.NoError(t, syscall.Mkfifo(file, 0o600))
	later := file + ".later"
	require.NoError(t, os.WriteFile(later, []byte(configuration), 0o600))

	serve := support.ServeCommand(file)
	pidFile := file + ".pid"
	serve.Path, serve.Args = "/bin/sh", append([]string{"sh", "-c", `echo $$ >"$0"; exec "$@"`, pidFile, serve.Path},
		serve.Args[1:]...)
	signalled := make(chan error, 1)
	go func() {
		signalled <- func() error {
			first, err := os.OpenFile(file, os.O_WRONLY, 0) // waits until the gateway reads
			if err != nil {
				return err
			}
			defer func() { _ = first.Close() }()
			text, err := os.ReadFile(pidFile)
			if err != nil {
				return err
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				return err
			}
			_, err = first.WriteString(configuration)
			// It reads on until the file is closed.
			return errors.Join(err, os.Rename(later, file), syscall.Kill(pid, syscall.SIGHUP))
		}()
	}()
	g := support.Start(t, serve)
	require.NoError(t, <-signalled)
	g.Ready()
	g.WaitLogged(`"by":"SIGHUP"`)
	require.EqualValues(t, 1, g.Metrics().Sum("rangegate_config_last_reload_successful"))
}

// A webhook that has answered 410 gets nothing, until the operator reloads: also a configuration in which
// nothing has changed.
func TestAWebhookThatIsGoneUntilAReload(t *testing.T) {
	receiver := support.NewReceiver(t)
	receiver.Respond(support.Reply(http.StatusGone, ""))
	g := support.NewConfig(t, support.Lanes(1, 1), receiver.Setting("retry: {for: 1h}")).Serve(t)
	pos := g.POS()
	session := pos.Sell(1, 30)
	g.WaitLogged("the webhook has answered 410")
	pos.Command(session, "/pause")
	require.Equal(t, "webhook_gone", pos.Expect(409, "POST", "/events/1/redeliver", "").Code())
	require.EqualValues(t, 1, g.Metrics().Sum("rangegate_webhook_gone"))
	require.Len(t, receiver.Arrived(), 1)

	receiver.Respond(support.Accept)
	g.Signal(syscall.SIGHUP)
	g.WaitLogged("is called again")
	pos.Command(session, "/resume")
	support.Eventually(t, "the event after the reload arrives", func() bool { return len(receiver.Arrived()) == 2 })
	pos.Expect(202, "POST", "/events/redeliver", `{"after":"0","until":"3"}`)
	support.Eventually(t, "so does what it missed, when it is asked for", func() bool {
		return len(receiver.Arrived()) == 5
	})
}

// A range is taken away by force while its webhook answers nothing, and the operator does not wait for it. It
// is gone all the same, for good: the next start finds nothing of it that somebody would have to see to.
func TestAnOperatorWhoHangsUpStopsNoReloadHalfWay(t *testing.T) {
	receiver := support.NewReceiver(t)
	receiver.Respond(support.Hang)
	g := newFixture(t, support.Lanes(1, 1), receiver.Setting("timeout: 1m"))
	g.config.Ranges = append(g.config.Ranges, second())
	g.serve()
	session := g.POS().Sell(1, 30)

	g.config.Ranges = []support.Range{second()}
	g.Configure(g.config.String())
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	request, err := http.NewRequestWithContext(ctx, "POST", g.Operations+"/reload",
		strings.NewReader(`{"force": true}`))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+g.Token)
	request.Header.Set("Content-Type", "application/json")
	answered := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(request) //nolint:bodyclose // there is no answer
		answered <- err
	}()
	support.Eventually(t, "the session is ended", func() bool {
		return g.POS().Send("GET", "/sessions/"+session, "").Status != http.StatusOK
	})
	hangUp()
	require.ErrorIs(t, <-answered, context.Canceled)

	support.Eventually(t, "the range is gone", func() bool {
		return g.POS().Send("GET", "/lanes", "").Status == http.StatusUnauthorized
	})
	g.Ready()
	require.EqualValues(t, 1, g.metric("rangegate_config_last_reload_successful"))
	require.Zero(t, g.Terminate())
	g.serve()
}

// A reload of a file that says the same is none: no screen has to connect anew, and whoever guessed a PIN
// five times still waits.
func TestAReloadOfTheSameTouchesNothing(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 1), staff(t, "sam")).serve()
	guess := func() int {
		body := fmt.Sprintf(`{"range_id":"%s","name":"sam","pin":"654321"}`, support.RangeID)
		answer, err := support.Client{API: g.API}.Do("POST", "/control/sign-in", body, "Content-Type",
			"application/json")
		require.NoError(t, err)
		return answer.Status
	}
	screen := g.signIn("sam").watch()
	for guess() != http.StatusTooManyRequests {
	}
	status, answer := g.reload("")
	require.Equal(t, http.StatusOK, status, answer)
	require.Empty(t, answer["ranges"])
	require.Equal(t, http.StatusTooManyRequests, guess())
	select {
	case <-screen:
		t.Fatal("the screen has to connect anew")
	default:
	}
}
