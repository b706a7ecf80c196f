package routing

import (
	"io"
	"time"
)

// relayBuffer is the size of the two buffers of a relayed connection. Most messages of a lane link are smaller, and there may be a
// connection for every lane: the 32 KiB of io.Copy would be all of its memory.
const relayBuffer = 1 << 10

// relayed is a connection to the owner that has switched protocols. The proxy copies it in both directions, with these methods.
type relayed struct{ io.ReadWriteCloser }

// WriteTo copies what the owner sends to the client.
func (r relayed) WriteTo(client io.Writer) (int64, error) { return relay(client, r.ReadWriteCloser) }

// ReadFrom copies what the client sends to the owner.
func (r relayed) ReadFrom(client io.Reader) (int64, error) { return relay(r.ReadWriteCloser, client) }

func relay(to io.Writer, from io.Reader) (int64, error) {
	return io.CopyBuffer(writerOnly{to}, readerOnly{from}, make([]byte, relayBuffer))
}

// Without their other methods io.CopyBuffer uses the buffer that it is given.
type (
	writerOnly struct{ io.Writer }
	readerOnly struct{ io.Reader }
)

const streamType = "text/event-stream"

// streamSilence ends a stream from which nothing came: the owner sends a beat every 5 s (screens.BeatInterval).
const streamSilence = 15 * time.Second

// streamBody is the body of a stream. However it ends, the client gets a proper end, and connects anew.
type streamBody struct {
	io.ReadCloser
	silence *time.Timer
}

func newStreamBody(body io.ReadCloser) *streamBody {
	return &streamBody{body, time.AfterFunc(streamSilence, func() { _ = body.Close() })}
}

// Read reads what the owner has sent. Its only error is io.EOF.
func (s *streamBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.silence.Reset(streamSilence)
	if err != nil {
		s.silence.Stop()
		return n, io.EOF
	}
	return n, nil
}

// Close ends the stream.
func (s *streamBody) Close() error {
	s.silence.Stop()
	return s.ReadCloser.Close()
}
