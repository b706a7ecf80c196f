// The page of the demo integrator: it shows what the stream says. Everything that came from outside is put in as text.
import { show, showAll } from "./arrivals.js";
import { showNext } from "./answers.js";
import "./shelf.js";

const connection = document.querySelector("#connection");
const unchecked = document.querySelector("#unchecked");

function say(state, text) {
  connection.dataset.state = state;
  connection.textContent = text;
}

function connect() {
  const stream = new EventSource("stream");
  stream.addEventListener("all", ({ data }) => {
    const all = JSON.parse(data);
    unchecked.hidden = all.checks_signatures;
    showAll(all.arrived);
    showNext(all.next);
    say("connected", "Connected");
  });
  stream.addEventListener("arrived", ({ data }) => show(JSON.parse(data)));
  stream.addEventListener("next", ({ data }) => showNext(JSON.parse(data)));
  stream.addEventListener("error", () => {
    say("lost", "Not connected, trying again…");
    if (stream.readyState === EventSource.CLOSED) {
      setTimeout(connect, 3000); // the browser gives up by itself when it was answered something else than a stream
    }
  });
}

connect();
