package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheNearestKeyIsSuggested(t *testing.T) {
	keys := []string{"lanes", "name", "on_link_loss", "url", "redis"}
	for word, meant := range map[string]string{
		"lane":        "lanes", // name is near too, but not as near
		"nmae":        "name",  // neighbours swapped
		"onLinkLoss":  "on_link_loss",
		"OnLink-Loss": "on_link_loss",
		"uri":         "url",
		"radis":       "redis",
		"link":        "",
		"x":           "",
		"":            "",
	} {
		assert.Equal(t, meant, nearest(word, keys), word)
	}
}
