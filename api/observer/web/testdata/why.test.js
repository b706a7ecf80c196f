import assert from "node:assert/strict";
import { test } from "node:test";
import english from "./texts.en.js";
import german from "./texts.de.js";
import { said, whyOf } from "./why.js";

// textsOf is the function t of texts.js without a browser.
function textsOf(language, sentences) {
  const plural = new Intl.PluralRules(language);
  const t = (key, values = {}) =>
    (sentences[key] ?? sentences[`${key}.${plural.select(values.n ?? 0)}`] ?? sentences[`${key}.other`] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  t.has = (key) => key in sentences;
  return t;
}

const en = textsOf("en", english);
const de = textsOf("de", german);
const now = Date.parse("2026-11-29T10:00:14.000Z");
const since = "2026-11-29T10:00:00.000Z";
const later = "2026-11-29T10:00:18.500Z";
const error = "i/o timeout";

// Each code, as full as the gateway says it, in both languages.
const SENTENCES = [
  ["at_hand", { what: "create", since }, "It has been busy with the message “create” for 14 s, and takes nothing else meanwhile.",
    "Ist seit 14 s mit der Nachricht „create“ beschäftigt und nimmt nichts anderes an."],
  ["store_down", { attempts: 3, error, changes: 1, since }, "The store has taken nothing for 14 s: 1 change waits; 3 attempts have failed; the last error is “i/o timeout”.",
    "Der Speicher nimmt seit 14 s nichts an: 1 Änderung wartet; 3 Versuche sind gescheitert; der letzte Fehler ist „i/o timeout“."],
  ["not_running", { reason: "another gateway serves this range; nothing was changed" }, "It does not run: another gateway serves this range; nothing was changed.",
    "Läuft nicht: ein anderes Gateway bedient diesen Stand."],
  ["failing", { webhook: "pos", since, failures: 5, error: "timed out" }, "The webhook “pos” has taken nothing for 14 s: 5 attempts have failed; the last error is “timed out”.",
    "Der Webhook „pos“ nimmt seit 14 s nichts an: 5 Versuche sind gescheitert; der letzte Fehler ist „timed out“."],
  ["keys", { keys: 95000 }, "It keeps 95000 idempotency keys, and refuses requests with new ones at 100,000.",
    "Merkt sich 95000 Idempotenzschlüssel und weist ab 100.000 Anfragen mit neuen ab."],
  ["starting", { lanes: 2 }, "It is starting: 2 lanes are not loaded yet.", "Startet gerade: 2 Bahnen sind noch nicht geladen."],
  ["starting", { since }, "It has waited for its last saved state for 14 s.", "Wartet auf den zuletzt gespeicherten Zustand seit 14 s."],
  ["parked", { until: later, on: "create", panic: "nil map", times: 5, since },
    "It is parked after repeated panics, and its hardware is held: the next start is in 4 s; the message was “create”; the panic was “nil map”; 5 panics since the start.",
    "Nach wiederholten Abstürzen stillgelegt, die Hardware ist gesperrt: der nächste Start ist in 4 s; die Nachricht war „create“; die Ursache war „nil map“; 5 Abstürze seit dem Start."],
  ["saving", { what: "create", since, attempts: 1, error: "the store takes longer than a second" },
    "It has been saving “create” for 14 s: 1 attempt has failed; the last error is “the store takes longer than a second”.",
    "Speichert „create“ seit 14 s: 1 Versuch ist gescheitert; der letzte Fehler ist „der Speicher braucht länger als eine Sekunde“."],
  ["saving", { what: "create", since, attempts: 0 }, "It has been saving “create” for 14 s: the store has not answered yet.",
    "Speichert „create“ seit 14 s: der Speicher hat noch nicht geantwortet."],
  ["unsaved", { since, changes: 2, attempts: 4, error }, "2 changes have been in force and not saved for 14 s: 4 attempts have failed; the last error is “i/o timeout”.",
    "2 Änderungen sind seit 14 s in Kraft und nicht gespeichert: 4 Versuche sind gescheitert; der letzte Fehler ist „i/o timeout“."],
  ["moving", { since }, "It has been kept free for a session that moves here for 14 s.", "Wird seit 14 s für eine Sitzung freigehalten, die hierher umzieht."],
  ["together", { since }, "It has been part of one operation of several lanes for 14 s, and waits for the others.",
    "Nimmt seit 14 s an einem Vorgang mehrerer Bahnen teil und wartet auf die anderen."],
  ["backlog", { waiting: 3, what: "pause", since }, "3 requests have waited, the oldest “pause” for 14 s.", "3 Anfragen warten, die älteste „pause“ seit 14 s."],
  ["backlog", { waiting: 1, what: "pause", since }, "1 request “pause” has waited for 14 s.", "1 Anfrage „pause“ wartet seit 14 s."],
  ["hold", { since }, "Look at the lane, whose hardware has not confirmed for 14 s that its fire line is locked.",
    "Bitte nach der Bahn sehen, deren Hardware seit 14 s nicht bestätigt, dass die Feuerlinie gesperrt ist."],
  ["fault", { fault: "jam" }, "Its hardware reports a fault: “jam”.", "Die Hardware meldet eine Störung: „jam“."],
  ["contested", { refused: "10.0.0.9", linked: "10.0.0.5", since }, "A second controller dialled 14 s ago and was refused: connected is “10.0.0.5”; refused was “10.0.0.9”.",
    "Eine zweite Steuerung hat sich vor 14 s gemeldet und wurde abgewiesen: verbunden ist „10.0.0.5“; abgewiesen wurde „10.0.0.9“."],
  ["restarted", { times: 1, since, on: "create", panic: "nil map" },
    "It was started again 14 s ago after a panic: the message was “create”; the panic was “nil map”; 1 panic since the start.",
    "Wurde vor 14 s nach einem Absturz neu gestartet: die Nachricht war „create“; die Ursache war „nil map“; 1 Absturz seit dem Start."],
  ["dials", { address: "10.0.0.5:4001", retry_at: later, failures: 2, since, error: "refused" },
    "No connection to 10.0.0.5:4001 for 14 s: the next attempt is in 4 s; 2 attempts have failed; the last error is “refused”.",
    "Keine Verbindung zu 10.0.0.5:4001 seit 14 s: der nächste Versuch ist in 4 s; 2 Versuche sind gescheitert; der letzte Fehler ist „refused“."],
  ["dials", { retry_at: since, failures: 0 }, "No connection: the next attempt is now.", "Keine Verbindung: der nächste Versuch ist jetzt."],
  ["dialling", { address: "10.0.0.5:4001", failures: 1, since }, "No connection to 10.0.0.5:4001 for 14 s, it is being dialled: 1 attempt has failed.",
    "Keine Verbindung zu 10.0.0.5:4001 seit 14 s, sie wird gerade aufgebaut: 1 Versuch ist gescheitert."],
  ["awaits", { since }, "No connection for 14 s, its controller has to dial.", "Keine Verbindung seit 14 s, die Steuerung muss sich melden."],
  ["gone", { webhook: "pos" }, "The webhook “pos” has answered 410, so nothing is sent to it until the next reload.",
    "Der Webhook „pos“ hat mit 410 geantwortet, bis zum nächsten Neuladen wird ihm nichts gesendet."],
  ["purchases", { purchases: 1, since }, "1 purchase has waited for 14 s for staff to settle it.", "1 Kauf wartet seit 14 s darauf, dass das Personal ihn klärt."],
  ["purchases", { purchases: 2, since }, "2 purchases have waited for staff to settle them, the oldest for 14 s.",
    "2 Käufe warten darauf, dass das Personal sie klärt, der älteste seit 14 s."],
  ["behind", { webhook: "", waiting: 1, since }, "1 event for the webhook has waited for 14 s.", "1 Ereignis für den Webhook wartet seit 14 s."],
  ["behind", { webhook: "pos", waiting: 20, since }, "20 events for the webhook “pos” have waited, the oldest for 14 s.", "20 Ereignisse für den Webhook „pos“ warten, das älteste seit 14 s."],
  ["retrying", { webhook: "pos", retrying: 2, level_at: later }, "2 events that failed are sent again to the webhook “pos”: all are sent in 4 s at the earliest.",
    "2 fehlgeschlagene Ereignisse werden dem Webhook „pos“ nochmals gesendet: alle sind frühestens in 4 s gesendet."],
];

test("each reason is one sentence in each language, with how long it has lasted", () => {
  for (const [code, values, inEnglish, inGerman] of SENTENCES) {
    const why = { code, sentence: "?", values };
    assert.equal(whyOf(en, why, now), inEnglish);
    assert.equal(whyOf(de, why, now), inGerman);
  }
});

test("every reason that has a text is among them, so that none is in one language only", () => {
  const codes = Object.keys(english).filter((key) => key.startsWith("why.")).map((key) => key.split(".")[1]);
  const told = SENTENCES.map(([code]) => code);
  assert.deepEqual([...new Set(codes)].filter((code) => code !== "loading" && !told.includes(code)), []);
});

test("a reason of a newer gateway has the gateway's own sentence", () => {
  assert.equal(whyOf(de, { code: "tired", sentence: "It is tired.", values: {} }, now), "It is tired.");
  assert.equal(whyOf(en, { code: "starting", sentence: "" }, now), "It has waited for its last saved state.", "values that are absent");
});

test("a sentence of the gateway is translated as far as there is a text", () => {
  assert.equal(said(de, "its link is down"), "sie ist nicht verbunden");
  assert.equal(said(de, "its hardware reports: jam: 2"), "ihre Hardware meldet: jam: 2");
  assert.equal(said(de, "the disk is gone"), "the disk is gone");
  assert.equal(said(en, "its link is down"), "its link is down");
});
