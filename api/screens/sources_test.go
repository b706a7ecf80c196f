package screens

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	imported = regexp.MustCompile(`(?m)(?:\bfrom|^import) "([^"]+)"`)
	loaded   = regexp.MustCompile(`(?:src|href)="(/[^"]+\.(?:js|css|svg))"`)
	inline   = regexp.MustCompile(`(?i)<style|<script(?:\s[^>]*)?>[^<\s]|\sstyle=|\son\w+=`)
	external = regexp.MustCompile(`https?://[^\s"]+`)
	markup   = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`)
)

// folderOf maps the paths of the pages to the folders of their files.
var folderOf = map[string]string{
	"/screens": sharedFolder, "/control/assets": "../control/web",
	"/lane/assets": "../lanescreen/web", "/board/assets": "../wallboard/web", "/start/assets": "../startpage/web",
	"/my/assets": "../shooterpage/web", "/assets": "../observer/web",
}

func requireServed(t *testing.T, path, by string) {
	folder, ok := folderOf[filepath.Dir(path)]
	require.True(t, ok, "%s loads %s, which is not served", by, path)
	_, err := os.Stat(filepath.Join(folder, filepath.Base(path)))
	require.NoError(t, err, "%s loads it", by)
}

// The pages contain nothing that the strict Content-Security-Policy refuses, and the files that they load exist.
func TestPagesNeedNothingInlineAndNoFilesOfOtherSites(t *testing.T) {
	for _, folder := range append(pageFolders(t), sharedFolder) {
		for _, ending := range []string{"html", "js", "css"} {
			paths, err := filepath.Glob(folder + "/*." + ending)
			require.NoError(t, err)
			for _, path := range paths {
				read, err := os.ReadFile(path)
				require.NoError(t, err)
				text := string(read)
				if ending == "html" {
					require.Empty(t, inline.FindAllString(text, -1), path)
				}
				require.Empty(t, markup.FindAllString(text, -1), "%s: a customer's name would be markup", path)
				for _, address := range external.FindAllString(text, -1) {
					require.Contains(t, []string{
						"http://www.w3.org/2000/svg",
						"https://html.spec.whatwg.org/multipage/server-sent-events.html,",
					}, address, path)
				}
				for _, found := range loaded.FindAllStringSubmatch(text, -1) {
					requireServed(t, found[1], path)
				}
				if ending != "js" {
					continue
				}
				for _, found := range imported.FindAllStringSubmatch(text, -1) {
					if filepath.IsAbs(found[1]) {
						requireServed(t, found[1], path)
					} else {
						require.FileExists(t, filepath.Join(folder, found[1]), "%s imports it", path)
					}
				}
			}
		}
	}
}
