// Package powercut shows what a store has after a power cut, which a kill does not show: the page cache survives that.
//
// A Recording has what traced processes do to the files of a folder, in order: each write, truncation, fsync,
// create, rename and removal (tracer_linux_amd64.go). Between them stand notes of the test: what was
// acknowledged by then. From it Recording.Each makes disks as a power cut at some point may leave them
// (disk.go), on which the store is started.
//
// What was synced before the cut is on such a disk. Of the rest anything may be missing:
//
//   - a sector of 512 bytes has what was synced, or what any later write has put there, each sector by itself;
//   - a file has the size that was synced or any later one; what its blocks lack reads as zeros. What was written
//     behind a truncation is there only with the truncation;
//   - each create, rename and removal happened or not, in any combination. A rename happened as a whole. An
//     fsync of a folder makes those in it durable, an fsync of a file its content alone;
//   - a file that is mapped for writing, such as the index of a WAL, has any content.
//
// That is AnySectors, the least that a disk may do. With FirstBytes a file ends within what was written to it last, and
// what happened to folders happened in order.
package powercut
