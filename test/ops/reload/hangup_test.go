package reload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/api/control"
	"rangegate/test/process"
)

// It may come while the gateway still reads its configuration, or brings its lanes back.
func TestAHangUpDuringTheStartEndsNothing(t *testing.T) {
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1)}}
	file := filepath.Join(h.dir, "rangegate.yaml")
	require.NoError(t, syscall.Mkfifo(file, 0o600))
	later := file + ".later"
	require.NoError(t, os.WriteFile(later, []byte(h.configuration()), 0o600))

	configuration := h.configuration()
	serve := process.Command("serve", "--config", file)
	known := file + ".pid"
	serve.Path, serve.Args = "/bin/sh", append([]string{"sh", "-c", `echo $$ >"$0"; exec "$@"`, known, serve.Path}, serve.Args[1:]...)
	told := make(chan error, 1)
	go func() {
		told <- func() error {
			first, err := os.OpenFile(file, os.O_WRONLY, 0) // waits until the gateway reads
			if err != nil {
				return err
			}
			defer first.Close()
			text, err := os.ReadFile(known)
			if err != nil {
				return err
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				return err
			}
			_, err = first.WriteString(configuration)
			return errors.Join(err, os.Rename(later, file), syscall.Kill(pid, syscall.SIGHUP)) // it reads on until the file is closed
		}()
	}()
	g := &gateway{process.Start(t, serve), t}
	require.NoError(t, <-told)
	g.Ready()
	g.eventually("it reloads once it runs", func() bool { return strings.Contains(g.Log(), `"by":"SIGHUP"`) })
	require.EqualValues(t, 1, g.metric("rangegate_config_last_reload_successful"))
}

// A range is taken away by force while its webhook answers nothing, and the operator does not wait for it. It is gone all the
// same, for good: the next start finds nothing of it that somebody would have to see to.
func TestAnOperatorWhoHangsUpStopsNoReloadHalfWay(t *testing.T) {
	quiet := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-quiet }))
	defer receiver.Close()
	defer close(quiet)
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1)}, second: []string{simulated(7)}}
	h.extra = fmt.Sprintf("    webhook: {url: %q, timeout: 1m}\n", receiver.URL)
	g := h.open()
	g.sell(oldToken, 1, 1)

	h.lanes = nil
	g.Configure(h.configuration())
	ctx, hangUp := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer hangUp()
	request, err := http.NewRequestWithContext(ctx, "POST", g.Operations+"/reload", strings.NewReader(`{"force": true}`))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+operator)
	request.Header.Set("Content-Type", "application/json")
	_, err = http.DefaultClient.Do(request)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	g.eventually("the range is gone", func() bool {
		answer, err := g.client(oldToken).Do("GET", "/lanes", "")
		return err == nil && answer.Status == http.StatusUnauthorized
	})
	g.Ready()
	require.EqualValues(t, 1, g.metric("rangegate_config_last_reload_successful"))
	require.Zero(t, g.Terminate())
	h.open()
}

// A reload of a file that says the same is none: no screen has to connect anew, and whoever guessed a PIN five times still waits.
func TestAReloadOfTheSameTouchesNothing(t *testing.T) {
	pin, err := control.HashPIN("123456")
	require.NoError(t, err)
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1)}}
	h.extra = fmt.Sprintf("    staff: [{name: sam, pin_hash: %q}]\n", pin)
	g := h.open()
	guess := func() int {
		body := fmt.Sprintf(`{"range_id":"%s","name":"sam","pin":"654321"}`, firstRange)
		response, err := http.Post(g.API+"/control/sign-in", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer response.Body.Close()
		return response.StatusCode
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
