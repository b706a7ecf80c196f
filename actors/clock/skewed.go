//go:build skewedclock

package clock

import (
	"fmt"
	"os"
	"time"
)

// A process that is built with the tag skewedclock has the clocks of another machine, as its environment
// says. So several processes on one machine differ as those on several machines do. A binary that is shipped
// is built without the tag and has none of this.
const (
	bootIDVariable    = "SKEWED_BOOT_ID"    // a text that stands for the kernel's boot id
	bootClockVariable = "SKEWED_BOOT_CLOCK" // a duration by which the boot clock is ahead
	wallClockVariable = "SKEWED_WALL_CLOCK" // a duration by which the wall clock is ahead
)

var bootClockAhead, wallClockAhead = readSkew(bootClockVariable), readSkew(wallClockVariable)

func readSkew(variable string) time.Duration {
	ahead, err := time.ParseDuration(os.Getenv(variable))
	if err != nil {
		panic(fmt.Errorf("%s: %w", variable, err))
	}
	return ahead
}

func readBootID() (string, error) {
	id, set := os.LookupEnv(bootIDVariable)
	if !set {
		return "", fmt.Errorf("%s is not set", bootIDVariable)
	}
	return id, nil
}
