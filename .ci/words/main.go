// Words finds names that are none of this house's: go run ./.ci/words FILE...
//
// A name says what an engineer would search for, never what it reminds one of, and hides no built-in. The tool
// prints each place where one of the words below is declared, and ends with 1 if there is any.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
)

// unwanted are words that were names here once, each with what is said instead.
var unwanted = map[string]string{
	"flight": "pendingSave", "landed": "saveResult", "told": "what it is: addresses, waits", "standing": "unresolved", "disowned": "fenced",
	"forsaken": "lost", "flying": "batch", "gathering": "saveQueue", "away": "storeDown",
	"rollcall": "holdProgress", "callRoll": "holdProgress", "roll": "holdProgress", "heed": "reconcileHolds",
	"heedHolds": "reconcileHolds",
	"strays":    "clockSkew", "strayed": "clockSkew", "mishaps": "panicLog",
	"tally": "counters", "census": "counters", "trouble": "linkProblems", "course": "runPurchase",
	"tills": "purchaseSlots", "errands": "background",
	"resting": "reportsPaused", "deaf": "reportsOverflowed", "stuck": "storeStalled, blocked",
	"deafFor":     "dialCooldown",
	"arrangement": "settings", "arranged": "runtime", "neighbours": "runtime", "machinery": "actorstatus",
	"desk": "staffops", "door": "signInLimiter",
	"crowd": "concurrencyLimit", "strangers": "failedAuthLimit", "exam": "linkconformance", "ear": "linkconformance", "pace": "processors",
	"letter": "requestBody", "rig": "fixture", "station": "fixture",
	"learned": "recordChangedAt", "newcomer": "pendingLink", "decoy": "fakeChallenge", "hasten": "makeDue", "hurry": "makeAllDue",
	"is": "found, ok", "there": "found", "its": "a noun",
	"any": "a built-in", "new": "a built-in", "max": "a built-in", "min": "a built-in",
}

func main() {
	found := 0
	for _, path := range os.Args[1:] {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for _, name := range declared(file) {
			if instead, unwanted := unwanted[name.Name]; unwanted {
				fmt.Printf("%s: the name %s; instead: %s\n", files.Position(name.Pos()), name.Name, instead)
				found++
			}
		}
	}
	if found > 0 {
		os.Exit(1)
	}
}

// declared returns the names that the file declares: functions, types, constants, variables, fields, parameters.
func declared(file *ast.File) (names []*ast.Ident) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if name, ok := to.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names = append(names, name)
				}
			}
		case *ast.RangeStmt:
			for _, to := range []ast.Expr{n.Key, n.Value} {
				if name, ok := to.(*ast.Ident); ok && n.Tok == token.DEFINE {
					names = append(names, name)
				}
			}
		}
		return true
	})
	return names
}
