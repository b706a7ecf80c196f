// Shape prints how the packages of actors hang together: go run ./.ci/shape
//
// For each package it prints its files, the largest set of files that call each other in a circle, and the
// pairs of files that call each other directly. For the two types that everything else stands around it prints
// their methods. Then it prints the shipped lines of Go, without tests and suites, and how many are longer than
// 120 characters.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const longLine = 120 // characters; a tab is four

func main() {
	packages, err := list()
	if err == nil {
		err = report(packages)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// listed is a package as go list tells of it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func list() (map[string]listed, error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	packages := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages[p.ImportPath] = p
	}
}

func report(packages map[string]listed) error {
	fmt.Printf("%-32s %5s %7s %6s\n", "package", "files", "circle", "pairs")
	var methods []string
	shipped, long := 0, 0
	for _, path := range slices.Sorted(func(yield func(string) bool) {
		for path := range packages {
			if !yield(path) {
				return
			}
		}
	}) {
		own, found := strings.CutPrefix(path, "rangegate/")
		if !found || strings.HasPrefix(own, "test/") || strings.HasSuffix(own, "test") {
			continue
		}
		p := packages[path]
		all, over, err := lines(p)
		if err != nil {
			return err
		}
		shipped, long = shipped+all, long+over
		if own != "lanes" && own != "actors" && !strings.HasPrefix(own, "actors/") {
			continue
		}
		calls, checked, err := callsOf(packages, p)
		if err != nil {
			return fmt.Errorf("%s: %w", own, err)
		}
		fmt.Printf("%-32s %5d %7d %6d\n", own, len(p.GoFiles), largestCircle(calls), mutual(calls))
		for _, name := range []string{"Range", "laneActor"} {
			if object, ok := checked.Scope().Lookup(name).(*types.TypeName); ok {
				if named, ok := object.Type().(*types.Named); ok && named.NumMethods() > 30 {
					methods = append(methods, fmt.Sprintf("%s.%s has %d methods", own, name, named.NumMethods()))
				}
			}
		}
	}
	fmt.Println(strings.Join(methods, "\n"))
	fmt.Printf("%d shipped lines, %d of them over %d characters\n", shipped, long, longLine)
	return nil
}

// callsOf returns which files of the package use functions and methods that other files of it declare.
func callsOf(packages map[string]listed, p listed) (map[string]map[string]bool, *types.Package, error) {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(packages[path].Export) }
	uses := map[*ast.Ident]types.Object{}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", open)}
	checked, err := config.Check(p.ImportPath, set, files, &types.Info{Uses: uses})
	if err != nil {
		return nil, nil, err
	}
	calls := map[string]map[string]bool{}
	for used, object := range uses {
		function, ok := object.(*types.Func)
		if !ok || function.Pkg() != checked || !function.Pos().IsValid() {
			continue
		}
		from, to := set.File(used.Pos()).Name(), set.File(function.Origin().Pos()).Name()
		if from != to {
			if calls[from] == nil {
				calls[from] = map[string]bool{}
			}
			calls[from][to] = true
		}
	}
	return calls, checked, nil
}

// largestCircle is how many files the largest set has of which each reaches each.
func largestCircle(calls map[string]map[string]bool) (largest int) {
	reached := map[string]map[string]bool{}
	for from := range calls {
		reached[from] = map[string]bool{}
		reach(calls, from, reached[from])
	}
	for from, all := range reached {
		size := 0
		for to := range all {
			if reached[to][from] {
				size++
			}
		}
		largest = max(largest, size)
	}
	return largest
}

func reach(calls map[string]map[string]bool, from string, reached map[string]bool) {
	for to := range calls[from] {
		if !reached[to] {
			reached[to] = true
			reach(calls, to, reached)
		}
	}
}

func mutual(calls map[string]map[string]bool) (pairs int) {
	for from, all := range calls {
		for to := range all {
			if from < to && calls[to][from] {
				pairs++
			}
		}
	}
	return pairs
}

func lines(p listed) (all, long int, err error) {
	for _, name := range p.GoFiles {
		file, err := os.Open(filepath.Join(p.Dir, name))
		if err != nil {
			return 0, 0, err
		}
		for scanner := bufio.NewScanner(file); scanner.Scan(); all++ {
			if utf8.RuneCountInString(strings.ReplaceAll(scanner.Text(), "\t", "    ")) > longLine {
				long++
			}
		}
		if err := file.Close(); err != nil {
			return 0, 0, err
		}
	}
	return all, long, nil
}
