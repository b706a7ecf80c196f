package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Verified is what came out when the sessions of the store were last computed again (rangegate verify). It is
// saved in a file, so that it outlives both processes.
type Verified struct {
	At          time.Time `json:"at"` // when that began
	Sessions    int       `json:"sessions"`
	Events      int       `json:"events"`
	Differences int       `json:"differences"`
}

// StateFolder is the folder for the data of the service, which systemd names in STATE_DIRECTORY; empty where nothing
// names one.
func StateFolder(environ []string) string {
	for _, variable := range environ {
		if folders, found := strings.CutPrefix(variable, "STATE_DIRECTORY="); found {
			folder, _, _ := strings.Cut(folders, ":")
			return folder
		}
	}
	return ""
}

// VerifiedFile is where it is saved: in the StateFolder; empty where there is none.
func VerifiedFile(environ []string) string {
	if folder := StateFolder(environ); folder != "" {
		return filepath.Join(folder, "verified.json")
	}
	return ""
}

// Save writes the file, whole or not at all.
func (v Verified) Save(path string) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path+".new", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("saving what was verified: %w", err)
	}
	return nil
}

// readVerified reads the file. Without one it is zero.
func readVerified(path string) (v Verified, err error) {
	if path == "" {
		return v, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return v, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	return v, err
}

// verifiedMetrics shows the file at each scrape.
type verifiedMetrics struct {
	path string
	log  zerolog.Logger
}

var (
	verifiedSessions = prometheus.NewDesc("rangegate_verified_sessions",
		"Ended sessions that rangegate verify has last computed again from the event log, of all ranges. 0 before "+
			"it has run.", nil, nil)
	verifyDifferences = prometheus.NewDesc("rangegate_verify_differences",
		"Differences that it has found between what is on record and what is computed. None; each one needs somebody "+
			"who looks.", nil, nil)
	verifiedAt = prometheus.NewDesc("rangegate_verified_timestamp_seconds",
		"When it has last run to its end. The package runs it each night; 0 before the first time.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m verifiedMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{verifiedSessions, verifyDifferences, verifiedAt} {
		to <- desc
	}
}

// Collect implements prometheus.Collector. A file that cannot be read counts as none.
func (m verifiedMetrics) Collect(to chan<- prometheus.Metric) {
	v, err := readVerified(m.path)
	if err != nil {
		m.log.Warn().Str("path", m.path).Err(err).Msg("what rangegate verify has found last cannot be read")
		v = Verified{}
	}
	at := 0.0
	if !v.At.IsZero() {
		at = float64(v.At.UnixMilli()) / 1000
	}
	for desc, value := range map[*prometheus.Desc]float64{
		verifiedSessions: float64(v.Sessions), verifyDifferences: float64(v.Differences), verifiedAt: at,
	} {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
}
