package control

import (
	"fmt"
	"image"
	"image/color"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
)

// maxOrigin bounds the length of the address in a QR code, so that the code stays readable on small paper.
const maxOrigin = 200

// sessionQR serves the QR code of the page on which a session's shooter sees the time. The browser says at
// which address the gateway is reached: behind a proxy the gateway does not know it.
func (c *screen) sessionQR(w http.ResponseWriter, r *http.Request) {
	origin := r.URL.Query().Get("origin")
	if problem := originProblem(origin); problem != "" {
		c.fail(w, r, endpoint.Faults{"origin": problem})
		return
	}
	id, err := uuid.Parse(chi.URLParam(r, "session_id"))
	if err != nil {
		c.fail(w, r, endpoint.Faults{"session_id": "must be a UUID"})
		return
	}
	s := sessionOf(r.Context())
	running, err := c.Range(s.rangeID)
	if err == nil {
		_, err = running.Session(r.Context(), id)
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	drawn, err := qrImage(origin + c.ShooterPath(s.rangeID, id))
	if err != nil {
		c.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(drawn)))
	_, _ = w.Write([]byte(drawn)) // fails only if the client is gone
}

// originProblem says why a text is not the origin of a page; empty if it is one.
func originProblem(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || len(origin) > maxOrigin || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
		origin != u.Scheme+"://"+u.Host {
		return fmt.Sprintf("must be an origin like https://range.example, of at most %d characters", maxOrigin)
	}
	return ""
}

// quietZone is the white margin that a QR code needs, in modules.
const quietZone = 4

// qrImage returns the QR code of a text as an SVG image. Its error correction reads a code of which 15 % is damaged.
func qrImage(text string) (string, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", err
	}
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := 0; x < size; x++ {
			begin := x
			for x < size && isDark(code, x, y) {
				x++
			}
			if x > begin {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", begin+quietZone, y+quietZone, x-begin, x-begin)
			}
		}
	}
	whole := size + 2*quietZone
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%dH0z"/><path d="%s"/></svg>`, whole, whole, whole, whole, path.String()), nil
}

func isDark(code image.Image, x, y int) bool {
	return color.GrayModel.Convert(code.At(x, y)).(color.Gray).Y < 128
}
