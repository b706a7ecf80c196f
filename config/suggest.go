package config

import "strings"

// nearest is the candidate the writer most likely meant, or "" when none is near.
func nearest(word string, candidates []string) string {
	word = strings.ReplaceAll(strings.ToLower(word), "-", "_")
	best, least := "", min(1+len(word)/4, 2)+1
	for _, candidate := range candidates {
		if abs(len(candidate)-len(word)) >= least {
			continue
		}
		if d := distance(word, strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the letters to add, drop, change or swap with their neighbour to turn a into b.
func distance(a, b string) int {
	var before []int // the row of i-2
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := row[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(row[j]+1, next[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

func abs(n int) int { return max(n, -n) }
