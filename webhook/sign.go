package webhook

import (
	"fmt"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// signers sign what is sent, each with one of the integrator's secrets. There are two while it rotates them.
type signers []*standardwebhooks.Webhook

// signersOf takes secrets as Standard Webhooks writes them: whsec_ and base64. Its errors do not show them.
func signersOf(secrets []string) (signers, error) {
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

// sign is the webhook-signature of the message: one for each secret, apart by a space. Without secrets it is empty.
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
