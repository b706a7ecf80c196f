// The head of the screen: the range, its lanes by state, the user, and lost contact.
import { onTick } from "/screens/clock.js";
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { announce } from "./actions.js";
import { confirmButton } from "./confirmbutton.js";
import { stateOf } from "./rules.js";

const byId = (id) => document.getElementById(id);

export class Header {
  #client;
  #hours = element("strong.hours");
  #states = element("span");

  constructor(client, signOut) {
    this.#client = client;
    const { range } = client;
    const error = { show: (sentence) => setText(byId("who"), sentence || (range.who ?? "")) };
    byId("who").after(confirmButton(client, { words: client.t("sign_out"), kind: "quiet" }, client.t("sign_out.sure"), error, signOut));
    this.#addMenu();
    range.addEventListener("picture", () => {
      setText(byId("range-name"), range.info.name);
      setText(byId("who"), range.who);
      byId("who").title = range.who ?? "";
    });
    byId("tally").append(this.#hours, this.#states);
    range.addEventListener("lanes", () => this.#countStates());
    onTick((at) => this.#showHours(at));
  }

  // showHours shows that the range, or a bay or group of it, closes soon, or is closed, and announces it once.
  #showHours(at) {
    const { range, t } = this.#client;
    const parts = range.info ? range.hours.sentencesOfParts(t, at, ({ bay_id: bay, group_id: group }) => (bay ? range.bayOf({ bay_id: bay })?.name : range.groupName(group)) ?? "") : [];
    const sentence = [range.info ? range.hours.sentence(t, at) : "", ...parts].filter(Boolean).join(" · ");
    if (sentence !== this.#hours.textContent) {
      this.#hours.textContent = sentence;
      byId("tally").title = [sentence, this.#states.textContent].filter(Boolean).join(" · ");
      announce(sentence);
    }
  }

  // addMenu adds what a small screen has in a menu: the pages that are no views, and signing out.
  #addMenu() {
    const menu = byId("menu");
    const top = menu.parentElement;
    const open = (now) => {
      top.toggleAttribute("data-menu", now);
      menu.setAttribute("aria-expanded", String(now));
    };
    menu.append(icon("more"));
    menu.addEventListener("click", () => open(!top.hasAttribute("data-menu")));
    document.addEventListener("click", ({ target }) => (top.contains(target) && !target.closest("a") && byId("switch-user").hidden ? null : open(false)));
    top.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && top.hasAttribute("data-menu")) {
        open(false);
        menu.focus();
      }
    });
  }

  // contact shows since when contact is lost; null hides it.
  contact(lost) {
    const { t } = this.#client;
    this.#client.lost = lost;
    byId("contact").hidden = lost === null;
    document.body.toggleAttribute("data-lost", lost !== null);
    if (lost) {
      byId("screen").hidden = false; // also if the gateway has never responded
      byId("contact").replaceChildren(icon("unlink"), t(this.#client.range.info ? "contact.lost" : "contact.none", { time: t.seconds(lost) }));
    }
  }

  #countStates() {
    const { range, t } = this.#client;
    const lanes = [...range.lanes.values()];
    const inState = (state) => lanes.filter((lane) => stateOf(lane) === state).length;
    const words = ["free", "reserved", "running", "beyond", "grace", "paused", "waiting", "ended", "locked", "closed", "unusable"]
      .map((state) => [state, inState(state)]).filter(([, n]) => n > 0)
      .map(([state, n]) => t(`tally.${state}`, { n })).join(" · ");
    setText(this.#states, words);
    byId("tally").title = [this.#hours.textContent, words].filter(Boolean).join(" · "); // it gives way where there is little room
  }
}
