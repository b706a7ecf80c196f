package observer

import (
	"fmt"
	"time"

	"rangegate/lanes"
)

// sentenceOf is the reason for people, in English. Times are told as what has gone by, or is to come, at now.
func sentenceOf(w lanes.Why, now time.Time) string {
	since, next := span(now.Sub(w.Since)), span(w.Next.Sub(now))
	switch w.Code {
	case lanes.WhyStoreDown:
		return fmt.Sprintf("The store has taken nothing for %s: %s. %s not saved, lanes keep their time and "+
			"take closings only.",
			since, attempts(w), number(w.Count, "change is", "changes are"))
	case lanes.WhyNotRunning:
		return "The range does not run: " + w.Error + "."
	case lanes.WhyParked:
		return fmt.Sprintf("It is parked and holds its hardware after %s, the last on %s: %s. It is tried again in %s.",
			number(w.Count, "panic", "panics"), w.What, w.Error, next)
	case lanes.WhyHold:
		return fmt.Sprintf("It has been under a hold for %s, and its hardware has not confirmed that its fire line "+
			"is locked: look at the lane.", since)
	case lanes.WhyAtHand:
		return fmt.Sprintf("It has been busy with %s for %s, and takes nothing else meanwhile.", w.What, since)
	case lanes.WhySaving:
		return fmt.Sprintf("It has been saving %s for %s: %s.", w.What, since, attempts(w))
	case lanes.WhyUnsaved:
		return fmt.Sprintf("%s in force and not saved for %s: %s.", number(w.Count, "change is", "changes are"),
			since, attempts(w))
	case lanes.WhyGone:
		return fmt.Sprintf("The webhook%s has answered 410 Gone: nothing is sent before the configuration is reloaded.",
			quoted(w.Other))
	case lanes.WhyFailing:
		return fmt.Sprintf("The webhook%s has taken nothing for %s, %s: %s.", quoted(w.Other), since,
			failed(w.Attempts), lastError(w))
	case lanes.WhyFault:
		return "Its hardware reports: " + w.Error + "."
	case lanes.WhyContested:
		return fmt.Sprintf("A second controller dialled %s ago from %s and was refused: the link is that to %s.", since,
			w.Other, w.Address)
	case lanes.WhyDials:
		return fmt.Sprintf("It dials%s again in %s, %s, not linked for %s: %s.",
			quoted(w.Address), next, failed(w.Attempts), since, lastError(w))
	case lanes.WhyDialling:
		return fmt.Sprintf("It is dialling%s, %s, not linked for %s: %s.", quoted(w.Address), failed(w.Attempts),
			since, lastError(w))
	case lanes.WhyAwaits:
		return fmt.Sprintf("It has waited for its controller to dial for %s: %s.", since, lastError(w))
	case lanes.WhyKeys:
		return fmt.Sprintf("It keeps %d idempotency keys: at 100000 requests with new keys are refused.", w.Count)
	case lanes.WhyPurchases:
		if w.Count == 1 {
			return fmt.Sprintf("1 purchase has waited for %s for staff to settle it.", since)
		}
		return fmt.Sprintf("%d purchases have waited for staff to settle them, the oldest for %s.", w.Count, since)
	case lanes.WhyBehind:
		return fmt.Sprintf("%s for the webhook%s, the oldest for %s.", number(w.Count, "event waits", "events wait"),
			quoted(w.Other), since)
	case lanes.WhyBacklog:
		return fmt.Sprintf("%s, the oldest (%s) for %s.", number(w.Count, "request waits", "requests wait"), w.What,
			since)
	case lanes.WhyStarting:
		if w.Count > 0 {
			return number(w.Count, "lane is", "lanes are") + " not loaded yet."
		}
		return fmt.Sprintf("It has waited for its last saved state for %s.", since)
	case lanes.WhyMoving:
		return fmt.Sprintf("It has been kept free for a session that moves here for %s.", since)
	case lanes.WhyTogether:
		return fmt.Sprintf("It has been part of an operation of several lanes for %s, and waits for the others.", since)
	case lanes.WhyRetrying:
		return fmt.Sprintf("%s for the webhook%s %s sent again later; it can be level in %s.",
			number(w.Count, "event", "events"), quoted(w.Other), isOrAre(w.Count), next)
	case lanes.WhyRestarted:
		return fmt.Sprintf("It was started again %s ago, after it had panicked on %s (%s since the start): %s.",
			since, w.What, number(w.Count, "panic", "panics"), w.Error)
	}
	return string(w.Code)
}

// attempts tells how the store has answered.
func attempts(w lanes.Why) string {
	switch {
	case w.Error == "":
		return "the store has not answered yet"
	case w.Attempts == 0:
		return w.Error
	}
	return fmt.Sprintf("%s failed, the last: %s", number(w.Attempts, "attempt", "attempts"), w.Error)
}

func lastError(w lanes.Why) string {
	if w.Error == "" {
		return "it has not answered yet"
	}
	return w.Error
}

func failed(attempts int) string {
	if attempts == 0 {
		return "for the first time"
	}
	return "failed " + number(attempts, "time", "times")
}

// quoted is a name in the middle of a sentence, with the space before it; nothing for one that is not known.
func quoted(name string) string {
	if name == "" {
		return ""
	}
	return " " + name
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// span is a time for people, to the second below an hour and to the minute above it.
func span(d time.Duration) string {
	s, m, h := int(d/time.Second)%60, int(d/time.Minute)%60, int(d/time.Hour)
	switch {
	case d < time.Second:
		return "less than a second"
	case d < time.Minute:
		return fmt.Sprintf("%d s", s)
	case d < time.Hour && s == 0:
		return fmt.Sprintf("%d min", m)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", m, s)
	case m == 0:
		return fmt.Sprintf("%d h", h)
	}
	return fmt.Sprintf("%d h %d min", h, m)
}
