package config

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	wantsRedis   = "wants redis://host:port/db or rediss://host:port/db"
	wantsTimeout = "as a duration such as 500ms, or a number of seconds"
	maxReplicas  = 64
)

// redisOptions are the query parameters of a Redis url, with what each wants; "" means any text.
var redisOptions = map[string]string{
	"addr":              "as host:port",
	"master_name":       "as the name that the Sentinels know the master by",
	"sentinel_username": "", "sentinel_password": "", "client_name": "",
	"wait_replicas": "as a number from 1 to " + strconv.Itoa(maxReplicas),
	"dial_timeout":  wantsTimeout, "read_timeout": wantsTimeout, "write_timeout": wantsTimeout, "pool_timeout": wantsTimeout,
	"skip_verify": "as true or false, and rediss://",
}

// redisProblem checks the url of one server, of a cluster's nodes (addr), or of the Sentinels of a master (master_name).
// It quotes nothing of the url except the names of known options, as the url may carry passwords.
func redisProblem(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || !reachable(u) || u.Fragment != "" {
		return wantsRedis
	}
	database := strings.Trim(u.Path, "/")
	if _, err := strconv.ParseUint(database, 10, 16); err != nil && database != "" {
		return "wants a number for the database"
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return wantsRedis
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		wants, ok := redisOptions[name]
		if !ok {
			return "wants no other options than those of the documentation behind ?"
		}
		for _, value := range options[name] {
			if !redisOptionFits(name, value, u.Scheme == "rediss") {
				return "wants " + name + " " + wants
			}
		}
	}
	sentinel := options.Has("master_name")
	switch {
	case !sentinel && (options.Has("sentinel_username") || options.Has("sentinel_password")):
		return "wants master_name beside sentinel_username and sentinel_password"
	case !sentinel && options.Has("addr") && strings.Trim(database, "0") != "":
		return "wants database 0 in a cluster, which addr without master_name makes it"
	}
	return ""
}

func redisOptionFits(name, value string, encrypted bool) bool {
	switch redisOptions[name] {
	case "":
		return true
	case wantsTimeout:
		seconds, err := strconv.Atoi(value)
		if err != nil {
			duration, err := time.ParseDuration(value)
			return err == nil && duration > 0
		}
		return seconds > 0
	}
	switch name {
	case "addr":
		u, err := url.Parse("redis://" + value)
		return err == nil && u.Host == value && reachable(u)
	case "wait_replicas":
		replicas, err := strconv.Atoi(value)
		return err == nil && replicas >= 1 && replicas <= maxReplicas
	case "skip_verify":
		return encrypted && (value == "true" || value == "false")
	}
	return value != "" // master_name
}
