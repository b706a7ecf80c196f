package simulation

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/test/support"
)

// advisory is what is read of one.
type advisory struct {
	Code     string  `json:"code"`
	Range    *string `json:"range_id"`
	Lane     *string `json:"lane_id"`
	Node     string  `json:"node"`
	Sentence string  `json:"sentence"`
	EndedAt  *string `json:"ended_at"`
}

// planted is a world in order, in which a test plants one trouble.
type planted struct{ *owed }

// advisories asks the machines for theirs, which have begun or ended, and does not wait.
func (p planted) advisories() (all []advisory) {
	p.t.Helper()
	for _, m := range p.machines {
		at := support.Client{API: "http://" + m.host + ":9090", HTTP: p.http}
		answer, err := at.Do(http.MethodGet, "/advisories", "", "Authorization", "Bearer operator")
		require.NoError(p.t, err)
		require.Equal(p.t, http.StatusOK, answer.Status, answer.Body)
		var view struct{ Advisories []advisory }
		answer.Decode(p.t, &view)
		all = append(all, view.Advisories...)
	}
	return all
}

// codes are those of the advisories, each once, in their order.
func codes(all []advisory) (codes []string) {
	for _, a := range all {
		if !slices.Contains(codes, a.Code) {
			codes = append(codes, a.Code)
		}
	}
	slices.Sort(codes)
	return codes
}

func (p planted) lane(of, n int) string { return p.ranges[of].lanes[n].String() }

// Ten troubles, each planted in an installation in order, are named by an advisory within a minute, about what they are
// in, and nothing else is named.
func TestTenPlantedTroublesAreNamedWithinAMinute(t *testing.T) {
	for name, test := range map[string]struct {
		nodes     int // 0: 1
		configure func(c *config.Config, p planted)
		prepare   func(p planted) // before the gateway starts
		plant     func(p planted)
		want      string   // the code
		with      []string // what else follows from it
		lane      int      // of the first range, from 1 on; 0: it is about none
		isOfRange bool
	}{
		"a slow disk": {plant: func(p planted) {
			p.mu.Lock()
			p.disk = 600 * time.Millisecond
			p.mu.Unlock()
		}, want: "store_slow"},
		"a controller that flaps": {plant: func(p planted) {
			for range 5 {
				p.controller(p.ranges[0].lanes[2]).Cut(errLinkLost)
				time.Sleep(6 * time.Second)
			}
		}, want: "link_flapping", lane: 3, isOfRange: true},
		"a dead receiver": {plant: func(p planted) {
			p.integrator.refuse(http.StatusServiceUnavailable)
			p.sell(0)
			p.sell(1)
		}, want: "webhook_failing", isOfRange: true},
		"a full table of keys": {prepare: func(p planted) {
			p.fillKeys(100_000)
		}, plant: func(planted) {}, want: "keys_run_out", isOfRange: true},
		"a skewed clock": {plant: func(p planted) {
			p.machines[0].clk.step(-400 * time.Millisecond)
		}, want: "clock_offset"},
		"a parked lane": {plant: func(p planted) {
			p.machines[0].clk.plantPanics(6)
			p.trySell(1)
		}, want: "lane_parked", with: []string{"panic_loop", "panicked"}, lane: 2, isOfRange: true},
		"a stolen lease": {nodes: 2, plant: func(p planted) {
			_, err := p.server.Open(store.Retention{}).Claim(context.Background(), p.ranges[0].id, time.Now())
			require.NoError(p.t, err)
		}, want: "range_lost", isOfRange: true},
		"a certificate that has ended": {configure: func(c *config.Config, p planted) {
			c.HTTP.TLS.Certificate, c.HTTP.TLS.Key = certificatetest.Issue(p.t, -time.Hour, -48*time.Hour).Files(p.t)
		}, plant: func(planted) {}, want: "certificate_ended"},
		"a POS that floods": {configure: func(c *config.Config, _ planted) {
			*c.HTTP.Limits.Requests, *c.HTTP.Limits.Burst = 10, 20
		}, plant: func(p planted) {
			for range 300 {
				_, err := p.pos.ask(p.ranges[0], http.MethodGet, "/range", "")
				require.NoError(p.t, err)
			}
		}, want: "requests_limited", isOfRange: true},
		"a panic loop": {plant: func(p planted) {
			p.mu.Lock()
			p.defect = p.ranges[0].lanes[4]
			p.mu.Unlock()
			p.controller(p.ranges[0].lanes[4]).Cut(errLinkLost)
		}, want: "panic_loop", with: []string{"link_down", "link_faulty", "panicked"}, lane: 5, isOfRange: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := planted{&owed{world: newWorld(t, plan{seed: 1, nodes: max(1, test.nodes)})}}
				p.pos = &client{world: p.world, number: 1}
				if test.configure != nil {
					test.configure(&p.config, p)
				}
				if test.prepare != nil {
					test.prepare(p)
				}
				for _, m := range p.machines {
					p.start(m)
				}
				defer p.endAll()
				p.eventually("the gateways are ready", p.unready)
				time.Sleep(10 * time.Second)
				if test.configure == nil && test.prepare == nil {
					require.Empty(t, p.advisories(), "before anything is planted")
				}

				began := time.Now()
				test.plant(p)
				named := func() (found advisory, ok bool) {
					all := p.advisories()
					at := slices.IndexFunc(all, func(a advisory) bool { return a.Code == test.want })
					if at < 0 {
						return found, false
					}
					return all[at], true
				}
				found, ok := named()
				for ; !ok && time.Since(began) < time.Minute; found, ok = named() {
					time.Sleep(time.Second)
				}
				require.True(t, ok, "it is not named within a minute: %v", codes(p.advisories()))
				require.LessOrEqual(t, time.Since(began), time.Minute)
				require.Nil(t, found.EndedAt)
				require.Equal(t, test.isOfRange, found.Range != nil, found)
				if test.isOfRange {
					require.Equal(t, p.ranges[0].id.String(), *found.Range)
				}
				require.Equal(t, test.lane != 0, found.Lane != nil, found)
				if test.lane != 0 {
					require.Equal(t, p.lane(0, test.lane-1), *found.Lane)
				}
				for _, code := range codes(p.advisories()) {
					require.Contains(t, append(test.with, test.want), code, "nothing else is named")
				}
			})
		})
	}
}

// An evening in order has no advisory, however much is sold.
func TestAnEveningInOrderHasNoAdvisory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := planted{newOwed(t)}
		defer p.end()
		for lane := range 4 {
			p.sell(lane)
		}
		for range 60 {
			time.Sleep(time.Minute)
			require.Empty(t, p.advisories())
		}
	})
}

// unready names a machine that does not say that it is ready.
func (p planted) unready() string {
	for _, m := range p.machines {
		at := support.Client{API: "http://" + m.host + ":9090", HTTP: p.http}
		if answer, err := at.Do(http.MethodGet, "/readyz", ""); err != nil || answer.Status != http.StatusOK {
			return fmt.Sprint(m.name, " ", answer.Body, err)
		}
	}
	return ""
}

// trySell sells a lane, whatever comes of it.
func (p planted) trySell(lane int) {
	body := fmt.Sprintf(`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":60,"auto_start":true}`,
		p.lane(0, lane), p.ranges[0].group)
	_, err := p.pos.ask(p.ranges[0], http.MethodPost, "/sessions", body)
	require.NoError(p.t, err)
}

// fillKeys has the store keep so many answers of the first range.
func (p planted) fillKeys(n int) {
	saved := p.server.Open(store.Retention{})
	epoch, err := saved.Claim(context.Background(), p.ranges[0].id, time.Now().Add(-time.Minute))
	require.NoError(p.t, err)
	batch := store.Batch{Range: p.ranges[0].id, Epoch: epoch, N: 1, Now: time.Now()}
	for range n {
		batch.Keys = append(batch.Keys, lanes.KeptAnswer{
			Name: uuid.NewString(), Fingerprint: "f", Status: 201,
			Body: "{}", At: time.Now(),
		})
	}
	require.NoError(p.t, saved.Flush(context.Background(), batch))
}

// endAll stops every gateway.
func (p planted) endAll() {
	for _, m := range p.machines {
		m.stop()
	}
	p.running.Wait()
	p.http.CloseIdleConnections()
	time.Sleep(5 * time.Minute) // what is idle closes
}
