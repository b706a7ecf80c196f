// The page at the address of the API: the ranges that may be opened, by name, and the documents.
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { fillTexts, loadTexts } from "/screens/texts.js";

const AGAIN = 3_000; // ms after which the gateway is asked again
const TIMEOUT = 6_000; // ms; the gateway responds within 5 s

const byId = (id) => document.getElementById(id);
const t = await loadTexts("/start/assets/");
fillTexts(document, t);

async function load() {
  try {
    const response = await fetch("/", { headers: { Accept: "application/json" }, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT) });
    show(await response.json());
    setText(byId("trouble"), "");
  } catch {
    setText(byId("trouble"), t("unreachable"));
    setTimeout(load, AGAIN);
  }
}

function show({ ranges, complete, documents }) {
  const links = ranges.map(({ name, control_screen: path, range_id: id }) => link(path, name, ranges.some((other) => other.name === name && other.range_id !== id) && id.slice(0, 8)));
  if (!complete) {
    links.push(link("/control/", t("by_name")));
  }
  byId("ranges").replaceChildren(...links.map((of) => element("li", {}, of)));
  byId("ranges").hidden = links.length === 0;
  document.querySelector('[data-text="staff.explained"]').textContent = t(links.length === 0 ? "staff.none" : "staff.explained");
  byId("documents").replaceChildren(...documents.map(({ name, path }) =>
    element("li", {}, element("a", { href: path }, element("span", {}, t.has(`document.${name}`) ? t(`document.${name}`) : name), element("code", {}, path)))));
}

// link opens the sign-in of a range. Of two with the same name the beginning of the id tells them apart.
function link(path, name, id) {
  return element("a.button", { href: path }, element("span", {}, name, id ? element("small", {}, id) : null), icon("play"));
}

await load();
