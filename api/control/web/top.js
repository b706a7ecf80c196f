// The head of the screen: the range and how its lanes stand, who is signed in, what waits for staff, and contact.
import { setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";

const at = (id) => document.getElementById(id);

export class Top {
  #desk;

  constructor(desk, signOut) {
    this.#desk = desk;
    const { range } = desk;
    at("sign-out").addEventListener("click", async () => {
      try {
        await signOut();
      } catch (refusal) {
        setText(at("who"), desk.sentence(refusal));
      }
    });
    range.addEventListener("picture", () => {
      setText(at("range-name"), range.info.name);
      setText(at("who"), range.who);
    });
    range.addEventListener("lanes", () => this.#tally());
    range.addEventListener("unresolved", () => this.#count("count-purchases", range.unresolved));
  }

  // contact says since when nothing has come, until something comes again.
  contact(lost) {
    const { t } = this.#desk;
    this.#desk.lost = lost;
    at("contact").hidden = lost === null;
    document.body.toggleAttribute("data-lost", lost !== null);
    if (lost) {
      at("screen").hidden = false; // a gateway that has never answered is said as well
      at("contact").replaceChildren(icon("unlink"), t(this.#desk.range.info ? "contact.lost" : "contact.none", { time: t.seconds(lost) }));
    }
  }

  #tally() {
    const { range, t } = this.#desk;
    const lanes = [...range.lanes.values()];
    const in_phase = (phase) => lanes.filter((lane) => lane.phase === phase).length;
    setText(at("tally"), ["free", "running", "paused", "waiting"]
      .map((phase) => [phase, in_phase(phase)]).filter(([, n]) => n > 0)
      .map(([phase, n]) => t(`tally.${phase}`, { n })).join(" · "));
    this.#count("count-ran-on", lanes.filter((lane) => lane.session?.ran_on_ms > 0).length);
  }

  #count(id, n) {
    at(id).hidden = n === 0;
    setText(at(id), String(n));
  }
}
