package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// A process that serves every range can lose one to a process that is dead: Redis may carry out that one's claim
// late, after it was killed. Then nobody serves the range. So a lost range is claimed again once nothing more is saved
// of it. Whoever serves a range saves a checkpoint of it every ten seconds: two processes that are configured with
// the same range by mistake do not take it from each other.

const (
	// LookAfter is the time between two looks at what is saved of a range, and is longer than that between two
	// checkpoints: whoever serves the range has saved something of it meanwhile.
	LookAfter = 15 * time.Second
	// unchangedLooks is how many looks in a row have to find nothing new. The store answers each of them: an owner
	// could have saved something between them.
	unchangedLooks = 3
)

// single is the ownership of a process that serves every range.
type single struct {
	*Gateway
	retire []uuid.UUID

	life    context.Context // until it stops
	endLife context.CancelFunc
	looking sync.WaitGroup
	// changing is held while a range starts that was lost, and while ranges are reloaded.
	changing sync.Mutex
}

func newSingle(g *Gateway, retire []uuid.UUID) *single {
	s := &single{Gateway: g, retire: retire}
	s.life, s.endLife = context.WithCancel(context.Background())
	return s
}

// start recovers the ranges from the store. The error names every lane in use that the configuration has
// lost.
func (s *single) start(ctx context.Context) error {
	var all []actors.Settings
	for id := range s.current.Load().ranges {
		all = append(all, s.settingsOf(id))
	}
	err := s.actors.StartRanges(ctx, all)
	if errors.Is(err, actors.ErrLayout) {
		return Misconfigured{err}
	}
	if err == nil {
		s.looking.Go(s.reclaimLost)
	}
	return err
}

func (s *single) settingsOf(id uuid.UUID) actors.Settings {
	settings := s.current.Load().ranges[id].settings
	settings.Retire = s.retire
	return settings
}

func (s *single) reload(_ context.Context, changes actors.Reload, apply func(actors.Reload) error) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return apply(changes)
}

func (s *single) ready() error {
	if !s.actors.Ready(len(s.current.Load().ranges)) {
		return errNotReady
	}
	return nil
}

func (s *single) leave() {}

func (s *single) stop(ctx context.Context) error {
	s.endLife()
	s.looking.Wait()
	return s.actors.Stop(ctx)
}

// lostRange is what the looks at a lost range have found.
type lostRange struct {
	at        lanes.Instant // of its newest checkpoint
	boot      string        // whose
	unchanged int           // looks in a row
}

// reclaimLost claims lost ranges again that nobody serves.
func (s *single) reclaimLost() {
	ticker := time.NewTicker(LookAfter)
	defer ticker.Stop()
	former := map[uuid.UUID]lostRange{}
	for {
		select {
		case <-s.life.Done():
			return
		case <-ticker.C:
		}
		lost := map[uuid.UUID]lostRange{}
		for _, id := range s.actors.Lost() {
			found, served := s.look(id, former[id])
			if served || s.reclaim(id) != nil { // the next look that finds nothing new has it tried again
				lost[id] = found
			}
		}
		former = lost
	}
}

// look reports whether another process may serve the range: something was saved of it since the former looks, or there
// were too few of them.
func (s *single) look(id uuid.UUID, former lostRange) (found lostRange, served bool) {
	ctx, cancel := context.WithTimeout(s.life, LookAfter)
	defer cancel()
	saved, err := s.stores.Snapshots.Load(ctx, store.InAnyEpoch(id))
	if err != nil {
		s.log.Warn().Err(err).Stringer("range_id", id).Msg("a range that was lost cannot be looked at")
		return lostRange{}, true
	}
	found = lostRange{saved.Checkpoint.At, saved.Checkpoint.Boot, 1}
	if found.boot == former.boot && found.at.Mono == former.at.Mono && found.at.Wall.Equal(former.at.Wall) {
		found.unchanged += former.unchanged
	}
	return found, found.unchanged <= unchangedLooks
}

// reclaim claims and starts the range, unless it is not configured any more.
func (s *single) reclaim(id uuid.UUID) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if _, configured := s.current.Load().ranges[id]; !configured {
		return nil
	}
	line := s.log.Warn()
	err := s.actors.StartRange(s.life, s.settingsOf(id))
	if err != nil {
		line = s.log.Error().Err(err)
	}
	line.Stringer("range_id", id).
		Msg("nothing is saved any more of a range that another process has claimed: it is claimed again")
	return err
}
