package crash

import (
	"testing"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support/proxy"

	"rangegate/test/support"
)

// The network between gateway and store has every kind of disturbance under load, one after the other. Everything
// acknowledged is there afterwards, once, and so is what was in force.
func TestTheLineToRedisIsBad(t *testing.T) {
	t.Parallel()
	type attributes = proxy.Attributes
	network := proxy.New(t, redistest.Start(t).Addr())
	x := newFixture(t, support.Redis("redis://"+network.Addr()+"/0"))
	x.start()
	for range rounds(t, 1, 100) {
		for _, bad := range []struct {
			what, direction string
			how             attributes
		}{
			{"latency", "downstream", attributes{"latency": 100, "jitter": 100}},
			{"latency", "upstream", attributes{"latency": 2500}}, // longer than the gateway waits for a flush
			{"bandwidth", "upstream", attributes{"rate": 20}},    // KB/s
			{"slicer", "upstream", attributes{"average_size": 200, "size_variation": 100, "delay": 500}},
			{"reset_peer", "downstream", attributes{"timeout": 50}},
			// then the connection ends, in the middle of a flush
			{"limit_data", "upstream", attributes{"bytes": 20_000}},
			{"limit_data", "downstream", attributes{"bytes": 500}},    // or in the middle of the answers
			{"timeout", "upstream", attributes{"timeout": 0}},         // a black hole: what is sent arrives nowhere
			{"timeout", "downstream", attributes{"timeout": 0}},       // or it arrives, and no answer comes
			{"slow_close", "downstream", attributes{"delay": 10_000}}, // the end of the connection is noticed late
		} {
			x.load(func() {
				x.waitRequests(fewest, most)
				repair := network.Disturb(bad.what, bad.direction, bad.how)
				x.waitRandom(soonest, 2*latest)
				repair()
				x.waitRandom(soonest, latest)
			})
			x.checkAfterOutage()
			t.Logf("%s %s: as it should be", bad.what, bad.direction)
		}
	}
	x.killAndFinish()
}

// The store hangs for a while and goes on: it carries out late what was sent to it.
func TestRedisStandsStillUnderTheGateway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	x := newFixture(t, support.Redis(server.URL()))
	x.start()
	for range rounds(t, 1, 20) {
		x.load(func() {
			x.waitRequests(fewest, most)
			server.Hang()
			x.waitRandom(soonest, 6*latest) // sometimes longer than a flush may take
			server.Wake()
			x.waitRandom(soonest, latest)
		})
		x.checkAfterOutage()
	}
	x.killAndFinish()
}
