// Which needs chime in this browser, and how loud.
import { element } from "/screens/element.js";
import { NOTES } from "./chime.js";

// chimeSettings is the part of the opened queue where staff set both.
export function chimeSettings(t, chime) {
  const volume = element("input", { type: "range", min: 0, max: 100, step: 10, value: chime.volume, onchange: () => chime.setVolume(Number(volume.value)) });
  const kinds = Object.keys(NOTES).map((kind) => {
    const on = element("input", { type: "checkbox", checked: chime.chimes(kind), onchange: () => chime.turnKind(kind, on.checked) });
    return element("label.check", {}, on, element("span", {}, t(`chime.${kind}`)));
  });
  return element("details.chimes", {}, element("summary.button.quiet", {}, t("chime.title")),
    element("div.chime-kinds", {}, element("label.check", {}, element("span", {}, t("chime.volume")), volume), ...kinds));
}
