package screens

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sharedFolder has the files that all pages use.
const sharedFolder = "../screens/web"

// pageFolders returns the folders of the pages.
func pageFolders(t *testing.T) []string {
	pages, err := filepath.Glob("../*/web/*.html")
	require.NoError(t, err)
	var folders []string
	for _, page := range pages {
		folders = append(folders, filepath.Dir(page))
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	require.Contains(t, folders, "../control/web")
	return folders
}

// source returns the concatenated files of a folder with one of the endings.
func source(t *testing.T, folder string, endings ...string) string {
	var all strings.Builder
	for _, ending := range endings {
		paths, err := filepath.Glob(folder + "/*" + ending)
		require.NoError(t, err)
		for _, path := range paths {
			if strings.Contains(filepath.Base(path), "texts.") && filepath.Base(path) != "texts.js" {
				continue
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			all.Write(text)
		}
	}
	return all.String()
}

var (
	entries     = regexp.MustCompile(`(?m)^  ("(?:[^"\\]|\\.)+"): ("(?:[^"\\]|\\.)*"),$`)
	placeholder = regexp.MustCompile(`\{\w+\}`)
)

// sentences parses a file of texts: an object with one key and one sentence on each line, and nothing else.
func sentences(t *testing.T, path string) map[string]string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	found := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" || strings.HasPrefix(strings.TrimSpace(line), "//") ||
			line == "export default {" || line == "};" {
			continue
		}
		parts := entries.FindStringSubmatch(line)
		require.NotNil(t, parts, "%s has a line that is no entry: %s", path, line)
		var key, sentence string
		require.NoError(t, json.Unmarshal([]byte(parts[1]), &key))
		require.NoError(t, json.Unmarshal([]byte(parts[2]), &sentence))
		require.NotContains(t, found, key, "%s has it twice", path)
		found[key] = sentence
	}
	return found
}

func TestEveryLanguageHasTheSameSentencesWithTheSameValues(t *testing.T) {
	for _, folder := range pageFolders(t) {
		t.Run(folder, func(t *testing.T) {
			english, german := sentences(t, folder+"/texts.en.js"), sentences(t, folder+"/texts.de.js")
			require.NotEmpty(t, english)
			require.Equal(t, keys(english), keys(german))
			for key, sentence := range english {
				values := func(in string) []string {
					return slices.Compact(slices.Sorted(slices.Values(placeholder.FindAllString(in, -1))))
				}
				require.Equal(t, values(sentence), values(german[key]), "of %s", key)
				require.Equal(t, sentence == "", german[key] == "", key) // an empty sentence is empty in every language
			}
		})
	}
}

// keys returns the keys that every language has. A language may also have "said.<sentence>", the translation
// of an English sentence of the gateway.
func keys(texts map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(key string) bool {
		return strings.HasPrefix(key, "said.")
	})
}

// What the gateway itself says to a customer, as a lane's controller shows it too, is English: the lane screen has each
// of those sentences in every other language, with the same values, and no others.
func TestEverySentenceForCustomersIsTranslated(t *testing.T) {
	spoken := append(spokenIn(t, "../../lanes/*.go"), spokenIn(t, "../../catalog/product.go")...)
	slices.Sort(spoken)
	require.Contains(t, spoken, "Closing time is {}. Nothing was bought.")
	languages, err := filepath.Glob("../lanescreen/web/texts.*.js")
	require.NoError(t, err)
	require.Len(t, languages, 2)
	for _, path := range languages {
		if strings.HasSuffix(path, ".en.js") {
			continue
		}
		var translated []string
		for key, sentence := range sentences(t, path) {
			english, said := strings.CutPrefix(key, "said.")
			if !said {
				continue
			}
			values := placeholder.FindAllString(english, -1)
			require.ElementsMatch(t, values, placeholder.FindAllString(sentence, -1), key)
			if strings.HasSuffix(english, ".") { // else it is a value of another one
				translated = append(translated, placeholder.ReplaceAllString(english, "{}"))
			}
		}
		slices.Sort(translated)
		require.Equal(t, spoken, translated, path)
	}
}

// spokenIn returns the sentences in Go files, with {} for each value.
func spokenIn(t *testing.T, pattern string) (spoken []string) {
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			sum, isSum := n.(*ast.BinaryExpr)
			isSum = isSum && sum.Op == token.ADD
			if _, isLiteral := n.(*ast.BasicLit); !isLiteral && !isSum {
				return true
			}
			if text := textOf(n.(ast.Expr)); strings.Contains(text, " ") && strings.HasSuffix(text, ".") {
				spoken = append(spoken, text)
			}
			return false
		})
	}
	return spoken
}

var verb = regexp.MustCompile(`%[a-z]`)

// textOf returns the text of a string, or of strings and values that are added up.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return verb.ReplaceAllString(strings.ReplaceAll(text, "%q", `"{}"`), "{}")
		}
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return "{}"
}

var (
	used    = regexp.MustCompile(`\bt\(\s*"([\w.]+)"|data-(?:text|label|hint)="([\w.]+)"`)
	literal = regexp.MustCompile(`"([\w.-]+)"`)
	built   = regexp.MustCompile("`((?:[\\w.]|\\$\\{[^}]*\\})+)`")
	value   = regexp.MustCompile(`\$\{[^}]*\}`)
)

// No sentence is translated in vain, and no key without a sentence is shown to people.
func TestEverySentenceIsUsedAndEveryUsedKeyHasASentence(t *testing.T) {
	shared := source(t, sharedFolder, ".js")
	for _, folder := range pageFolders(t) {
		t.Run(folder, func(t *testing.T) {
			sentenceKeys := map[string]bool{}
			for _, key := range keys(sentences(t, folder+"/texts.en.js")) {
				sentenceKeys[key] = true
			}
			for key := range sentenceKeys { // plural forms
				if base, plural := strings.CutSuffix(key, ".one"); plural && sentenceKeys[base+".other"] {
					delete(sentenceKeys, key)
					delete(sentenceKeys, base+".other")
					sentenceKeys[base] = true
				}
			}
			own := source(t, folder, ".js", ".html")
			for _, found := range used.FindAllStringSubmatch(own, -1) {
				assert.Contains(t, sentenceKeys, found[1]+found[2], "is used and has no sentence")
			}
			mentioned := map[string]bool{}
			for _, found := range literal.FindAllStringSubmatch(own+shared, -1) {
				mentioned[found[1]] = true
			}
			var patterns []*regexp.Regexp
			for _, found := range built.FindAllStringSubmatch(own+shared, -1) {
				if fixed := value.ReplaceAllString(found[1], ""); strings.ContainsAny(fixed, "._") &&
					fixed != found[1] {
					parts := value.Split(found[1], -1)
					for i := range parts {
						parts[i] = regexp.QuoteMeta(parts[i])
					}
					patterns = append(patterns, regexp.MustCompile("^"+strings.Join(parts, ".+")+"$"))
				}
			}
			for key := range sentenceKeys {
				fits := func(pattern *regexp.Regexp) bool { return pattern.MatchString(key) }
				assert.True(t, mentioned[key] || slices.ContainsFunc(patterns, fits), "nothing uses %s", key)
			}
		})
	}
}
