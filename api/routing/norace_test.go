//go:build !race

package routing

const underRace = false
