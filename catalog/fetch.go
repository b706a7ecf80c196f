package catalog

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	maxBody      = 1 << 20 // bytes of an answer, decompressed
	maxRedirects = 3
)

// get returns the body of the integrator's answer.
func (c *Client) get(ctx context.Context, t Type, session string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	request, err := c.request(ctx, t, session)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		failed := badStatus(response.StatusCode)
		return nil, &failed
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, &tooLarge
	}
	return body, nil
}

func (c *Client) request(ctx context.Context, t Type, session string) (*http.Request, error) {
	address, err := url.Parse(c.settings.URL)
	if err != nil {
		return nil, &noURL
	}
	address = address.JoinPath("products")
	// The integrator's own query stays unchanged, as it may be signed.
	address.RawQuery = strings.TrimPrefix(address.RawQuery+"&type="+url.QueryEscape(string(t)), "&")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, &noURL
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.settings.UserAgent)
	if session != "" {
		request.Header.Set("session-id", session)
	}
	return request, nil
}

// checkRedirect allows redirects on the same host: the same scheme, name and port, or from http to https of the same name.
func checkRedirect(next *http.Request, before []*http.Request) error {
	from, to := before[len(before)-1].URL, next.URL
	if len(before) > maxRedirects {
		return &tooFar
	}
	sameName := strings.EqualFold(from.Hostname(), to.Hostname())
	sameServer := from.Scheme == to.Scheme && port(from) == port(to)
	upgrade := from.Scheme == "http" && to.Scheme == "https"
	if sameName && (sameServer || upgrade) {
		return nil
	}
	return &otherHost
}

func port(address *url.URL) string {
	if port := address.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[address.Scheme]
}
