// The wall board: every lane of a range, on a display that nobody touches. It never leaves its page unless it is sure that there is
// another one: what a browser shows instead of a page that cannot be had, it shows until somebody comes.
import { now, onTick } from "/screens/clock.js";
import { Hours } from "/screens/hours.js";
import { SILENCE, Stream } from "/screens/stream.js";
import { loadTexts } from "/screens/texts.js";
import { keepAwake } from "/screens/wakelock.js";
import { Head } from "./head.js";
import { shortNames } from "./rules.js";
import { loadAgain } from "./start.js";
import { Tiles } from "./tiles.js";

const REFUSED = 30_000; // ms until a board that was refused tries again
const RENEWAL = 60_000; // ms until it is tried again to load a newer page

const byId = (id) => document.getElementById(id);
const t = await loadTexts("/board/assets/");
document.documentElement.lang = t.language;
document.title = t("title");

const version = document.querySelector("meta[name=version]").content;
const board = { range: "", names: false, bays: [], holds: [], lanes: new Map(), hours: new Hours() };
const tiles = new Tiles(t, byId("tiles"));
const head = new Head(t, byId("head"), byId("full"), byId("alarm"));

let layout = "";
let heard = null; // when something last came, by now() and by the wall clock
let lost = null; // since when there is no contact
let refused = false;
let latest = version; // of the files, as the gateway says
let renewing = false;

// receive applies a message, sent at that instant of now().
function receive(name, data, sentAt) {
  if (name === "picture") {
    Object.assign(board, { range: data.range, names: data.names, bays: data.bays, lanes: new Map() });
    const names = shortNames(data.lanes.map((lane) => lane.name));
    data.lanes.forEach((lane, i) => board.lanes.set(lane.lane_id, { short: names[i] }));
    latest = data.version;
    renew();
  }
  for (const lane of data.lanes) {
    const before = board.lanes.get(lane.lane_id);
    if (before) {
      board.lanes.set(lane.lane_id, { ...lane, short: before.short, sentAt });
    }
  }
  board.holds = data.holds;
  if (name === "picture") {
    const shown = JSON.stringify([board.range, board.names, board.bays, data.lanes.map(({ lane_id: id, bay_id: bay, name }) => [id, bay, name])]);
    if (shown !== layout) {
      layout = shown;
      document.title = board.range;
      tiles.build(board);
    }
  }
}

function show(at) {
  if (refused) {
    head.notify(`${t("refused.title")}. ${t("refused.explained")}`);
    return;
  }
  const old = lost !== null || (heard !== null && at - heard.at > SILENCE); // the second at once after a sleep
  head.notify(old ? t("contact", { time: moment(lost ?? heard.wall) }) : board.lanes.size === 0 ? t("loading") : "");
  document.body.toggleAttribute("data-old", old);
  tiles.show(board, at, old);
  head.show(board, at);
}

// moment returns the time of day, with the date if that was another day.
function moment(when) {
  return when.toDateString() === new Date().toDateString() ? t.time(when) : t.moment(when);
}

const stream = new Stream(`${location.pathname.replace(/\/$/, "")}/stream`, {
  message(name, data, sentAt) {
    heard = { at: now(), wall: new Date() };
    refused = false;
    board.hours.receive(name, data, sentAt);
    if (data.lanes) {
      receive(name, data, sentAt);
    }
    show(now());
  },
  sentEarlier(ms) {
    board.hours.shiftSentAt(ms);
    for (const lane of board.lanes.values()) {
      lane.sentAt -= ms;
    }
  },
  contact(since) {
    lost = since;
    show(now());
  },
  // The key has changed. It may be a mistake that is put right, or a proxy's answer.
  refused() {
    refused = true;
    Object.assign(board, { range: "", bays: [], holds: [], lanes: new Map(), hours: new Hours() });
    layout = "";
    tiles.build(board);
    head.show(board, now());
    show(now());
    setTimeout(() => stream.open(), REFUSED);
  },
});

// renew loads the page again if the gateway has other files than this page, as soon as the page that it serves is the one of these files.
async function renew() {
  if (latest === version || renewing) {
    return;
  }
  renewing = true;
  await loadAgain(latest);
  setTimeout(() => {
    renewing = false;
    renew();
  }, RENEWAL);
}

stream.open();
keepAwake();
onTick(show);
document.documentElement.toggleAttribute("data-begun", true);
