// The section by which an operator downloads profiles of the gateway's process, for go tool pprof.
import { element } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";
import { fetchFile } from "./gateway.js";
import { save } from "./save.js";

const SECONDS = 10; // of the CPU profile

// profiles creates it. token() is the operator's.
export function profiles(t, token) {
  const button = (name, path) => actionButton(t, name, () => `/debug/pprof/${path}`, token, {
    ask: async (address) => save(await fetchFile(address, token()), `rangegate-${name}`),
    done: () => t("profiles.done"),
  });
  return element("section", {}, element("h2", {}, t("profiles")), element("p", {}, t("profiles.explained", { n: SECONDS })),
    button("cpu.pprof", `profile?seconds=${SECONDS}`), button("heap.pprof", "heap"), button("goroutines.txt", "goroutine?debug=1"));
}
