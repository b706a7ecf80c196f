// Package screens has staff and shooters at the screens of the real binary: stories that a browser plays, Debian's
// chromium steered by playwright-core. A story is a .mjs file of its name; what it does to the world around the screens
// (the till, the lanes' controllers, the gateway's power) it asks of the test that runs it.
//
//	range_test.go    the range: its controllers, its configuration   story.mjs    a story's browser, and what becomes of it
//	till_test.go     the integrator: products, webhook               control.mjs  staff at the control screen
//	stage_test.go    what a story may ask for                        lane.mjs     a shooter at the lane screen
//	story_test.go    the stories                                     till.mjs     the POS, and the stage
//	                                                                 times.mjs    times on a screen, right or wrong
package screens

import (
	"testing"

	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }
