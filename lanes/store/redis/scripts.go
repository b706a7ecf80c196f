package redis

import (
	_ "embed"

	goredis "github.com/redis/go-redis/v9"
)

// The scripts run on the server, each as one step that nothing else comes between. What they answer is at their heads.
var (
	claimScript = script(claimLua)
	flushScript = script(flushLua)
	loadScript  = script(loadLua)
	pageScript  = script(pageLua)
	endedScript = script(endedLua)
)

var (
	//go:embed prelude.lua
	preludeLua string
	//go:embed claim.lua
	claimLua string
	//go:embed flush.lua
	flushLua string
	//go:embed load.lua
	loadLua string
	//go:embed page.lua
	pageLua string
	//go:embed ended.lua
	endedLua string
)

func script(body string) *goredis.Script { return goredis.NewScript(preludeLua + body) }
