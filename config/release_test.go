package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatHasNoEffectYetIsListed(t *testing.T) {
	cfg := Playground(2, "data", "127.0.0.1:0", "http://127.0.0.1:7070")
	assert.Empty(t, cfg.Unused())
	cfg.Ranges[0].Staff = []Staff{{Name: "sam", PinHash: "hash"}}
	cfg.Ranges[0].Webhook = nil
	cfg.Ranges[0].OnLinkLoss = Hold
	cfg.Ranges[0].LinkTLS.CA = "ca.pem"
	cfg.Ranges[0].Lanes[1].ScreenKey = "key"
	assert.Equal(t, []string{
		"ranges[0].lanes[1].screen_key", "ranges[0].link_tls", "ranges[0].purchasing", "ranges[0].staff",
	}, cfg.Unused())
	cfg.Ranges[0].Lanes[0].Link = Link{Driver: DriverWebSocket, Address: "wss://h/lane"}
	assert.NotContains(t, cfg.Unused(), "ranges[0].link_tls")
}
