// The list of arrivals, newest first.
const maxArrivals = 500; // as many as the integrator keeps
const list = document.querySelector("#arrivals");
const empty = document.querySelector("#empty");
const count = document.querySelector("#count");
let newest = 0;
const accepted = new Map(); // the numbers of the arrivals that were accepted, by webhook-id
let changed = () => {};

// The numbers of the arrivals by which the webhook has the event.
export const arrivalsOf = (webhookId) => accepted.get(webhookId) ?? [];

export function onArrival(listener) {
  changed = listener;
}

function remember(arrival) {
  if (arrival.answer === "accept") {
    accepted.set(arrival.webhook_id, [...arrivalsOf(arrival.webhook_id), arrival.number]);
  }
}

const signatures = {
  right: "✓ Signature right",
  wrong: "✗ Signature wrong",
  missing: "✗ Signature missing",
  untimely: "✗ Timestamp too far off",
  unchecked: "– Signature not checked",
};

const answers = {
  accept: "✓ Accepted",
  refuse: "✗ Refused",
  hang: "… Not answered",
  error: "✗ Error",
  rejected: "⊘ Rejected",
};

export function showAll(arrived) {
  list.replaceChildren(...arrived.map(row).reverse());
  newest = arrived.at(-1)?.number ?? 0;
  accepted.clear();
  arrived.forEach(remember);
  updateCount();
  changed();
}

export function show(arrival) {
  const line = row(arrival);
  line.classList.add("new");
  list.prepend(line);
  while (list.children.length > maxArrivals) {
    list.lastElementChild.remove();
  }
  newest = arrival.number;
  remember(arrival);
  updateCount();
  changed();
}

function updateCount() {
  empty.hidden = newest > 0;
  count.textContent = newest > maxArrivals ? `the last ${maxArrivals} of ${newest}` : newest || "";
}

function row(a) {
  const line = element("li", "arrival");
  line.dataset.answer = a.answer;
  line.value = a.number;
  const head = element("div", "head");
  head.append(element("span", "number", String(a.number)), moment(a.at), element("b", "kind", a.event || "not an event"), answered(a));
  line.append(head);
  if (a.items.length > 0) {
    const items = element("ul", "items");
    items.append(...a.items.map(({ id, qty }) => element("li", "", id === "time" ? `${qty} minutes of time` : `${qty} × ${id}`)));
    line.append(items);
  }
  if (a.reason) {
    line.append(element("p", "reason", `Rejected: ${a.reason}.`));
  }
  if (a.again_of) {
    line.append(element("p", "again", a.known
      ? `↻ Sent again: the same webhook-id as ${a.again_of}, which was accepted. A POS does nothing twice.`
      : `↻ Sent again: the same webhook-id as ${a.again_of}, which was not accepted.`));
  }
  if (a.late) {
    line.append(element("p", "again", "⧖ Late: later events of this lane have gone before it (webhook-late)."));
  }
  const facts = element("p", "facts");
  const signature = element("span", "signature", signatures[a.signature] ?? a.signature);
  signature.dataset.signature = a.signature;
  facts.append(signature, fact("Lane", a.lane_id), fact("Session", a.session_id), element("code", "webhook-id", a.webhook_id || "no webhook-id"));
  line.append(facts);
  return line;
}

export function moment(at) {
  const when = new Date(at);
  const time = element("time", "", when.toLocaleTimeString([], { hour12: false, hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 }));
  time.dateTime = at;
  time.title = when.toLocaleString();
  return time;
}

function answered({ answer, status }) {
  const word = answers[answer] ?? answer;
  return element("span", "answered", status === 0 ? word : `${word} ${status}`);
}

// Shows the end of an id, as handmade ids begin alike.
export function fact(name, id) {
  const shown = element("span", "", `${name} `);
  const short = element("code", "", id ? `…${id.slice(-6)}` : "none");
  short.title = id;
  shown.append(short);
  return shown;
}

export function element(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}
