//go:build race

package routing

const underRace = true // the race detector makes stacks and objects larger
