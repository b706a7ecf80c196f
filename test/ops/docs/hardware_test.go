package docs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/config"
)

// The example of the proofs is what its own words say: it is computed from the page alone.
func TestTheProofsOfThePage(t *testing.T) {
	text := page(t, "docs/hardware.md")
	_, example, found := strings.Cut(text, "An example, to test your code with:")
	require.True(t, found)
	value := func(name string) string {
		row := regexp.MustCompile("(?m)^\\| " + name + "[^|]* \\| `([^`]+)` \\|$").FindStringSubmatch(example)
		require.NotNil(t, row, name)
		return row[1]
	}
	bytesFrom := func(first byte) string {
		var challenge [32]byte
		for i := range challenge {
			challenge[i] = first + byte(i)
		}
		return base64.RawURLEncoding.EncodeToString(challenge[:])
	}
	require.Equal(t, bytesFrom(0), value("the gateway's challenge"))
	require.Equal(t, bytesFrom(32), value("the controller's challenge"))
	require.Empty(t, config.LinkKeyProblem(config.Secret(value("key"))))

	values := strings.NewReplacer(
		"<lane_id>", value("`lane_id`"), "<the gateway's challenge>", value("the gateway's challenge"),
		"<your challenge>", value("the controller's challenge"), "<log_id>", value("`log_id`"), "<epoch>",
		value("`epoch`"),
	)
	layouts := regexp.MustCompile("(?s)   ```\n   (rangegate\\.lane\\.v1 .*?)\n   ```").FindAllStringSubmatch(text, -1)
	require.Len(t, layouts, 2)
	for i, of := range []string{"the controller's proof, over 190 bytes", "the gateway's proof, over 152 bytes"} {
		signed := values.Replace(strings.ReplaceAll(layouts[i][1], "\n   ", "\n"))
		require.Contains(t, of, fmt.Sprintf("over %d bytes", len(signed)))
		sum := hmac.New(sha256.New, []byte(value("key")))
		sum.Write([]byte(signed))
		require.Equal(t, base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), value(of), of)
	}
}
