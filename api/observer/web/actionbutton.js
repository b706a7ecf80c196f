// The buttons of an operator's actions: the first click asks for confirmation, a second one within some seconds acts.
import { element, setText } from "/screens/element.js";
import { Refused, post } from "./gateway.js";

const ARMED = 5_000; // ms
const MIN_INTERVAL = 350; // ms; faster clicks are one double click

// actionButton creates the button of the action with that name, with the place where its outcome stands. pathOf() is the address to ask,
// token() the operator's. A form that must be filled in is given as {form, body, done}: body() is what is sent, and done(answer) the sentence
// about what came of it. method is POST if none is given; ask(path) is in place of it all. An answer that comes after its token was forgotten
// is not shown, and erase() removes the outcome.
export function actionButton(t, name, pathOf, token, { form, body, done, method, ask = (path) => post(path, token(), body?.(), method) } = {}) {
  const words = element("span", {}, t(`action.${name}`));
  const button = element("button.button", { type: "button" }, words);
  const outcome = element("p.outcome", { role: "status" });
  let armed = 0;
  let armedAt = 0;
  button.addEventListener("blur", disarm);
  button.addEventListener("click", async () => {
    if (form && !form.reportValidity()) {
      disarm();
      return;
    }
    if (!armed) {
      armedAt = performance.now();
      armed = setTimeout(disarm, ARMED);
      setText(words, t(`action.${name}.sure`));
      setText(outcome, "");
      return;
    }
    if (performance.now() - armedAt < MIN_INTERVAL) {
      return;
    }
    disarm();
    const used = token();
    try {
      const answer = await ask(pathOf());
      if (token() === used) {
        setText(outcome, done?.(answer) ?? t("action_asked", { time: t.seconds(new Date()) }));
      }
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      if (token() === used) {
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
