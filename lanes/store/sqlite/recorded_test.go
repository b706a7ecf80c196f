package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

const (
	// recorded makes this program a gateway whose writes to the file that it names are recorded.
	recorded = "RANGEGATE_TEST_RECORDED"
	// closes: it closes the store in the end. Else it ends as if it was killed, when one of its ranges has made
	// its flushes and others may be in the middle of one.
	closes = "RANGEGATE_TEST_CLOSES"
)

// Of each life of that gateway. It flushes each of killedRanges.
const (
	recordedFlushes  = 8
	recordedSignOuts = 2
)

// The notes of what is acknowledged.
const (
	openedNote    = "opened\n"
	claimedNote   = "claimed %d in epoch %d\n" // the number of the range
	flushedNote   = "flushed %d: %d batches\n"
	secretNote    = "secret %x\n"
	signedOutNote = "signed out %d\n" // as many in all
)

// writeRecorded writes to the store and the sign-ins of a gateway, and notes what is acknowledged.
func writeRecorded(path string) error {
	s, err := Open(path, keepAll)
	if err != nil {
		return err
	}
	fmt.Print(openedNote)
	s.checkpointAfter = 40 // so that power cuts come into checkpoints
	if err := signOutRecorded(path); err != nil {
		return err
	}
	ended := make(chan error)
	for number, id := range killedRanges {
		go func() { ended <- flushRecorded(s, number, id) }()
	}
	if os.Getenv(closes) == "" {
		return <-ended
	}
	for range killedRanges {
		err = errors.Join(err, <-ended)
	}
	return errors.Join(err, s.Close())
}

func flushRecorded(s *Store, number int, id uuid.UUID) error {
	ctx := context.Background()
	epoch, err := s.Claim(ctx, id, opening)
	if err != nil {
		return err
	}
	fmt.Printf(claimedNote, number, epoch)
	loaded, err := s.Load(ctx, store.InAnyEpoch(id))
	if err != nil {
		return err
	}
	fmt.Printf(flushedNote, number, loaded.LastEnded) // also one that was begun before a kill: it is served from now on
	for n := uint64(1); n <= recordedFlushes; n++ {
		b := storetest.BatchOf(id, epoch, loaded.LastEnded+n)
		b.N = n
		if err := s.Flush(ctx, b); err != nil {
			return err
		}
		fmt.Printf(flushedNote, number, loaded.LastEnded+n)
	}
	return nil
}

func signOutRecorded(path string) error {
	ctx := context.Background()
	signIns, err := SignInsBeside(path)
	if err != nil {
		return err
	}
	secret, ended, err := signIns.Load(ctx, newSecret())
	if err != nil {
		return err
	}
	fmt.Printf(secretNote, secret)
	for n := len(ended); n < len(ended)+recordedSignOuts; n++ {
		until := map[[32]byte]time.Time{{byte(n)}: time.Now().Add(time.Hour)}
		if err := signIns.SignOut(ctx, until, nil); err != nil {
			return err
		}
		fmt.Printf(signedOutNote, n+1)
	}
	return nil
}
