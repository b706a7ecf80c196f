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
	"any":         "a built-in",
	"arranged":    "runtime",
	"arrangement": "settings",
	"away":        "storeDown",
	"callRoll":    "holdProgress",
	"census":      "counters",
	"course":      "runPurchase",
	"crowd":       "concurrencyLimit",
	"deaf":        "reportsOverflowed",
	"deafFor":     "dialCooldown",
	"decoy":       "fakeChallenge",
	"desk":        "staffops",
	"disowned":    "fenced",
	"door":        "signInLimiter",
	"ear":         "linkconformance",
	"errands":     "background",
	"exam":        "linkconformance",
	"flight":      "pendingSave",
	"flying":      "batch",
	"forsaken":    "lost",
	"gathering":   "saveQueue",
	"hasten":      "makeDue",
	"heed":        "reconcileHolds",
	"heedHolds":   "reconcileHolds",
	"hurry":       "makeAllDue",
	"is":          "found, ok",
	"its":         "a noun",
	"landed":      "saveResult",
	"learned":     "recordChangedAt",
	"letter":      "requestBody",
	"machinery":   "observer",
	"max":         "a built-in",
	"min":         "a built-in",
	"mishaps":     "panicLog",
	"neighbours":  "runtime",
	"new":         "a built-in",
	"newcomer":    "pendingLink",
	"pace":        "processors",
	"resting":     "reportsPaused",
	"rig":         "fixture",
	"roll":        "holdProgress",
	"rollcall":    "holdProgress",
	"standing":    "unresolved",
	"station":     "fixture",
	"strangers":   "failedAuthLimit",
	"strayed":     "clockSkew",
	"strays":      "clockSkew",
	"stuck":       "storeStalled, blocked",
	"tally":       "counters",
	"there":       "found",
	"tills":       "purchaseSlots",
	"told":        "what it is: addresses, waits",
	"trouble":     "linkProblems",
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
