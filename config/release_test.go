package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatHasNoEffectIsListed(t *testing.T) {
	cfg := Playground(2, "data", "127.0.0.1:0", "http://127.0.0.1:7070")
	assert.Empty(t, cfg.Unused())
	cfg.Ranges[0].Webhook = nil
	cfg.Ranges[0].OnLinkLoss = Hold
	cfg.Ranges[0].LinkTLS.CA = "ca.pem"
	assert.Equal(t, []string{"ranges[0].link_tls", "ranges[0].purchasing"}, cfg.Unused())
	cfg.Ranges[0].Lanes[0].Link = Link{Driver: DriverWebSocket, Address: "wss://h/lane"}
	assert.NotContains(t, cfg.Unused(), "ranges[0].link_tls")
}
