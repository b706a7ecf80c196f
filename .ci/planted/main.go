// Command planted shows that the simulation finds defects: it plants one after the other in a copy of a file, and
// counts how many seeds it takes. Nothing of the code is changed: go test reads the copy instead (-overlay). It fails
// if a defect is not found, or if the text that it replaces is no longer there.
//
//	go run ./.ci/planted          all of them
//	go run ./.ci/planted hold     those whose name has this word
//	go run ./.ci/planted --check  none: whether each could be planted, as make lint asks
package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rangegate/test/support"
)

// seeds is how many a defect may take.
const seeds = 600

// defects are what is planted: in which file, which text becomes which.
var defects = []struct{ name, file, sound, broken string }{
	{
		"a state that is not saved is shown to the hardware", "actors/lane.go",
		"\tif !change.Closing {\n\t\treturn\n\t}\n\tclosed,", "\tclosed,",
	},
	{
		"what closes is decided on a change that may never be saved", "actors/lane.go",
		"case l.pending != nil && l.pending.change.Closing:", "case l.pending != nil:",
	},
	{
		"a hold that is not saved is forgotten while a lane loads", "actors/lane.go",
		"l.r.Holds().Over(place)", "l.r.Holds().Over(place) && l.loaded",
	},
	{
		"holds are not brought back at a start", "actors/recover.go",
		"r.holds.Store(&loaded.Holds)", "r.holds.Store(&lanes.Holds{})",
	},
	{
		"a request is answered before it is saved", "actors/lane.go",
		"\tl.r.committer.Save(w)\n\tl.pending", "\tl.r.committer.Save(w)\n\tl.answer(p)\n\tl.pending",
	},
	{
		"a minute too many on resume", "lanes/session.go",
		"\ts.Rested = s.PausedFor(now)\n", "\ts.Rested = s.PausedFor(now)\n\ts.Left += time.Minute\n",
	},
	{
		"answers are not kept with their keys", "actors/lane.go",
		"\t\tKept:     p.kept,\n", "",
	},
	{
		"a refill lacks the lanes that do not change", "actors/commit/refill.go",
		"if !changed[id] {", "if !changed[id] && false {",
	},
	{
		"a refill lacks the ended sessions", "actors/commit/refill.go",
		"batch.Ended = append(c.ended.all(), batch.Ended...)", "",
	},
	{
		"an event is sent although its attempt is not on record", "actors/delivery/outbox.go",
		"if outcome == commit.Saved {", "if outcome == commit.Saved || outcome == commit.Rejected {",
	},
	{
		"a read is answered by a server that lacks what is saved", "actors/commit/committer.go",
		"Epoch: c.Epoch, N: c.n}", "Epoch: c.Epoch}",
	},
	{
		"neighbours take over at once after a fail-over", "actors/nodes/lease.go",
		" || answer.Server != l.server {", " {",
	},
	{
		"the store takes the writes of an owner of before", "test/simulation/memory/server.go",
		"case r.Epoch > b.Epoch:", "case r.Epoch > b.Epoch && b.Refill:",
	},
	{
		"the store lets an owner of before read", "test/simulation/memory/store.go",
		"if err := of.Check(r.Epoch, r.N); err != nil {",
		"if err := of.Check(r.Epoch, r.N); err != nil && r.Epoch <= of.Epoch {",
	},
	{
		"an epoch is given twice", "test/simulation/memory/store.go",
		"\t\tr.Epoch = at\n", "\t\tr.Epoch = max(r.Epoch, min(1, at))\n",
	},
}

func main() {
	work, err := os.MkdirTemp("", "planted")
	check(err)
	if slices.Contains(os.Args[1:], "--check") {
		for _, d := range defects {
			_, err := support.Defect{File: d.file, Sound: d.sound, Broken: d.broken}.Overlay(work)
			check(err)
		}
		check(os.RemoveAll(work))
		return
	}
	missed := 0
	for _, d := range defects {
		if len(os.Args) > 1 && !strings.Contains(d.name, os.Args[1]) {
			continue
		}
		found := seedsUntilFound(work, d.file, d.sound, d.broken)
		if found == 0 {
			missed++
			fmt.Printf("| %s | not in %d seeds |\n", d.name, seeds)
			continue
		}
		fmt.Printf("| %s | %d |\n", d.name, found)
	}
	check(os.RemoveAll(work))
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "%d defects were not found\n", missed)
		os.Exit(1)
	}
}

var failed = regexp.MustCompile(`--- FAIL: TestAnInstallationKeepsItsPromises/seed_(\d+)`)

// seedsUntilFound plants a defect and returns the first seed that fails, 0 if none does.
func seedsUntilFound(work, file, sound, broken string) int {
	listed, err := support.Defect{File: file, Sound: sound, Broken: broken}.Overlay(work)
	check(err)
	test := exec.Command("go", "test", "-overlay", listed, "-vet=off", "-count", "1", "-failfast", "-timeout", "30m",
		"-run", "TestAnInstallationKeepsItsPromises", "./test/simulation")
	test.Env = append(os.Environ(), fmt.Sprint("SEEDS=", seeds), "REPEATS=0")
	output, err := test.CombinedOutput()
	if err == nil {
		return 0
	}
	first := failed.FindSubmatch(output)
	if first == nil {
		check(fmt.Errorf("the tests of %q did not run: %w\n%s", broken, err, output))
	}
	seed, err := strconv.Atoi(string(first[1]))
	check(err)
	return seed
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}
