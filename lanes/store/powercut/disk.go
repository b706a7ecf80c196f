package powercut

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sectorSize is what a disk writes whole or not at all.
const sectorSize = 512

// disk is what is durable after some operations, and those of later effect.
type disk struct {
	durable *tree
	writes  map[int][]operation // of each file since it was synced, with their truncations
	entries []operation         // of folders, since those were synced
	notes   []string
}

func newDisk() *disk { return &disk{durable: newTree(), writes: map[int][]operation{}} }

func (d *disk) apply(o operation) {
	switch o.Kind {
	case write, truncate:
		d.writes[o.File] = append(d.writes[o.File], o)
	case mapped:
		d.durable.apply(o)
	case create, rename, remove:
		d.entries = append(d.entries, o)
	case makeDir:
		d.durable.folders[o.File] = map[string]int{}
		d.entries = append(d.entries, o)
	case sync_:
		d.sync(o.File)
	case note:
		d.notes = append(d.notes, o.Text)
	}
}

// sync makes the content of a file durable, or the entries of a folder: also those of other folders that came
// before one of them, as the journal of a file system has them in order.
func (d *disk) sync(file int) {
	if _, isFolder := d.durable.folders[file]; !isFolder {
		for _, o := range d.writes[file] {
			d.durable.apply(o)
		}
		delete(d.writes, file)
		return
	}
	concerned, durable := map[int]bool{file: true}, make([]bool, len(d.entries))
	for i, o := range slices.Backward(d.entries) {
		from := o.Kind == rename || o.Kind == remove
		if from && concerned[o.From.Folder] || o.Kind != remove && concerned[o.To.Folder] {
			durable[i] = true
			if from {
				concerned[o.From.Folder] = true
			}
			if o.Kind != remove {
				concerned[o.To.Folder] = true
			}
		}
	}
	var pending []operation
	for i, o := range d.entries {
		if durable[i] {
			d.durable.applyEntry(o)
		} else {
			pending = append(pending, o)
		}
	}
	d.entries = pending
}

// Cut is a power cut.
type Cut struct {
	// Notes are those of the recording before the cut.
	Notes []string
	// Number is its place in the sequence of the seed: with the seed and the recording it gives the same disk.
	Number int

	seed     uint64
	position int
	before   operation
	how      string   // of what was not synced, what is there
	pending  []string // for people: what was not synced
	left     *tree
}

func (c *Cut) String() string {
	return fmt.Sprintf("cut %d of seed %d, after operation %d (%s): %s. Not synced was:\n\t%s",
		c.Number, c.seed, c.position, c.before, c.how, strings.Join(c.pending, "\n\t"))
}

// Each makes that many cuts of a seed at random points, and calls try for each, in the order of their points.
// only makes one of them alone; it is less than 0 for all.
func (r *Recording) Each(kept Kept, seed uint64, count, only int, try func(c *Cut)) {
	r.mu.Lock()
	operations := slices.Clone(r.operations)
	r.mu.Unlock()
	turning := turningPoints(operations)
	type point struct {
		number, position int
		random           *rand.Rand
	}
	points := make([]point, 0, count)
	for number := range count {
		p := point{number: number, random: rand.New(rand.NewPCG(seed, uint64(number)))}
		if p.random.IntN(2) == 0 {
			p.position = turning[p.random.IntN(len(turning))]
		} else {
			p.position = p.random.IntN(len(operations) + 1)
		}
		if only < 0 || only == number {
			points = append(points, p)
		}
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.position, b.position) })
	d, done := newDisk(), 0
	for _, p := range points {
		for ; done < p.position; done++ {
			d.apply(operations[done])
		}
		c := &Cut{Notes: d.notes, seed: seed, Number: p.number, position: p.position}
		if p.position > 0 {
			c.before = operations[p.position-1]
		}
		d.cut(c, waysOf[kept], p.random)
		try(c)
	}
}

// turningPoints are the positions beside an operation that is no write to the same file as the one before: most
// operations are such writes, and few things happen between them.
func turningPoints(operations []operation) (positions []int) {
	positions = []int{0}
	last := -1
	for i, o := range operations {
		if o.Kind != write || o.File != last {
			positions = append(positions, i, i+1)
			last = o.File
		}
	}
	return positions
}

// cut makes what the disk may have of that which was not synced.
func (d *disk) cut(c *Cut, ways []way, random *rand.Rand) {
	how := ways[random.IntN(len(ways))]
	c.how = how.name
	c.left = &tree{folders: map[int]map[string]int{}, content: maps.Clone(d.durable.content), mapped: d.durable.mapped}
	for folder, entries := range d.durable.folders {
		c.left.folders[folder] = maps.Clone(entries)
	}
	happened := how.choose(random, len(d.entries))
	for i, o := range d.entries {
		c.pending = append(c.pending, o.String())
		if happened(i) {
			c.left.applyEntry(o)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(d.writes)) {
		for _, o := range d.writes[file] {
			c.pending = append(c.pending, o.String())
		}
		c.left.content[file] = how.tear(random, bytes.Clone(d.durable.content[file]), d.writes[file])
	}
	for file := range c.left.mapped {
		c.left.content[file] = anything(random, len(c.left.content[file]))
	}
}

// anything is zeros or bytes at random, up to that many.
func anything(random *rand.Rand, most int) []byte {
	content := make([]byte, random.IntN(most+1))
	if random.IntN(2) == 0 {
		for i := range content {
			content[i] = byte(random.Uint32())
		}
	}
	return content
}

// way is one of the ways in which a disk writes what it was not told to sync.
type way struct {
	name string
	// choose gives which of some operations happened, or which of some sectors were written.
	choose func(random *rand.Rand, of int) func(i int) bool
	// whole: operations are there as a whole. Else single sectors are, and the file has any of its sizes.
	whole bool
	// bytes: what is there of a file ends at any byte of what was written.
	bytes bool
}

// Kept is what a disk keeps of the writes to a file that were not synced.
type Kept int

const (
	// AnySectors are those that it happened to write.
	AnySectors Kept = iota
	// FirstBytes are those that were written first, up to any; and of creates, renames and removals the first. So it
	// is with appended files on ext4 with data=ordered, its default: the size of a file is not on the disk before its
	// content, and its journal has the entries of folders in their order.
	FirstBytes
)

var waysOf = map[Kept][]way{AnySectors: sectorWays, FirstBytes: byteWays}

var byteWays = []way{
	{name: "nothing of it is there", choose: none, whole: true},
	{name: "all of it is there", choose: all, whole: true},
	{name: "the first of it are there", choose: first, whole: true},
	{name: "the first bytes of it are there", choose: first, bytes: true},
}

var sectorWays = []way{
	{name: "nothing of it is there", choose: none, whole: true},
	{name: "all of it is there", choose: all, whole: true},
	{name: "the first of it are there", choose: first, whole: true},
	{name: "some of it are there, whole", choose: some, whole: true},
	{name: "some sectors of it are there", choose: some},
	{name: "the first sectors of it are there", choose: first},
	{name: "one sector of it is missing", choose: allButOne},
	{name: "one sector of it is there", choose: func(random *rand.Rand, of int) func(int) bool {
		missing := allButOne(random, of)
		return func(i int) bool { return !missing(i) }
	}},
}

func none(*rand.Rand, int) func(int) bool { return func(int) bool { return false } }

func all(*rand.Rand, int) func(int) bool { return func(int) bool { return true } }

func first(random *rand.Rand, of int) func(int) bool {
	count := random.IntN(of + 1)
	return func(i int) bool { return i < count }
}

func some(random *rand.Rand, of int) func(int) bool {
	chosen, share := make([]bool, of), []float64{0.05, 0.5, 0.95}[random.IntN(3)]
	for i := range chosen {
		chosen[i] = random.Float64() < share
	}
	return func(i int) bool { return chosen[i] }
}

func allButOne(random *rand.Rand, of int) func(int) bool {
	missing := random.IntN(max(of, 1))
	return func(i int) bool { return i != missing }
}

// tear applies to a file's durable content what the disk has of its later operations.
func (w way) tear(random *rand.Rand, content []byte, operations []operation) []byte {
	if w.bytes {
		return firstBytes(random, content, operations)
	}
	var parts []part // what is there or not
	for i, o := range operations {
		if w.whole {
			parts = append(parts, part{i, o.Offset, o.Offset + int64(len(o.Data))})
			continue
		}
		for at := o.Offset; at < o.Offset+int64(len(o.Data)); at = endOfSector(at) {
			parts = append(parts, part{i, at, endOfSector(at)})
		}
		if o.Kind == truncate {
			parts = append(parts, part{operation: i})
		}
	}
	chosen := w.choose(random, len(parts))
	newest := map[int64]int{} // of each sector, the number of the operation after which it was written
	for i, p := range parts {
		o := operations[p.operation]
		if o.Kind == truncate {
			if !chosen(i) { // the blocks of later writes belong to no file
				operations = operations[:p.operation]
				break
			}
			continue
		}
		for at := p.from; at < p.to && chosen(i); at = endOfSector(at) {
			newest[at/sectorSize] = p.operation + 1
		}
	}
	var sizes []int64
	size := int64(len(content))
	for i, o := range operations {
		if o.Kind == truncate {
			content, size, sizes = resized(content, o.Offset), o.Offset, nil
			continue
		}
		end := o.Offset + int64(len(o.Data))
		for at := o.Offset; at < end; at = endOfSector(at) {
			if i < newest[at/sectorSize] {
				content = written(content, at, o.Data[at-o.Offset:min(endOfSector(at), end)-o.Offset])
			}
		}
		size = max(size, end)
		sizes = append(sizes, size)
	}
	if !w.whole && len(sizes) > 0 {
		content = resized(content, sizes[random.IntN(len(sizes))])
	}
	return content
}

// firstBytes applies the operations up to some byte that they write.
func firstBytes(random *rand.Rand, content []byte, operations []operation) []byte {
	total := 0
	for _, o := range operations {
		total += len(o.Data)
	}
	left := random.IntN(total + 1)
	for _, o := range operations {
		if o.Kind == truncate {
			content = resized(content, o.Offset)
			continue
		}
		data := o.Data[:min(left, len(o.Data))]
		left -= len(data)
		if len(data) < len(o.Data) {
			return written(content, o.Offset, data)
		}
		content = written(content, o.Offset, data)
	}
	return content
}

// part is a part of an operation.
type part struct {
	operation int
	from, to  int64
}

func endOfSector(at int64) int64 { return (at/sectorSize + 1) * sectorSize }

// Write writes the disk's files to an empty folder.
func (c *Cut) Write(folder string) error {
	var err error
	c.left.walk(root, "", func(path string, file int, isFolder bool) {
		path = filepath.Join(folder, path)
		switch {
		case err != nil:
		case isFolder:
			err = os.Mkdir(path, 0o700)
		default:
			err = os.WriteFile(path, c.left.content[file], 0o600)
		}
	})
	return err
}
