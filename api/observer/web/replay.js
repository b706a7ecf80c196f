// The form by which an operator has a range's events sent to a webhook again.
import { element } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";

export const LONGEST_NAME = 64; // characters

// replayForm creates it. rangeOf() is the chosen range, token() the operator's.
export function replayForm(t, rangeOf, token) {
  const input = (name, limits) => element("input.input", { name, autocomplete: "off", spellcheck: false, ...limits });
  const cursor = (name) => input(name, { required: true, inputMode: "numeric", pattern: "[0-9]+", maxLength: 28 });
  const [webhook, after, until] = [input("webhook", { maxLength: LONGEST_NAME }), cursor("after"), cursor("until")];
  const field = (title, of) => element("label.field", {}, element("span", {}, title), of);
  const form = element("form.controls", { "aria-label": t("replay"), onsubmit: (event) => event.preventDefault() },
    field(t("replay.webhook"), webhook), field(t("replay.after"), after), field(t("replay.until"), until));
  const body = () => ({ ...(webhook.value.trim() && { webhook: webhook.value.trim() }), after: after.value, until: until.value });
  const send = actionButton(t, "redeliver", () => `/observer/redeliver?range=${rangeOf()}`, token, {
    form,
    body,
    done: ({ events, next }, sent) => {
      if (next !== null && JSON.stringify(body()) === JSON.stringify(sent)) { // nobody has typed another part meanwhile
        after.value = next;
      }
      return t(next === null ? "replay.done" : "replay.more", { n: t.number(events), next });
    },
  });
  const section = element("section", { hidden: true }, element("h2", {}, t("replay")), element("p", {}, t("replay.explained")), form, send);
  return Object.assign(section, { erase: send.erase });
}
