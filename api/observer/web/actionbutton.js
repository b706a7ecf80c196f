// The buttons of an operator's actions: the first click asks for confirmation, a second one within some seconds acts.
import { element, setText } from "/screens/element.js";
import { Refused, post } from "./gateway.js";

const ARMED = 5_000; // ms
const MIN_INTERVAL = 350; // ms; faster clicks are one double click

// actionButton creates the button of the action with that name, with the place where its outcome stands. pathOf() is the address to ask,
// token() the operator's. A form that must be filled in is given as {form, body, done}: body() is what is sent, and done(answer, sent) the
// sentence about what came of it. method is POST if none is given; ask(path) is in place of it all. The action is that of the address at the first
// click: a second one does not act when the address has become another, and an answer is not shown then, nor when its token was forgotten.
// erase() removes the outcome and asks for confirmation no more.
export function actionButton(t, name, pathOf, token, { form, body, done, method, ask = (path, sent) => post(path, token(), sent, method) } = {}) {
  const words = element("span", {}, t(`action.${name}`));
  const button = element("button.button", { type: "button" }, words);
  const outcome = element("p.outcome", { role: "status" });
  let armed = 0;
  let armedAt = 0;
  let armedFor = ""; // the address
  button.addEventListener("blur", disarm);
  button.addEventListener("click", async () => {
    if (form && !form.reportValidity()) {
      disarm();
      return;
    }
    const path = pathOf();
    if (!armed) {
      [armedAt, armedFor] = [performance.now(), path];
      armed = setTimeout(disarm, ARMED);
      setText(words, t(`action.${name}.sure`));
      setText(outcome, "");
      return;
    }
    if (performance.now() - armedAt < MIN_INTERVAL) {
      return;
    }
    disarm();
    if (path !== armedFor) {
      return;
    }
    const [used, sent] = [token(), body?.()];
    const current = () => pathOf() === path && token() === used;
    try {
      const answer = await ask(path, sent);
      if (current()) {
        setText(outcome, done?.(answer, sent) ?? t("action_asked", { time: t.seconds(new Date()) }));
      }
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      if (current()) {
        setText(outcome, refusal(refused));
      }
    }
  });
  return Object.assign(element("div.act", {}, button, outcome), {
    erase() {
      disarm();
      setText(outcome, "");
    },
  });

  function disarm() {
    clearTimeout(armed);
    armed = 0;
    setText(words, t(`action.${name}`));
  }

  // refusal says why the gateway did not do it.
  function refusal({ status, code }) {
    if (status === 0) {
      return t("action_unknown");
    }
    return t.has(`refused.${code}`) ? t(`refused.${code}`) : t("action_refused", { status });
  }
}
