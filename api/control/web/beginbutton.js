// The control that begins a ceasefire over the range, a bay or a lane, at one click. It keeps its place and its size: while the
// ceasefire is in force it says so and does nothing.
import { element, setFlag } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { perform } from "./actions.js";
import { settle } from "./settling.js";

// beginButton creates one: {words, label, kind (class), scope, id (of the bay or the lane)}. Its method show(inForce) shows
// whether that ceasefire is in force.
export function beginButton(client, { words, label, kind, scope, id = null }, error) {
  const { t } = client;
  let inForce = false;
  // Both texts lie in one place, which is as large as the larger one.
  const texts = element("span.either", {}, element("span", {}, words), element("span", {}, t("ceasefire.in_force")));
  const created = element(`button.button.${kind}`, { type: "button", "data-begins-ceasefire": "", onclick: begin }, icon("lock"), texts);
  created.show = (now) => {
    inForce = now;
    setFlag(created, "data-in-force", now);
    created.setAttribute("aria-label", now ? t("ceasefire.is_in_force", { what: label }) : label);
    disable();
  };
  created.show(false);
  return created;

  function disable() {
    if (inForce) {
      created.setAttribute("aria-disabled", "true");
    } else if (!created.hasAttribute("aria-busy")) {
      created.removeAttribute("aria-disabled");
    }
  }

  async function begin() {
    settle();
    if (!inForce) {
      await perform(client, created, error, () => client.ceasefire(scope, id));
      disable();
    }
  }
}
