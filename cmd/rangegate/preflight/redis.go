package preflight

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rangegate/lanes/store/redis"
)

// oldestRedis is the major version from which on everything that is asked of the server is there.
const oldestRedis = redis.OldestMajor

// redisServer asks the server what it keeps. Nothing is written to it.
func redisServer(ctx context.Context, url string) []Finding {
	reader, err := redis.OpenReader(ctx, url)
	if err != nil {
		return []Finding{{Fail, "store", err.Error(), "start the server, or put store.redis right: address, user, password, TLS"}}
	}
	defer func() { _ = reader.Close() }()
	survey, err := reader.Survey(ctx)
	if err != nil {
		return []Finding{{Fail, "store", err.Error(), "give the user of store.redis the commands of docs/store.md, Redis"}}
	}
	all := []Finding{ok("store", "%s answers in %s, version %s", reader.Describe(), survey.RoundTrip.Round(10*time.Microsecond), survey.Version)}
	major, _, _ := strings.Cut(survey.Version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldestRedis {
		all = append(all, Finding{Fail, "store", "version " + survey.Version + " is too old", fmt.Sprintf("install Redis %d or later", oldestRedis)})
	}
	for _, warning := range survey.Warnings {
		all = append(all, Finding{Warn, "store", warning, "set the server as docs/store.md, Redis, has it: appendonly yes, appendfsync always, maxmemory-policy noeviction"})
	}
	return all
}
