// How the actors are doing: the page for /actors, of all ranges or one, and for /actors/<lane>. What it shows it fetches from
// its own address, as JSON, with the operations token, which it keeps for this tab alone.
import { redraw } from "./draw.js";
import { fetchHealth, Refused } from "./fetch.js";
import { lane } from "./lane.js";
import { overview } from "./overview.js";

const OFTEN = 3_000;
const KEPT = "rangegate operations token";

const at = (id) => document.getElementById(id);
const onLane = /^\/actors\/./.test(location.pathname);

let token = sessionStorage.getItem(KEPT) ?? "";
let timer = 0;
let drawn = "";

// ask fetches and shows, and goes on doing so for as long as somebody looks.
async function ask() {
  clearTimeout(timer);
  const shown = token;
  try {
    const health = await fetchHealth(location.pathname + location.search, shown);
    if (token !== shown) { // it was forgotten meanwhile
      return;
    }
    sessionStorage.setItem(KEPT, token);
    show(health);
  } catch (refused) {
    if (!(refused instanceof Refused)) {
      throw refused;
    }
    if (token !== shown) {
      return;
    }
    if (refused.status === 401) {
      forget(token === "" ? "" : "That is not the operations token.");
      return;
    }
    at("contact").textContent = refused.status === 404 ? "There is nothing at this address." : `No contact with the gateway: ${refused.message}. What is shown may be old.`;
    at("contact").hidden = false;
    at("shown").hidden = false;
    at("token").hidden = true;
  }
  timer = setTimeout(() => document.hidden || ask(), OFTEN);
}

function show(health) {
  at("token").hidden = true;
  at("shown").hidden = false;
  at("contact").hidden = true;
  at("asked").textContent = `As of ${new Date(health.at).toLocaleTimeString()}`;
  at("title").textContent = onLane ? `${health.name}, ${health.range}` : "Actors";
  document.title = `${at("title").textContent} · rangegate`;
  const { at: _, ...rest } = health;
  const now = JSON.stringify(rest);
  if (now !== drawn) {
    drawn = now;
    redraw(at("main"), onLane ? lane(health) : overview(health, location.search));
  }
}

function forget(why) {
  clearTimeout(timer);
  token = "";
  drawn = "";
  sessionStorage.removeItem(KEPT);
  at("main").replaceChildren();
  at("title").textContent = "Actors";
  document.title = "Actors · rangegate";
  at("shown").hidden = true;
  at("token").hidden = false;
  at("token-trouble").textContent = why;
  at("token-form").elements.token.focus();
}

at("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = event.target.elements.token;
  token = input.value.trim();
  input.value = "";
  ask();
});
at("forget").addEventListener("click", () => forget(""));
document.addEventListener("visibilitychange", () => document.hidden || token === "" || ask());

if (token === "") {
  forget("");
} else {
  ask();
}
