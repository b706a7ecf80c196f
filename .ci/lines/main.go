// Lines finds lines of Go that are longer than 120 columns: go run ./.ci/lines FILE...
//
// A tab counts as four. A line may be longer for what cannot be broken: a string in backquotes, a string without a
// space, and a table in a comment, whose lines begin with a tab. The tool prints each other line that is too long, and
// ends with 1 if there is any.
package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	// longest is how many columns a line may have.
	longest = 120
	// unbreakable is how long a string without a space has to be before it excuses its line.
	unbreakable = 60
)

func main() {
	found := 0
	for _, path := range os.Args[1:] {
		source, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		excused := excusedLines(source)
		for i, line := range bytes.Split(source, []byte("\n")) {
			if width := widthOf(string(line)); width > longest && !excused[i+1] {
				fmt.Printf("%s:%d: a line of %d columns\n", path, i+1, width)
				found++
			}
		}
	}
	if found > 0 {
		os.Exit(1)
	}
}

func widthOf(line string) int { return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) }

// excusedLines returns the numbers of the lines that have something that cannot be broken.
func excusedLines(source []byte) map[int]bool {
	files, excused := token.NewFileSet(), map[int]bool{}
	file := files.AddFile("", files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return excused
		}
		raw := kind == token.STRING && text[0] == '`'
		whole := kind == token.STRING && len(text) >= unbreakable && !strings.Contains(text, " ")
		if raw || whole || kind == token.COMMENT && strings.HasPrefix(text, "//\t") {
			first := file.Line(at)
			for line := range strings.Count(text, "\n") + 1 {
				excused[first+line] = true
			}
		}
	}
}
