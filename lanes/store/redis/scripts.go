package redis

import (
	_ "embed"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"rangegate/lanes/store"
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

// layout is how a range lies in its keys, and what it says of itself there. It goes with the version of the records: so
// an older gateway knows before it reads, or claims, that there may be records that it does not.
const layout = store.Version

func script(body string) *goredis.Script {
	return goredis.NewScript(fmt.Sprintf("local layout = '%d'\n", layout) + preludeLua + body)
}
