package redis

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
)

// failed is the error of a flush that got no answer from its script. It wraps store.ErrRefused when nothing was written
// and nothing will be; any other error leaves that open.
func (s *Store) failed(err error) error {
	if refused(err) {
		return fmt.Errorf("redis server %s: %w: %w", s.where, store.ErrRefused, err)
	}
	return fmt.Errorf("redis server %s: it is not known whether it has written: %w", s.where, err)
}

// refused tells whether the server did not run the flush, or gave it up before its first write.
//
//	no connection, or none free           nothing was sent
//	error reply                           the server did not run the script: LOADING, NOAUTH, CLUSTERDOWN, MOVED …
//	error reply that names the script     a command in it failed. A server that refuses writes says so to the first
//	                                      one: OOM, READONLY … Anything else should not happen, and promises nothing.
//	time-out, broken connection           it may have run the script, or may still do so
func refused(err error) bool {
	var none *unconnected
	if errors.As(err, &none) {
		return true
	}
	for _, before := range []error{goredis.ErrPoolTimeout, goredis.ErrPoolExhausted, goredis.ErrClosed} {
		if errors.Is(err, before) {
			return true
		}
	}
	var reply goredis.Error
	if !errors.As(err, &reply) {
		return false
	}
	if !strings.Contains(reply.Error(), flushScript.Hash()) {
		return true
	}
	code, _, _ := strings.Cut(reply.Error(), " ")
	return slices.Contains([]string{"OOM", "READONLY", "MISCONF", "NOREPLICAS", "MASTERDOWN"}, code)
}
