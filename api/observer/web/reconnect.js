// The button that has the link of a lane made anew: the first click asks for confirmation, a second one within some seconds acts.
import { element, setText } from "/screens/element.js";
import { Refused, post } from "./gateway.js";

const ARMED = 5_000; // ms
const MIN_INTERVAL = 350; // ms; faster clicks are one double click

// reconnectButton creates it, with the place where its outcome stands. pathOf() is the address to ask, token() the operator's.
export function reconnectButton(t, pathOf, token) {
  const words = element("span", {}, t("reconnect"));
  const button = element("button.button", { type: "button" }, words);
  const outcome = element("p.outcome", { role: "status" });
  let armed = 0;
  let armedAt = 0;
  button.addEventListener("blur", disarm);
  button.addEventListener("click", async () => {
    if (!armed) {
      armedAt = performance.now();
      armed = setTimeout(disarm, ARMED);
      setText(words, t("reconnect.sure"));
      setText(outcome, "");
      return;
    }
    if (performance.now() - armedAt < MIN_INTERVAL) {
      return;
    }
    disarm();
    try {
      await post(pathOf(), token());
      setText(outcome, t("reconnect.asked", { time: t.seconds(new Date()) }));
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      setText(outcome, refused.status === 0 ? t("reconnect.unknown") : t("reconnect.refused", { status: refused.status }));
    }
  });
  return element("div.act", {}, button, outcome);

  function disarm() {
    clearTimeout(armed);
    armed = 0;
    setText(words, t("reconnect"));
  }
}
