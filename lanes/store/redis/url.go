package redis

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// errURL quotes nothing of the URL: where a password is not escaped, any part may belong to it.
var errURL = errors.New("the URL of the Redis server cannot be used: it must be redis://user:password@host:6379/0, " +
	"or rediss:// for TLS, with special characters of the password as %XX and only known options behind ?")

// clientOptions are the options that the client reads. No others exist besides ownOptions.
var clientOptions = []string{
	"dial_timeout", "read_timeout", "write_timeout", "pool_timeout", "client_name", "skip_verify",
}

// ownOptions are read here: further addresses, the master's name and the user with the Sentinels, and how many replicas
// a flush waits for.
var ownOptions = []string{"addr", "master_name", "sentinel_username", "sentinel_password", "wait_replicas"}

const (
	serverPort   = "6379"
	sentinelPort = "26379"
	maxReplicas  = 64 // a larger number is a mistake
)

func unusable(rule string) error { return fmt.Errorf("%w: %s", errURL, rule) }

// parse reads the URL that Open documents.
func parse(text string) (server, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Hostname() == "" || u.Fragment != "" {
		return server{}, errURL
	}
	query := u.Query()
	ownValues := url.Values{}
	for name := range query {
		switch {
		case slices.Contains(ownOptions, name):
			ownValues[name] = query[name]
			delete(query, name)
		case !slices.Contains(clientOptions, name):
			return server{}, errURL
		}
	}
	u.RawQuery = query.Encode()
	o, err := goredis.ParseURL(u.String())
	if err != nil {
		return server{}, errURL
	}

	s := server{options: goredis.UniversalOptions{
		DB: o.DB, Username: o.Username, Password: o.Password, ClientName: o.ClientName, TLSConfig: o.TLSConfig,
		DialTimeout:  timeoutOr(o.DialTimeout, dialTimeout),
		WriteTimeout: timeoutOr(o.WriteTimeout, writeTimeout),
		ReadTimeout:  o.ReadTimeout, // client has the default
		PoolTimeout:  timeoutOr(o.PoolTimeout, poolTimeout),
	}}
	if err := s.setOptions(u, ownValues); err != nil {
		return server{}, err
	}
	return s, nil
}

// setOptions reads the addresses and ownOptions.
func (s *server) setOptions(u *url.URL, options url.Values) error {
	port := serverPort
	if options.Has("master_name") {
		port = sentinelPort
	}
	addresses := []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))}
	for _, text := range options["addr"] {
		address, err := url.Parse("redis://" + text)
		if err != nil || address.Hostname() == "" || address.Host != text {
			return unusable("addr must be host:port")
		}
		addresses = append(addresses, net.JoinHostPort(address.Hostname(), cmp.Or(address.Port(), port)))
	}
	if len(addresses) > 1 && s.options.TLSConfig != nil {
		s.options.TLSConfig.ServerName = "" // each server is checked by its own address
	}
	s.options.Addrs = addresses
	s.address = fmt.Sprintf("%s://%s/%d", u.Scheme, strings.Join(addresses, ","), s.options.DB)

	switch name := options.Get("master_name"); {
	case name != "":
		s.master = name
		s.sentinelUser, s.sentinelPassword = options.Get("sentinel_username"), options.Get("sentinel_password")
		if s.options.TLSConfig != nil {
			s.options.TLSConfig.ServerName = ""
		}
		s.address = fmt.Sprintf("%s behind the Sentinels %s://%s/%d",
			name, u.Scheme, strings.Join(addresses, ","), s.options.DB)
	case options.Has("master_name"):
		return unusable("master_name must be the name that the Sentinels know the master by")
	case options.Has("sentinel_username"), options.Has("sentinel_password"):
		return unusable("sentinel_username and sentinel_password are of use with master_name only")
	case len(addresses) > 1 && s.options.DB != 0:
		return unusable("a cluster, which several addresses without master_name are, has the database 0 only")
	}

	if options.Has("wait_replicas") {
		replicas, err := strconv.Atoi(options.Get("wait_replicas"))
		if err != nil || replicas < 1 || replicas > maxReplicas {
			return unusable(fmt.Sprintf("wait_replicas must be a number from 1 to %d", maxReplicas))
		}
		s.replicas = replicas
	}
	return nil
}

func timeoutOr(timeout, fallback time.Duration) time.Duration {
	if timeout <= 0 {
		return fallback
	}
	return timeout
}
