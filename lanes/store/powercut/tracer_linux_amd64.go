package powercut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Start starts a command and records what it does to the folder. Its children are recorded with it. Where the
// command has no standard output, what it would write there becomes notes, each write one: at that instant, as
// no other process could say it. wait returns when the command and its children have ended; it replaces the
// method of the command.
//
// Calls that change files are made one after another: each has ended before the next one begins.
func (r *Recording) Start(command *exec.Cmd) (wait func() error, err error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Ptrace, command.SysProcAttr.Setpgid = true, true
	notes := command.Stdout == nil
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		// This thread traces. It lives on afterwards: it may have started processes that end with it (Pdeathsig).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			ended <- (&tracer{
				recording: r, notes: notes, main: command.Process.Pid, threads: map[int]*process{},
				early: map[int]bool{}, expected: map[int]bool{},
			}).run()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("recording %s: %w", command.Path, err)
	}
	return func() error { return <-ended }, nil
}

// tracer traces a command by ptrace.
type tracer struct {
	recording *Recording
	notes     bool // of the standard output
	main      int  // process id of the command, and its process group
	threads   map[int]*process
	early     map[int]bool // threads that have stopped before their creation was reported
	expected  map[int]bool // threads whose creation was reported before they have stopped
	events    []event      // that have come while another one was handled
}

// event is a change of a thread's state.
type event struct {
	thread int
	status unix.WaitStatus
}

// process is what the threads of a process share.
type process struct {
	id    int
	files map[uint64]*openFile // by descriptor, those below the folder
	exits bool                 // none of its threads makes another call
}

// openFile is an open file description.
type openFile struct {
	file     int
	position int64
	appends  bool
}

// syscallInfo is the kernel's ptrace_syscall_info.
type syscallInfo struct {
	Op     uint8 // 1 at the entry, 2 at the exit
	_      [3]byte
	Arch   uint32
	IP, SP uint64
	Number uint64 // at the exit: the result
	Args   [6]uint64
}

const ptraceGetSyscallInfo = 0x420e

// errNotTraced means that the system lets no process be traced.
var errNotTraced = errors.New("the system permits no tracing")

func (t *tracer) run() error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.main, &status, unix.WALL, nil); err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
		unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(t.main, options); err != nil {
		_ = unix.Kill(-t.main, unix.SIGKILL)
		return fmt.Errorf("%w: %w", errNotTraced, err)
	}
	t.threads[t.main] = &process{id: t.main, files: map[uint64]*openFile{}}
	t.resume(t.main, 0)
	var outcome error
	for {
		var e event
		var err error
		if len(t.events) > 0 {
			e, t.events = t.events[0], t.events[1:]
		} else if e, err = t.wait(); errors.Is(err, unix.ECHILD) {
			return outcome
		} else if err != nil {
			_ = unix.Kill(-t.main, unix.SIGKILL)
			return fmt.Errorf("tracing: %w", err)
		}
		if e.status.Stopped() {
			t.stopped(e.thread, e.status)
			continue
		}
		delete(t.threads, e.thread)
		if e.thread == t.main && (e.status.Signaled() || e.status.ExitStatus() != 0) {
			outcome = fmt.Errorf("it has ended with status %d, signal %v", e.status.ExitStatus(), e.status.Signal())
		}
	}
}

// wait waits for the next event of any thread: to wait for the first thread of a process alone would last for
// ever where another one has ended the process, since the first is reported last.
func (t *tracer) wait() (e event, err error) {
	for {
		e.thread, err = unix.Wait4(-t.main, &e.status, unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return e, err
		}
	}
}

// stopped handles the stop of a thread and resumes it.
func (t *tracer) stopped(thread int, status unix.WaitStatus) {
	signal := status.StopSignal()
	switch {
	case t.threads[thread] == nil:
		t.early[thread] = true // its first stop, a SIGSTOP; resumed by adopt
		return
	case t.expected[thread]:
		delete(t.expected, thread)
		signal = 0
	case t.threads[thread].exits: // and ends this thread
		return
	case signal == unix.SIGTRAP|0x80:
		if info, ok := t.syscall(thread); ok && info.Op == 1 {
			t.enter(thread, info)
		}
		signal = 0
	case signal == unix.SIGTRAP && status.TrapCause() > 0:
		t.adopt(thread, status.TrapCause())
		signal = 0
	case signal == unix.SIGTRAP:
		signal = 0
	}
	t.resume(thread, int(signal))
}

// adopt takes in a new thread, or the first one of a new process.
func (t *tracer) adopt(parent, cause int) {
	id, err := unix.PtraceGetEventMsg(parent)
	if err != nil {
		return
	}
	child, of := int(id), t.threads[parent]
	if cause != unix.PTRACE_EVENT_CLONE {
		files := map[uint64]*openFile{}
		for descriptor, file := range of.files {
			files[descriptor] = file
		}
		of = &process{id: child, files: files}
	}
	t.threads[child] = of
	if t.early[child] {
		delete(t.early, child)
		t.resume(child, 0)
	} else {
		t.expected[child] = true
	}
}

// resume lets a thread run to its next stop. One that was killed meanwhile is reported by the next wait.
func (t *tracer) resume(thread, signal int) { _ = unix.PtraceSyscall(thread, signal) }

func (t *tracer) syscall(thread int) (info syscallInfo, ok bool) {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(thread), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 && errno != unix.ESRCH {
		t.recording.fail("what a thread calls cannot be read: %w", errno)
	}
	return info, errno == 0
}

// finish lets a thread make the call at whose entry it is, and returns the result; other threads that enter one wait.
func (t *tracer) finish(thread int) (result int64) {
	t.resume(thread, 0)
	for {
		e, err := t.wait()
		if err != nil || e.thread == thread && !e.status.Stopped() {
			t.recording.fail("a process was killed while it wrote")
			if err == nil {
				t.events = append(t.events, e)
			}
			return -1
		}
		if e.thread == thread {
			break
		}
		t.events = append(t.events, e)
	}
	info, ok := t.syscall(thread)
	if !ok {
		return -1
	}
	return int64(info.Number)
}

// enter records a call at whose entry a thread is, if it concerns the folder, and makes it.
func (t *tracer) enter(thread int, call syscallInfo) {
	p, r := t.threads[thread], t.recording
	a := call.Args
	f := p.files[a[0]]
	cwd := int64(unix.AT_FDCWD)
	switch call.Number {
	case unix.SYS_OPEN:
		t.open(thread, p.path(cwd, a[0]), a[1])
	case unix.SYS_CREAT:
		t.open(thread, p.path(cwd, a[0]), unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC)
	case unix.SYS_OPENAT:
		t.open(thread, p.path(int64(int32(a[0])), a[1]), a[2])
	case unix.SYS_MKDIR:
		t.makeFolder(thread, p.path(cwd, a[0]))
	case unix.SYS_MKDIRAT:
		t.makeFolder(thread, p.path(int64(int32(a[0])), a[1]))
	case unix.SYS_UNLINK, unix.SYS_RMDIR:
		t.remove(thread, p.path(cwd, a[0]))
	case unix.SYS_UNLINKAT:
		t.remove(thread, p.path(int64(int32(a[0])), a[1]))
	case unix.SYS_RENAME:
		t.rename(thread, p.path(cwd, a[0]), p.path(cwd, a[1]))
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		t.rename(thread, p.path(int64(int32(a[0])), a[1]), p.path(int64(int32(a[2])), a[3]))
	case unix.SYS_CLOSE:
		if f != nil {
			t.finish(thread)
			delete(p.files, a[0])
		}
	case unix.SYS_READ, unix.SYS_LSEEK:
		if f != nil {
			if result := t.finish(thread); result >= 0 && call.Number == unix.SYS_READ {
				f.position += result
			} else if result >= 0 {
				f.position = result
			}
		}
	case unix.SYS_WRITE:
		data := p.memory(a[1], a[2], f != nil || t.notes && a[0] == 1)
		switch {
		case f != nil && f.appends:
			f.position = int64(len(r.now.content[f.file]))
			fallthrough
		case f != nil:
			f.position += t.write(thread, f.file, f.position, data)
		case data != nil:
			r.Note(string(data))
		}
	case unix.SYS_PWRITE64:
		if f != nil {
			t.write(thread, f.file, int64(a[3]), p.memory(a[1], a[2], true))
		}
	case unix.SYS_FTRUNCATE:
		if f != nil && t.finish(thread) == 0 {
			r.add(operation{Kind: truncate, File: f.file, Offset: int64(a[1])})
		}
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if f != nil && t.finish(thread) == 0 {
			r.add(operation{Kind: sync_, File: f.file})
		}
	case unix.SYS_MMAP:
		if mappedFile := p.files[a[4]]; mappedFile != nil && a[2]&unix.PROT_WRITE != 0 && a[3]&unix.MAP_SHARED != 0 {
			r.add(operation{Kind: mapped, File: mappedFile.file})
		}
	case unix.SYS_FCNTL:
		if f != nil && (a[1] == unix.F_DUPFD || a[1] == unix.F_DUPFD_CLOEXEC) {
			r.fail("a descriptor was duplicated")
		}
	case unix.SYS_DUP, unix.SYS_DUP2, unix.SYS_DUP3, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2,
		unix.SYS_FALLOCATE, unix.SYS_SENDFILE:
		if f != nil {
			r.fail("call %d of a recorded file is not known here", call.Number)
		}
	case unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE:
		if p.files[a[2]] != nil {
			r.fail("call %d of a recorded file is not known here", call.Number)
		}
	case unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_SYMLINK, unix.SYS_SYMLINKAT, unix.SYS_TRUNCATE:
		if _, below := t.below(p.path(cwd, a[0])); below {
			r.fail("call %d is not known here", call.Number)
		}
	case unix.SYS_EXIT_GROUP:
		p.exits = true
	case unix.SYS_IO_URING_SETUP:
		r.fail("call %d is not known here", call.Number)
	}
}

func (t *tracer) open(thread int, path string, flags uint64) {
	name, below := t.below(path)
	if !below {
		return
	}
	descriptor := t.finish(thread)
	if descriptor < 0 {
		return
	}
	r := t.recording
	if flags&(unix.O_DSYNC|unix.O_TMPFILE&^unix.O_DIRECTORY) != 0 {
		r.fail("%s was opened with flags %x, which are not known here", path, flags)
	}
	file, found := r.now.find(name)
	switch {
	case !found && flags&unix.O_CREAT != 0:
		file = r.number()
		to, _ := t.entry(path)
		r.add(operation{Kind: create, File: file, To: to})
	case !found:
		r.fail("%s was opened and not recorded", path)
		return
	case flags&unix.O_TRUNC != 0 && len(r.now.content[file]) > 0:
		r.add(operation{Kind: truncate, File: file})
	}
	t.threads[thread].files[uint64(descriptor)] = &openFile{file: file, appends: flags&unix.O_APPEND != 0}
}

func (t *tracer) makeFolder(thread int, path string) {
	if to, below := t.entry(path); below && t.finish(thread) == 0 {
		t.recording.add(operation{Kind: makeDir, File: t.recording.number(), To: to})
	}
}

func (t *tracer) remove(thread int, path string) {
	if from, below := t.entry(path); below && t.finish(thread) == 0 {
		t.recording.add(operation{Kind: remove, From: from})
	}
}

func (t *tracer) rename(thread int, fromPath, toPath string) {
	from, leaves := t.entry(fromPath)
	to, arrives := t.entry(toPath)
	if leaves != arrives {
		t.recording.fail("%s was renamed to %s: one of them is not recorded", fromPath, toPath)
	}
	if leaves && arrives && t.finish(thread) == 0 {
		t.recording.add(operation{
			Kind: rename, File: t.recording.now.folders[from.Folder][from.Name],
			From: from, To: to,
		})
	}
}

func (t *tracer) write(thread, file int, offset int64, data []byte) (count int64) {
	if count = t.finish(thread); count <= 0 {
		return 0
	}
	t.recording.add(operation{Kind: write, File: file, Offset: offset, Data: data[:count]})
	return count
}

// below returns a path relative to the folder.
func (t *tracer) below(path string) (name string, below bool) {
	if path == t.recording.folder {
		return ".", true
	}
	return strings.CutPrefix(path, t.recording.folder+"/")
}

// entry returns the entry of a path, whose folder is recorded.
func (t *tracer) entry(path string) (e entry, below bool) {
	name, below := t.below(path)
	if !below || name == "." {
		return e, false
	}
	folder, found := t.recording.now.find(filepath.Dir(name))
	if !found { // the call fails
		return e, false
	}
	return entry{folder, filepath.Base(name)}, true
}

// path reads a path from the memory of the process, and makes it absolute.
func (p *process) path(folder int64, address uint64) string {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.id))
	if err != nil {
		return ""
	}
	defer func() { _ = memory.Close() }()
	text := make([]byte, unix.PathMax)
	count, _ := memory.ReadAt(text, int64(address))
	path, _, _ := strings.Cut(string(text[:count]), "\x00")
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	at := fmt.Sprintf("/proc/%d/cwd", p.id)
	if folder != unix.AT_FDCWD {
		at = fmt.Sprintf("/proc/%d/fd/%d", p.id, folder)
	}
	base, _ := os.Readlink(at)
	return filepath.Join(base, path)
}

// memory reads from the memory of the process, if it is wanted.
func (p *process) memory(address, size uint64, wanted bool) []byte {
	if !wanted {
		return nil
	}
	data := make([]byte, size)
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.id))
	if err != nil {
		return nil
	}
	defer func() { _ = memory.Close() }()
	count, _ := memory.ReadAt(data, int64(address))
	return data[:count]
}
