// The page of the demo integrator shows the events of its stream. Texts of others are only ever set as text.
import { show, showAll } from "./arrivals.js";
import { showNext } from "./answers.js";
import { showAllPulled, showPulled, showPulling } from "./eventlog.js";
import "./products.js";

const connection = document.querySelector("#connection");
const unchecked = document.querySelector("#unchecked");

function showState(state, text) {
  connection.dataset.state = state;
  connection.textContent = text;
}

function connect() {
  const stream = new EventSource("stream");
  stream.addEventListener("all", ({ data }) => {
    const all = JSON.parse(data);
    unchecked.hidden = all.checks_signatures;
    showAll(all.arrived);
    showAllPulled(all.pulled);
    showPulling(all.pulling);
    showNext(all.next);
    showState("connected", "Connected");
  });
  stream.addEventListener("arrived", ({ data }) => show(JSON.parse(data)));
  stream.addEventListener("pulled", ({ data }) => showPulled(JSON.parse(data)));
  stream.addEventListener("pulling", ({ data }) => showPulling(JSON.parse(data)));
  stream.addEventListener("next", ({ data }) => showNext(JSON.parse(data)));
  stream.addEventListener("error", () => {
    showState("lost", "Not connected, trying again…");
    if (stream.readyState === EventSource.CLOSED) {
      setTimeout(connect, 3000); // the browser gives up when the answer is no stream
    }
  });
}

connect();
