package observer

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// AdvisoryCode is what an advisory is about.
type AdvisoryCode string

// The codes of advisories. docs/operators.md says what each means and what to do.
const (
	StoreDown           AdvisoryCode = "store_down"
	StoreSlow           AdvisoryCode = "store_slow"
	NotSaved            AdvisoryCode = "not_saved"
	RangeNotRunning     AdvisoryCode = "range_not_running"
	RangeLost           AdvisoryCode = "range_lost"
	RangeTakenOver      AdvisoryCode = "range_taken_over"
	LeaseNotHeld        AdvisoryCode = "lease_not_held"
	LaneParked          AdvisoryCode = "lane_parked"
	LaneNotLoaded       AdvisoryCode = "lane_not_loaded"
	LaneReserved        AdvisoryCode = "lane_reserved"
	HoldUnconfirmed     AdvisoryCode = "hold_unconfirmed"
	ActorBlocked        AdvisoryCode = "actor_blocked"
	RequestsWait        AdvisoryCode = "requests_wait"
	Panicked            AdvisoryCode = "panicked"
	PanicLoop           AdvisoryCode = "panic_loop"
	LinkDown            AdvisoryCode = "link_down"
	LinkFaulty          AdvisoryCode = "link_faulty"
	LinkFlapping        AdvisoryCode = "link_flapping"
	HardwareFault       AdvisoryCode = "hardware_fault"
	ControllerContested AdvisoryCode = "controller_contested"
	WebhookGone         AdvisoryCode = "webhook_gone"
	WebhookFailing      AdvisoryCode = "webhook_failing"
	WebhookBehind       AdvisoryCode = "webhook_behind"
	EventsGivenUp       AdvisoryCode = "events_given_up"
	EventsDropped       AdvisoryCode = "events_dropped"
	PurchasesUnresolved AdvisoryCode = "purchases_unresolved"
	ProductsFailing     AdvisoryCode = "products_failing"
	VerifyDifferences   AdvisoryCode = "verify_differences"
	KeysRunOut          AdvisoryCode = "keys_run_out"
	RequestsLimited     AdvisoryCode = "requests_limited"
	Overloaded          AdvisoryCode = "overloaded"
	ClockOffset         AdvisoryCode = "clock_offset"
	ClockStepped        AdvisoryCode = "clock_stepped"
	MachineSuspended    AdvisoryCode = "machine_suspended"
	CertificateEndsSoon AdvisoryCode = "certificate_ends_soon"
	CertificateEnded    AdvisoryCode = "certificate_ended"
	CertificateNotTaken AdvisoryCode = "certificate_not_taken"
	ReloadFailed        AdvisoryCode = "reload_failed"
)

// Severity is how soon somebody has to look.
type Severity string

// The severities, those of the alerts (deploy/prometheus/rules.yaml).
const (
	Critical Severity = "critical" // now: safety, lost sales, data that is not safe
	Warning  Severity = "warning"  // today
)

// advisoryRule is when a condition becomes an advisory.
type advisoryRule struct {
	severity Severity
	after    time.Duration // the condition has to last for so long; less than a minute
}

// advisoryRules has every code.
var advisoryRules = map[AdvisoryCode]advisoryRule{
	StoreDown:           {Critical, 5 * time.Second},
	StoreSlow:           {Warning, 0},
	NotSaved:            {Critical, 10 * time.Second},
	RangeNotRunning:     {Critical, 10 * time.Second},
	RangeLost:           {Critical, 0},
	RangeTakenOver:      {Warning, 0},
	LeaseNotHeld:        {Critical, 10 * time.Second},
	LaneParked:          {Critical, 0},
	LaneNotLoaded:       {Warning, 30 * time.Second},
	LaneReserved:        {Warning, 30 * time.Second},
	HoldUnconfirmed:     {Critical, 5 * time.Second},
	ActorBlocked:        {Critical, 10 * time.Second},
	RequestsWait:        {Warning, 10 * time.Second},
	Panicked:            {Warning, 0},
	PanicLoop:           {Critical, 0},
	LinkDown:            {Warning, 20 * time.Second},
	LinkFaulty:          {Warning, 10 * time.Second},
	LinkFlapping:        {Warning, 0},
	HardwareFault:       {Warning, 5 * time.Second},
	ControllerContested: {Warning, 0},
	WebhookGone:         {Critical, 0},
	WebhookFailing:      {Warning, 0},
	WebhookBehind:       {Warning, 20 * time.Second},
	EventsGivenUp:       {Critical, 0},
	EventsDropped:       {Critical, 0},
	PurchasesUnresolved: {Warning, 30 * time.Second},
	ProductsFailing:     {Warning, 0},
	VerifyDifferences:   {Warning, 0},
	KeysRunOut:          {Warning, 0},
	RequestsLimited:     {Warning, 0},
	Overloaded:          {Warning, 0},
	ClockOffset:         {Warning, 10 * time.Second},
	ClockStepped:        {Warning, 0},
	MachineSuspended:    {Critical, 0},
	CertificateEndsSoon: {Warning, 0},
	CertificateEnded:    {Critical, 0},
	CertificateNotTaken: {Warning, 0},
	ReloadFailed:        {Warning, 0},
}

// subject is what a condition is about. There is one advisory at a time of a code and a subject.
type subject struct {
	code          AdvisoryCode
	rangeID, lane uuid.UUID // uuid.Nil: the gateway, or the range
	kind          string    // of the actor; empty: of none
	webhook       string
	address       string // http, operations, controllers or nodes: of a certificate
	others        bool   // all beyond those that have an advisory of their own
}

// condition is something that is not as it should be at one moment.
type condition struct {
	subject
	rangeName, laneName string
	since               time.Time // zero: since it was seen first
	why                 lanes.Why // says the sentence, unless there is one
	sentence            string
	count               int // lanes, ranges or webhooks, of others
}

// Advisory is a condition that has lasted, from its begin to its end.
type Advisory struct {
	condition
	ID       uint64 // the sequence of its begin
	Sequence uint64 // of its newest change
	At       time.Time
	EndedAt  time.Time // zero: it is open
}

// text is the sentence of the condition, as it is at now.
func (c condition) text(now time.Time) string {
	switch {
	case c.others:
		return fmt.Sprintf("So %s: the observer shows each of them.", moreOf(c.kind, c.count))
	case c.sentence == "":
		return sentenceOf(c.why, now)
	}
	return c.sentence
}

// moreOf tells how many more it is about.
func moreOf(kind string, n int) string {
	switch kind {
	case "range":
		return number(n, "more range is", "more ranges are")
	case "events":
		return number(n, "more webhook is", "more webhooks are")
	}
	return number(n, "more lane is", "more lanes are")
}
