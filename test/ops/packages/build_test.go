// Package packages builds the Debian packages and lives with them as an operator does: on a machine of its
// own, which is a folder with the essential packages of this one, they are installed, configured, served
// from, upgraded, removed, purged.
//
//	build_test.go     what is built
//	machine_test.go   the machine
//	unit_test.go      the unit that is installed there, run as systemd would
//	story_test.go     the life of a gateway there
package packages

import (
	"cmp"
	"debug/buildinfo"
	"debug/elf"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// Two releases, one after the other.
const (
	before = "7.0.0~rc1"
	after  = "7.0.0+1.gabcdef0"
)

var (
	built string // the folder with the packages of both; the earlier one is for this machine alone

	// architectures is this machine's, or those that ARCHITECTURES names: compiling everything for another
	// one takes minutes.
	architectures = strings.Fields(cmp.Or(os.Getenv("ARCHITECTURES"), runtime.GOARCH))
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rangegate-test-")
	if err != nil {
		panic(err)
	}
	built = dir
	out, err := build(before, dir, runtime.GOARCH)
	if err == nil {
		out, err = build(after, dir, strings.Join(architectures, " "))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "building the packages: %v\n%s", err, out)
		_ = os.RemoveAll(dir)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build makes everything for a version, in a second that does not change.
func build(version, into, architectures string) (output []byte, err error) {
	cmd := exec.Command("../../../deploy/package", into)
	cmd.Env = append(os.Environ(), "VERSION="+version, "SOURCE_DATE_EPOCH=1767225600", "ARCHITECTURES="+architectures)
	return cmd.CombinedOutput()
}

func deb(version, arch string) string {
	return filepath.Join(built, fmt.Sprintf("rangegate_%s_%s.deb", version, arch))
}

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

func TestTheBinariesAreStatic(t *testing.T) {
	for _, arch := range architectures {
		binary, err := elf.Open(filepath.Join(built, "rangegate-linux-"+arch))
		require.NoError(t, err)
		defer func() { _ = binary.Close() }()
		require.Equal(t, machines[arch], binary.Machine)
		for _, part := range binary.Progs {
			require.NotContains(t, []elf.ProgType{elf.PT_INTERP, elf.PT_DYNAMIC}, part.Type,
				"%s is linked to libraries", arch)
		}
	}
}

// What is built twice is the same twice.
func TestTheSameSourceGivesTheSameBytes(t *testing.T) {
	again, arch := t.TempDir(), runtime.GOARCH
	out, err := build(after, again, arch)
	require.NoError(t, err, string(out))
	for _, name := range []string{filepath.Base(deb(after, arch)), "rangegate-linux-" + arch, "rangegate-linux-" +
		arch + ".cdx.json"} {
		first, err := os.ReadFile(filepath.Join(built, name))
		require.NoError(t, err)
		second, err := os.ReadFile(filepath.Join(again, name))
		require.NoError(t, err)
		require.True(t, string(first) == string(second), "%s differs", name)
	}
}

// What is in a package, with its modes, and of it what is the operator's.
func TestWhatAPackageHas(t *testing.T) {
	dpkg := support.Program(t, "dpkg-deb")
	ask := func(args ...string) string {
		out, err := exec.Command(dpkg, args...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	for _, arch := range architectures {
		contents := ask("--contents", deb(after, arch))
		for _, want := range []string{
			`-rwxr-xr-x root/root .* \./usr/bin/rangegate`,
			`-rw-r----- root/root .* \./etc/rangegate/rangegate\.yaml`,
			`-rw-r--r-- root/root .* \./lib/systemd/system/rangegate\.service`,
			`-rw-r--r-- root/root .* \./lib/systemd/system/rangegate-verify\.service`,
			`-rw-r--r-- root/root .* \./lib/systemd/system/rangegate-verify\.timer`,
			`-rw-r--r-- root/root .* \./usr/share/rangegate/grafana/\S+\.json`,
			`-rw-r--r-- root/root .* \./usr/share/rangegate/prometheus/rules\.yaml`,
			`-rw-r--r-- root/root .* \./usr/share/doc/rangegate/README\.md`,
			`-rw-r--r-- root/root .* \./usr/share/doc/rangegate/changelog\.gz`,
			`-rw-r--r-- root/root .* \./usr/share/doc/rangegate/copyright`,
			`-rw-r--r-- root/root .* \./usr/share/doc/rangegate/rangegate\.cdx\.json`,
		} {
			require.Regexp(t, "(?m)^"+want+"$", contents)
		}
		pages, err := filepath.Glob("../../../docs/*.md")
		require.NoError(t, err)
		for _, page := range pages {
			require.Contains(t, contents, "./usr/share/doc/rangegate/docs/"+filepath.Base(page)+"\n")
		}
		for _, linked := range []string{
			"clients/python/rangegate.py", "advisories.schema.json", "plots/growth-memory.svg",
		} {
			require.Contains(t, contents, "./usr/share/doc/rangegate/docs/"+linked+"\n")
		}
		require.False(t, strings.Contains(contents, "node_modules"), "it has packages of npm")
		require.NotRegexp(t, `(?m)^.{5}w|^.{8}w`, contents, "others may write")
		require.Equal(t, "rangegate\n"+after+"\n"+arch+"\n",
			values(ask("--field", deb(after, arch), "Package", "Version", "Architecture")))
		require.Equal(t, "/etc/rangegate/rangegate.yaml",
			strings.TrimSpace(ask("--info", deb(after, arch), "conffiles")))
	}
}

func values(fields string) string {
	return regexp.MustCompile(`(?m)^\S+: `).ReplaceAllString(fields, "")
}

// bill is what a test looks at of a CycloneDX document.
type bill struct {
	BOMFormat    string
	Metadata     struct{ Component part }
	Components   []part
	Dependencies []struct{ DependsOn []string }
}

type part struct {
	Name, Version, Purl string
	Hashes              []struct{ Alg, Content string }
}

// Every module that is in a binary, and Go itself, is in its bill of materials by the name that advisories use.
func TestTheBillOfMaterialsNamesEverythingInTheBinary(t *testing.T) {
	for _, arch := range architectures {
		text, err := os.ReadFile(filepath.Join(built, "rangegate-linux-"+arch+".cdx.json"))
		require.NoError(t, err)
		var b bill
		require.NoError(t, json.Unmarshal(text, &b))
		require.Equal(t, "CycloneDX", b.BOMFormat)
		require.Equal(t, part{Name: "rangegate", Version: after, Purl: "pkg:generic/rangegate@7.0.0%2B1.gabcdef0"},
			b.Metadata.Component)
		info, err := buildinfo.ReadFile(filepath.Join(built, "rangegate-linux-"+arch))
		require.NoError(t, err)
		want := map[string]string{"pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"): ""}
		for _, module := range info.Deps {
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
			require.NoError(t, err)
			want["pkg:golang/"+module.Path+"@"+strings.ReplaceAll(module.Version, "+", "%2B")] = hex.EncodeToString(sum)
		}
		listed := map[string]string{}
		for _, each := range b.Components {
			listed[each.Purl] = ""
			if len(each.Hashes) == 1 && each.Hashes[0].Alg == "SHA-256" {
				listed[each.Purl] = each.Hashes[0].Content
			}
		}
		require.Equal(t, want, listed)
		require.Greater(t, len(listed), 20)
		require.Len(t, b.Dependencies[0].DependsOn, len(listed))
	}
}

// Whoever gets the files by another way compares them with the checksums.
func TestTheChecksumsAreThoseOfTheFiles(t *testing.T) {
	check := exec.Command(support.Program(t, "sha256sum"), "--check", "--strict", "SHA256SUMS")
	check.Dir = built
	out, err := check.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, arch := range architectures {
		for _, name := range []string{
			"rangegate-linux-" + arch, "rangegate-linux-" + arch + ".cdx.json",
			filepath.Base(deb(after, arch)),
		} {
			require.Contains(t, string(out), name+": OK\n")
		}
	}
}

// The version of Go is part of the source, as those of the modules are.
func TestTheToolchainIsPinned(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^toolchain go1\.\d+\.\d+$`, string(text))
}

// dpkg takes the versions for what they are: a release candidate is before its release, commits behind a
// release after it.
func TestVersionsComeInOrder(t *testing.T) {
	dpkg := support.Program(t, "dpkg")
	order := []string{"0~20261121161311.g1a2b3c4", before, "7.0.0", after, "7.0.1"}
	for i := range order[1:] {
		require.NoError(t, exec.Command(dpkg, "--compare-versions", order[i], "lt", order[i+1]).Run(), "%s, %s",
			order[i], order[i+1])
	}
}

// The image is made of binaries that are built.
func TestTheImageTakesWhatIsBuilt(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/Dockerfile")
	require.NoError(t, err)
	copied := regexp.MustCompile(`(?m)^COPY dist/(\S+) `).FindAllStringSubmatch(string(text), -1)
	require.Len(t, copied, 1)
	for _, arch := range architectures {
		require.FileExists(t, filepath.Join(built, strings.ReplaceAll(copied[0][1], "${TARGETARCH}", arch)))
	}
	require.NotContains(t, string(text), "RUN ", "there is no shell in the image")
}
