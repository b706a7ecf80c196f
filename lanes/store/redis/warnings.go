package redis

import (
	"context"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// Warnings says in plain words which settings of the server take away from what the gateway promises: that whatever it
// acknowledged survives. It is empty when there is nothing to say.
func (s *Store) Warnings(ctx context.Context) []string {
	warnings, err := eachServer(ctx, s, check)
	if err != nil {
		warnings = append(warnings, unchecked(s.where, err))
	}
	return append(warnings, s.notRewritten...)
}

func unchecked(where string, err error) string {
	return fmt.Sprintf("redis server %s: whether it keeps what it acknowledges could not be checked: %v", where, err)
}

// check reads the settings of one server.
func check(ctx context.Context, where string, from goredis.Cmdable) []string {
	settings := map[string]string{}
	for _, name := range []string{"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy"} {
		found, err := from.ConfigGet(ctx, name).Result()
		if err != nil {
			return []string{unchecked(where, err)}
		}
		settings[name] = found[name]
	}

	var warnings []string
	warn := func(text string) {
		warnings = append(warnings, fmt.Sprintf("redis server %s: %s", where, text))
	}
	switch {
	case settings["appendonly"] != "yes":
		warn("appendonly is not yes: what was acknowledged is lost when the server stops")
	case settings["appendfsync"] != "always":
		warn(fmt.Sprintf("appendfsync is %s, not always: the last of what was acknowledged is lost when the server's "+
			"machine fails", settings["appendfsync"]))
	case settings["no-appendfsync-on-rewrite"] != "no":
		warn("no-appendfsync-on-rewrite is not no: what is acknowledged while the append-only file is rewritten is " +
			"lost when the server's machine fails")
	}
	if policy := settings["maxmemory-policy"]; strings.HasPrefix(policy, "allkeys-") {
		warn(fmt.Sprintf("maxmemory-policy is %s, not noeviction: a full server drops what it has acknowledged", policy))
	}
	return warnings
}
