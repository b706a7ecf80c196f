package webhook

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// useResolver starts a name server for the test, with these names and addresses. Any other name does not
// exist; the look-up of one without an address fails.
func useResolver(t *testing.T, names map[string]string) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		query := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(nameReply(query[:n], names), from)
		}
	}()
	system := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = system
		_ = server.Close()
		<-ended
	})
}

// nameReply answers one question for an A or an AAAA record (RFC 1035).
func nameReply(query []byte, names map[string]string) []byte {
	const (
		headerSize          = 12
		typeA, typeAAAA     = 1, 28
		failed, noSuchName  = 2, 3
		response, recursion = 0x80, 0x80
	)
	var labels []string
	at := headerSize
	for length := int(query[at]); length > 0; length = int(query[at]) {
		labels = append(labels, string(query[at+1:at+1+length]))
		at += 1 + length
	}
	asked := binary.BigEndian.Uint16(query[at+1:])
	address, found := names[strings.Join(labels, ".")]

	reply := append([]byte{}, query[:at+5]...) // the header and the question
	reply[2], reply[3] = reply[2]|response, recursion
	copy(reply[6:headerSize], make([]byte, 6)) // no records so far
	switch {
	case !found:
		reply[3] |= noSuchName
		return reply
	case address == "":
		reply[3] |= failed
		return reply
	}
	ip := netip.MustParseAddr(address)
	kind := uint16(typeA)
	if ip.Is6() {
		kind = typeAAAA
	}
	if asked == kind {
		reply[7] = 1
		reply = append(reply, 0xC0, headerSize) // the name in the question
		reply = binary.BigEndian.AppendUint16(reply, kind)
		reply = append(reply, 0, 1, 0, 0, 0, 0) // class IN, not to be kept
		reply = binary.BigEndian.AppendUint16(reply, uint16(ip.BitLen()/8))
		reply = append(reply, ip.AsSlice()...)
	}
	return reply
}
