package tracing

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"rangegate/lanes"
)

const (
	hexTrace = 32 // digits of a trace id
	spanAt   = len("00-") + hexTrace + len("-")
	flagsAt  = spanAt + 16 + len("-")
)

// Parent returns the place that a valid header traceparent names, zero for an empty one.
func Parent(traceparent string) (parent lanes.Span) {
	if len(traceparent) < flagsAt+2 {
		return parent
	}
	var flags [1]byte
	_, _ = hex.Decode(parent.ID[:], []byte(traceparent[spanAt:spanAt+16]))
	_, _ = hex.Decode(flags[:], []byte(traceparent[flagsAt:flagsAt+2]))
	parent.Sampled = flags[0]&1 == 1
	return parent
}

// Header returns the header traceparent of W3C Trace Context, version 00, for what the place causes.
func Header(traceID string, place lanes.Span) string {
	flags := "-00"
	if place.Sampled {
		flags = "-01"
	}
	return "00-" + traceID + "-" + hex.EncodeToString(place.ID[:]) + flags
}

// BeginEvent is Begin for an attempt to deliver the event of the log. What no request has caused has a trace by the
// event's id. Without a Tracer, and where the request's place is not known any more, the place is made of that id, too:
// its second half is never zero, as it holds the variant of the UUID. Nobody has decided then, and the receiver may
// record it.
func (t *Tracer) BeginEvent(event lanes.Logged) (traceID string, parent, place lanes.Span) {
	traceID, parent = event.Trace, event.Span
	if traceID == "" {
		traceID, parent = hex.EncodeToString(event.Event.ID[:]), lanes.Span{}
	}
	if place = t.Begin(traceID, parent); place == (lanes.Span{}) {
		copy(place.ID[:], event.Event.ID[8:])
		place.Sampled = true
	}
	return traceID, parent, place
}

// NewTrace returns the id of a trace that no request began.
func NewTrace() string {
	id := binary.NativeEndian.AppendUint64(make([]byte, 0, 16), rand.Uint64())
	return hex.EncodeToString(binary.NativeEndian.AppendUint64(id, rand.Uint64()|1))
}
