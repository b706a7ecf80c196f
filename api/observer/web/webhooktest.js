// The form by which an operator has the gateway connect to a webhook of a range.
import { element } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";
import { LONGEST_NAME } from "./replay.js";
import { milliseconds } from "./times.js";
import { said } from "./why.js";

// webhookTest creates it. rangeOf() is the chosen range, token() the operator's.
export function webhookTest(t, rangeOf, token) {
  const webhook = element("input.input", { name: "tested", maxLength: LONGEST_NAME, autocomplete: "off", spellcheck: false });
  const form = element("form.controls", { "aria-label": t("webhook_test"), onsubmit: (event) => event.preventDefault() },
    element("label.field", {}, element("span", {}, t("webhook_test.webhook")), webhook));
  const path = () => `/observer/webhooks/test?${new URLSearchParams({ range: rangeOf(), ...(webhook.value.trim() && { webhook: webhook.value.trim() }) })}`;
  const test = actionButton(t, "test_webhook", path, token, {
    form,
    done: ({ reached, server, tls, duration_ms: took, error }) => {
      if (!reached) {
        return t("webhook_test.failed", { server, error: said(t, error), time: milliseconds(t, took) });
      }
      return t(tls === null ? "webhook_test.plain" : "webhook_test.reached", { server, tls, time: milliseconds(t, took) });
    },
  });
  const section = element("section", { hidden: true }, element("h2", {}, t("webhook_test")), element("p", {}, t("webhook_test.explained")), form, test);
  return Object.assign(section, { erase: test.erase });
}
