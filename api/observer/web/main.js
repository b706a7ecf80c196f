// The page of the actors: /actors for all ranges or one, and /actors/<lane>. It fetches its data as JSON from its own address,
// with the operations token, which it keeps for this tab only.
import { redraw } from "./draw.js";
import { lane, overview } from "./views.js";

const TIMEOUT = 6_000; // ms; the gateway responds within 5 s

// Refused is the error of a failed request. status is 0 without a response.
class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

// fetchHealth returns the health at the path. It throws only a Refused.
async function fetchHealth(path, token) {
  let response;
  try {
    response = await fetch(path, {
      headers: { Accept: "application/json", Authorization: `Bearer ${token}` }, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT),
    });
    if (response.ok) {
      return await response.json();
    }
  } catch (failure) {
    throw new Refused(0, failure.name === "TimeoutError" ? "it did not answer in time" : "it cannot be reached");
  }
  throw new Refused(response.status, `it answers ${response.status}`);
}

const INTERVAL = 3_000; // ms
const TOKEN_KEY = "rangegate operations token";

const byId = (id) => document.getElementById(id);
const onLane = /^\/actors\/./.test(location.pathname);

let token = sessionStorage.getItem(TOKEN_KEY) ?? "";
let timer = 0;
let drawn = "";

// poll fetches and shows the health, and repeats that while the page is visible.
async function poll() {
  clearTimeout(timer);
  const used = token;
  try {
    const health = await fetchHealth(location.pathname + location.search, used);
    if (token !== used) { // the token was forgotten meanwhile
      return;
    }
    sessionStorage.setItem(TOKEN_KEY, token);
    show(health);
  } catch (refused) {
    if (!(refused instanceof Refused)) {
      throw refused;
    }
    if (token !== used) {
      return;
    }
    if (refused.status === 401) {
      forget(token === "" ? "" : "That is not the operations token.");
      return;
    }
    byId("contact").textContent = refused.status === 404 ? "There is nothing at this address." : `No contact with the gateway: ${refused.message}. What is shown may be old.`;
    byId("contact").hidden = false;
    byId("shown").hidden = false;
    byId("token").hidden = true;
  }
  timer = setTimeout(() => document.hidden || poll(), INTERVAL);
}

function show(health) {
  byId("token").hidden = true;
  byId("shown").hidden = false;
  byId("contact").hidden = true;
  byId("asked").textContent = `As of ${new Date(health.at).toLocaleTimeString()}`;
  byId("title").textContent = onLane ? `${health.name}, ${health.range}` : "Actors";
  document.title = `${byId("title").textContent} · rangegate`;
  const { at: _, ...rest } = health;
  const state = JSON.stringify(rest);
  if (state !== drawn) {
    drawn = state;
    redraw(byId("main"), onLane ? lane(health) : overview(health, location.search));
  }
}

function forget(reason) {
  clearTimeout(timer);
  token = "";
  drawn = "";
  sessionStorage.removeItem(TOKEN_KEY);
  byId("main").replaceChildren();
  byId("title").textContent = "Actors";
  document.title = "Actors · rangegate";
  byId("shown").hidden = true;
  byId("token").hidden = false;
  byId("token-trouble").textContent = reason;
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
