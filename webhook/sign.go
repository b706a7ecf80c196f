package webhook

import (
	"fmt"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// signers sign requests, each with one of the integrator's secrets. There are two during a rotation.
type signers []*standardwebhooks.Webhook

// newSigners takes secrets in the form of Standard Webhooks: whsec_ and base64. Its errors do not quote them.
func newSigners(secrets []string) (signers, error) {
	var all signers
	for i, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, fmt.Errorf("webhook: secret %d: %w", i+1, err)
		}
		all = append(all, signer)
	}
	return all, nil
}

// sign returns the header webhook-signature: a signature for each secret, separated by spaces; empty without secrets.
func (all signers) sign(id string, at time.Time, body []byte) (string, error) {
	signatures := make([]string, len(all))
	for i, signer := range all {
		signature, err := signer.Sign(id, at, body)
		if err != nil {
			return "", fmt.Errorf("webhook: sign with secret %d: %w", i+1, err)
		}
		signatures[i] = signature
	}
	return strings.Join(signatures, " "), nil
}
