// The page of a shooter's own telephone: the time left of one session, wherever it moves, and a ceasefire.
import { formatTime, now as clock, onTick, timeLeft } from "/screens/clock.js";
import { element, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { markOf, warningOf } from "/screens/marks.js";
import { owedOf } from "/screens/openend.js";
import { Stream } from "/screens/stream.js";
import { loadTexts } from "/screens/texts.js";

const HOUR = 60 * 60_000;
const SIGNS = { waiting: "hourglass", paused: "pause", grace: "hourglass", beyond: "play", over: "check" };
const LOCKED = ["ceasefire", "barred"]; // the states of a ceasefire
const TIMELESS = ["loading", "grace", "over", "gone"];

const byId = (id) => document.getElementById(id);
const t = await loadTexts("/my/assets/");
document.documentElement.lang = t.language;

let shown = { lane: "", state: "loading", running: false, left_ms: 0 };
let sentAt = 0; // by now() of clock.js
let announced = "";

// show draws the state if it differs. tick shows the time left.
function show(next, at) {
  const changed = next.state !== shown.state || !byId("main").hasChildNodes();
  const first = shown.state === "loading";
  [shown, sentAt] = [next, at];
  document.title = [next.lane, t("title")].filter(Boolean).join(" · ");
  setText(byId("lane"), next.lane || t("title"));
  if (changed) {
    document.body.dataset.state = next.state;
    byId("main").replaceChildren(view(next.state));
    first || setText(byId(LOCKED.includes(next.state) ? "alarm" : "said"), t(`${next.state}.title`));
  }
  tick(clock());
}

function view(state) {
  const words = t(`${state}.title`);
  const title = LOCKED.includes(state)
    ? element("h2.title", {}, ...words.split(" ").flatMap((word) => [element("span", {}, word), " "])) // a line for each, if they need it
    : element("h2.title", {}, SIGNS[state] ? icon(SIGNS[state]) : null, words);
  const explained = element("p.explained", {}, t(`${state}.explained`));
  if (TIMELESS.includes(state)) {
    return element("section.quiet", {}, title, explained);
  }
  return element("section.time", {}, element("div.clock", {},
    state === "running" ? null : element("div.why", {}, title, explained),
    element("p.left", { role: "timer", "aria-live": "off", "aria-label": t(state === "beyond" ? "owed" : "left") }, element("span.face", {})),
    element("p.of", { "aria-hidden": "true" }, t(state === "beyond" ? "owed" : "left")),
    element("p.warning", { hidden: true }, icon("hourglass"), element("span", {}))));
}

function tick(now) {
  const face = document.querySelector(".face");
  const left = Math.max(0, timeLeft(shown.left_ms, shown.running, sentAt, now));
  const owed = owedOf(shown, shown.running, sentAt, now);
  const warning = face && shown.state !== "waiting" && owed === null ? markOf(shown, left) : undefined;
  setFlag(document.body, "data-soon", warning?.mark === "soon");
  setFlag(document.body, "data-last", warning?.mark === "last");
  if (!face) {
    return;
  }
  setText(face, owed === null ? formatTime(left) : `+${formatTime(owed)}`);
  setFlag(face.parentElement, "data-hours", Math.max(left, owed ?? 0) > HOUR - 1000);
  const text = shown.running && warning ? warningOf(t, warning, left) : "";
  const line = document.querySelector(".warning");
  line.hidden = text === "";
  setText(line.lastElementChild, text);
  if (text !== announced) {
    announced = text;
    setText(byId("alarm"), text);
  }
}

const stream = new Stream(`${location.pathname.replace(/\/$/, "")}/stream`, {
  message(name, data, at) {
    if (data.state === undefined) {
      return; // a beat
    }
    show({ ...data, lane: data.lane || shown.lane, state: data.state === "ended" ? "over" : data.state }, at);
    if (data.state === "ended") {
      stream.close();
    }
  },
  sentEarlier: (ms) => (sentAt -= ms),
  contact(lost) {
    byId("contact").hidden = lost === null;
    byId("contact").replaceChildren(...(lost === null ? [] : [icon("unlink"), t("contact", { time: t.time(lost) })]));
  },
  refused: () => show({ ...shown, state: "gone", running: false }, clock()),
});
show(shown, clock());
stream.open();
onTick(tick);
