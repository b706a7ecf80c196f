// The page of the observer: /observer for all ranges or one, /observer/lanes/<lane>, and /observer/log. It gets its data with the operations token,
// which it keeps for this tab only.
import { setText } from "/screens/element.js";
import { fillTexts, loadTexts } from "/screens/texts.js";
import { Refused, fetchJSON } from "./gateway.js";
import { LanePage } from "./lanepage.js";
import { LOG_ADDRESS } from "./loglink.js";
import { LogPage } from "./logpage.js";
import { Overview } from "./overview.js";

const INTERVAL = 3_000; // ms
const TOKEN_KEY = "rangegate operations token";

const byId = (id) => document.getElementById(id);
const t = await loadTexts("/assets/");
fillTexts(document, t);

let token = sessionStorage.getItem(TOKEN_KEY) ?? "";
let timer = 0;
let rangesShown = false;
let answered = new Date(); // when the gateway last was reached

const handlers = {
  token: () => token,
  contact: (lost) => showContact("stream", lost === null ? "" : t("contact", { time: t.seconds(lost) })),
  refused: () => forget(token === "" ? "" : t("token.wrong")),
  rejected: () => showContact("stream", t("nothing_here")),
  rangeChanged: poll,
};

function pageOf(path) {
  if (/^\/observer\/lanes\/./.test(path)) {
    return new LanePage(t, byId("main"), handlers.token);
  }
  return path === LOG_ADDRESS ? new LogPage(t, byId("main"), handlers) : new Overview(t, byId("main"), handlers);
}
const page = pageOf(location.pathname);

// poll fetches and shows the health, and repeats that while the page is visible.
async function poll() {
  clearTimeout(timer);
  const [used, path] = [token, page.path];
  try {
    const health = await fetchJSON(path, used);
    if (token !== used || page.path !== path) { // it was forgotten meanwhile, or another range was chosen
      return;
    }
    sessionStorage.setItem(TOKEN_KEY, token);
    answered = new Date();
    showContact("poll", "");
    show(health);
    showRanges();
  } catch (refused) {
    if (!(refused instanceof Refused)) {
      throw refused;
    }
    if (token !== used || page.path !== path) {
      return;
    }
    if (refused.status === 401) {
      forget(token === "" ? "" : t("token.wrong"));
      return;
    }
    showContact("poll", sentenceOf(refused.status));
    reveal(true);
  }
  timer = setTimeout(() => document.hidden || poll(), INTERVAL);
}

function sentenceOf(status) {
  switch (status) {
    case 0:
      return t("contact", { time: t.seconds(answered) });
    case 404:
      return t("nothing_here");
    default:
      return t("contact.status", { status });
  }
}

// showRanges has the page offer a choice of ranges, once.
async function showRanges() {
  if (rangesShown) {
    return;
  }
  rangesShown = true;
  try {
    page.showRanges((await fetchJSON("/observer/actors?kind=range&limit=500", token)).actors);
  } catch (refused) {
    if (!(refused instanceof Refused)) {
      throw refused;
    }
    rangesShown = false; // with the next answer
  }
}

function show(health) {
  reveal(true);
  setText(byId("asked"), health.at ? t("as_of", { time: t.seconds(health.at) }) : "");
  setTitle(page.titleOf(health));
  page.show(health);
}

function setTitle(title) {
  setText(byId("title"), title);
  document.title = `${title} · rangegate`;
}

// reveal shows what the token opens, or the form for the token.
function reveal(opened) {
  byId("token").hidden = opened;
  byId("shown").hidden = !opened;
}

const troubles = new Map(); // by what has no contact: the sentence about it

// showContact says that what is shown may be old; an empty sentence: it is not.
function showContact(what, sentence) {
  troubles.set(what, sentence);
  const shown = [...troubles.values()].find(Boolean) ?? "";
  setText(byId("contact"), shown);
  byId("contact").hidden = shown === "";
}

function forget(reason) {
  clearTimeout(timer);
  token = "";
  rangesShown = false;
  sessionStorage.removeItem(TOKEN_KEY);
  page.clear();
  showContact("poll", "");
  showContact("stream", "");
  setTitle(t("title"));
  reveal(false);
  setText(byId("token-trouble"), reason);
  byId("token-form").elements.token.focus();
}

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = event.target.elements.token;
  token = input.value.trim();
  input.value = "";
  poll();
});
byId("forget").addEventListener("click", () => forget(""));
document.addEventListener("visibilitychange", () => document.hidden || token === "" || poll());

if (token === "") {
  forget("");
} else {
  poll();
}
