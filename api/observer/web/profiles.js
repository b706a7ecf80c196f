// The section by which an operator downloads profiles of the gateway's process, for go tool pprof.
import { element } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";
import { download } from "./save.js";

const SECONDS = 10; // of the CPU profile

// profiles creates it. token() is the operator's.
export function profiles(t, token) {
  const button = ([name, path]) => actionButton(t, name, () => `/debug/pprof/${path}`, token, {
    ask: (address) => download(address, token, `rangegate-${name}`),
    done: () => t("profiles.done"),
  });
  const buttons = [["cpu.pprof", `profile?seconds=${SECONDS}`], ["heap.pprof", "heap"], ["goroutines.txt", "goroutine?debug=1"]].map(button);
  const section = element("section", {}, element("h2", {}, t("profiles")), element("p", {}, t("profiles.explained", { n: SECONDS })), ...buttons);
  return Object.assign(section, {
    clear() {
      section.hidden = true;
      buttons.forEach((of) => of.erase());
    },
  });
}
