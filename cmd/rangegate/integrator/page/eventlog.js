// The event log of the gateway as it was pulled, newest first, and whether the webhook has each event.
import { arrivalsOf, element, fact, moment, onArrival } from "./arrivals.js";

const maxPulled = 500; // as many as the integrator keeps
const section = document.querySelector("#log");
const list = document.querySelector("#pulled");
const pulling = document.querySelector("#pulling");
const problem = document.querySelector("#log-problem");

export function showPulling(state) {
  section.hidden = !state.follows;
  pulling.dataset.state = state.problem ? "lost" : "waiting";
  pulling.textContent = state.problem ? `trying again: ${state.problem}` : "waiting for the next event";
}

export function showAllPulled(events) {
  list.replaceChildren(...events.map(row).reverse());
}

export function showPulled(event) {
  const line = row(event);
  line.classList.add("new");
  list.prepend(line);
  while (list.children.length > maxPulled) {
    list.lastElementChild.remove();
  }
}

onArrival(() => [...list.children].forEach(showArrival));

function row(event) {
  const line = element("li", "logged");
  line.dataset.webhookId = event.webhook_id;
  line.value = event.cursor;
  const head = element("div", "head");
  head.append(element("span", "number", event.cursor), moment(event.at), element("b", "kind", event.event));
  const facts = element("p", "facts");
  facts.append(element("span", "delivery"), fact("Lane", event.lane_id), fact("Session", event.session_id));
  line.append(head, facts);
  if (event.event !== "purchaseRequest") { // a purchase is never sent again
    line.append(sendAgain(event));
  }
  showArrival(line);
  return line;
}

function showArrival(line) {
  const numbers = arrivalsOf(line.dataset.webhookId);
  const delivery = line.querySelector(".delivery");
  delivery.dataset.delivered = String(numbers.length > 0);
  delivery.textContent = numbers.length > 0 ? `✓ At the webhook: ${numbers.join(", ")}` : "– Not at the webhook";
}

function sendAgain(event) {
  const button = element("button", "again-button", "Send again");
  button.type = "button";
  button.setAttribute("aria-label", `Send again: ${event.event}, ${event.cursor}`);
  button.addEventListener("click", async () => {
    problem.hidden = true;
    button.disabled = true;
    try {
      const response = await fetch("redeliver", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ cursor: event.cursor }),
      });
      if (!response.ok) {
        throw new Error((await response.json()).error);
      }
    } catch (cause) {
      problem.textContent = `Event ${event.cursor} was not sent again: ${cause.message}.`;
      problem.hidden = false;
    }
    button.disabled = false;
  });
  return button;
}
