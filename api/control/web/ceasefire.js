// The ceasefire. It begins at one press and is shown on every page until it ends. While a lane that must be locked has not
// confirmed it, the largest text on the screen names the lane. One that the gateway has not confirmed is shown above all else, also on the
// sign-in page.
import { element, replaceKeepingFocus, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { isUnreached } from "/screens/recovery.js";
import { ErrorText, action, announce } from "./actions.js";
import { beginButton } from "./beginbutton.js";
import { FittingText } from "./fittingtext.js";
import { holdButton } from "./holdbutton.js";
import { nameList, notReached } from "./rules.js";
import { moved, settle } from "./settling.js";
import { setTitle } from "./title.js";

const QUIET = 1_200; // ms without a change before the state is announced: lanes confirm one by one

export class Ceasefire {
  #client;
  #alarm;
  #headline = new FittingText("p.headline");
  #progress = new FittingText("p.progress");
  #rows = element("ul.holds");
  #state; // of what is in force
  #unset;
  #begin;
  #drawn = ""; // what the rows show beside the holds
  #holds = []; // that the rows show
  #sinces = []; // of each of them
  #announced = "";
  #announcing = 0;

  // outside is the place on the sign-in page of what the gateway has not confirmed.
  constructor(client, alarm, begin, outside) {
    this.#client = client;
    this.#alarm = alarm;
    const { t, range } = client;
    this.#unset = new Unset(client, alarm, outside);
    this.#state = element("div.in-force", {}, element("div.what-is", {}, this.#headline.element, this.#progress.element), this.#rows);
    alarm.append(this.#state);
    this.#begin = beginButton(client, { words: t("ceasefire.begin"), kind: "ceasefire", label: t("ceasefire.begin_range"), scope: "range" }, new ErrorText());
    begin.append(this.#begin);
    client.onChange = () => this.show();
    range.addEventListener("holds", () => this.show());
    range.addEventListener("lanes", () => this.show());
  }

  show() {
    const { t, range } = this.#client;
    const missing = [...range.lanes.values()].filter(notReached);
    const ceasefires = range.holds.filter((hold) => hold.scope !== "lane");
    const unset = this.#client.ceasefires.unconfirmed;

    this.#unset.show(unset);
    this.#state.hidden = ceasefires.length + missing.length === 0;
    const calm = this.#state.hidden && (unset.length === 0 || range.info === null);
    const before = this.#alarm.hidden;
    this.#alarm.hidden &&= calm; // shown first and hidden last, so that the focus can move before
    document.body.toggleAttribute("data-ceasefire", ceasefires.length > 0);
    if (range.info) {
      setTitle({ ceasefire: ceasefires.length > 0 ? t("ceasefire.word") : "", range: range.info.name });
    }
    this.#begin.show(range.findHold("range") !== undefined);
    this.#headline.show(this.#headlineText(missing, ceasefires));
    this.#progress.show(this.#progressText(missing, ceasefires));
    this.#drawRows(ceasefires);
    this.#alarm.hidden = calm;
    if (before !== calm) {
      moved(); // what is below the alarm
    }
    this.#announceState(calm && unset.length === 0);
  }

  #headlineText(missing, ceasefires) {
    const { t } = this.#client;
    if (missing.length > 0) {
      const names = nameList(missing.map((lane) => lane.name), { one: t("lane.word"), many: t("lane.words") });
      return t("ceasefire.not_reached", { lanes: names });
    }
    return ceasefires.length > 0 ? t("ceasefire.all_locked", { what: ceasefires.map((hold) => this.#client.scopeName(hold)).join(", ") }) : "";
  }

  // progressText is the line below the headline.
  #progressText(missing, ceasefires) {
    const { t, range } = this.#client;
    const lines = [];
    for (const hold of ceasefires) { // each counts its own lanes
      const lanes = range.lanesUnder(hold);
      const locked = t(`ceasefire.confirmed_of_${lanes.length === 1 ? "one" : "many"}`, { n: lanes.filter((lane) => !notReached(lane)).length, all: lanes.length });
      lines.push(ceasefires.length > 1 ? t("ceasefire.confirmed_in", { what: this.#client.scopeName(hold), locked }) : locked);
    }
    if (missing.length > 0) {
      lines.push(t("ceasefire.not_reached_more"));
    }
    if (ceasefires.length > 0 && this.#client.ceasefires.unsaved) {
      lines.push(t("ceasefire.unsaved"));
    }
    return lines.join(" ");
  }

  // The rows are not redrawn while lanes confirm, nor when the gateway says since when a ceasefire is in force that this page has begun, so that
  // a button that is being held down is not replaced.
  #drawRows(ceasefires) {
    const others = String(this.#client.range.releasesRange);
    const isDrawn = (hold, i) => {
      const drawn = this.#holds[i];
      return drawn.scope === hold.scope && drawn.id === hold.id && (drawn.press === hold.press || drawn.unconfirmed === true);
    };
    const same = others === this.#drawn && ceasefires.length === this.#holds.length && ceasefires.every(isDrawn);
    this.#holds = ceasefires;
    if (same) {
      ceasefires.forEach((hold, i) => setText(this.#sinces[i], this.#since(hold)));
    } else {
      this.#drawn = others;
      this.#sinces = ceasefires.map((hold) => element("span", {}, this.#since(hold)));
      replaceKeepingFocus(this.#rows, ceasefires.map((hold, i) => this.#row(hold, this.#sinces[i])), this.#begin);
    }
  }

  #since({ since, who }) {
    const { t } = this.#client;
    return t("ceasefire.since", { time: t.seconds(since), who });
  }

  #row(hold, since) {
    const { t } = this.#client;
    const error = new ErrorText();
    const name = this.#client.scopeName(hold);
    const what = element("span.what", {}, icon("lock"), element("strong", {}, t("ceasefire.over", { what: name })), since);
    const row = hold.scope === "range" && !this.#client.range.releasesRange
      ? element("span.pressing", {}, what, element("span.officer", {}, t("ceasefire.officer")))
      : holdButton(this.#client, what, endTexts(t, "ceasefire", name), "danger", error, () => this.#client.endHold(hold));
    return element("li", {}, row, error.element);
  }

  #announceState(calm) {
    const sentence = calm ? "" : [this.#unset.text, this.#headline.text, this.#progress.text].filter(Boolean).join(". ");
    if (sentence === this.#announced) {
      return;
    }
    const ended = calm && this.#announced !== "";
    this.#announced = sentence;
    clearTimeout(this.#announcing);
    this.#announcing = setTimeout(() => announce(ended ? this.#client.t("ceasefire.ended") : sentence), QUIET);
  }
}

// Unset shows what was asked for and is not confirmed. Nothing in it moves while attempts come and go.
class Unset {
  #client;
  #alarm;
  #outside;
  #root = element("section.unset", { hidden: true });
  #headline = new FittingText("p.headline");
  #more = element("p.progress");
  #rows = element("ul.holds");
  #drawn = "";
  #sentences = new Map(); // by key

  constructor(client, alarm, outside) {
    this.#client = client;
    this.#alarm = alarm;
    this.#outside = outside;
    this.#root.append(this.#headline.element, this.#more, this.#rows);
    alarm.append(this.#root);
  }

  get text() {
    return this.#root.hidden ? "" : `${this.#headline.text}. ${this.#more.textContent}`;
  }

  show(unset) {
    const { t, range } = this.#client;
    const home = range.info ? this.#alarm : this.#outside;
    if (this.#root.parentElement !== home) {
      home.prepend(this.#root);
    }
    if (this.#root.hidden === unset.length > 0) {
      this.#root.hidden = !this.#root.hidden;
      moved();
    }
    document.body.toggleAttribute("data-unset", unset.length > 0);
    const isSure = unset.some(({ refusal, repeats }) => !repeats || (refusal && !isUnreached(refusal)));
    const what = unset.map((asked) => asked.what).join(", ");
    this.#headline.show(unset.length > 0 ? t(isSure ? "ceasefire.unset" : "ceasefire.unconfirmed", { what }) : "");
    setText(this.#more, t(unset.every(({ repeats }) => repeats) ? "ceasefire.repeats" : "ceasefire.not_kept"));
    this.#drawRows(unset);
    for (const asked of unset) {
      setText(this.#sentences.get(asked.key), [t("ceasefire.attempts", { n: asked.attempts }), asked.refusal ? this.#client.sentence(asked.refusal) : ""].join(" "));
    }
  }

  #drawRows(unset) {
    const drawn = unset.map(({ key }) => key).join();
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      this.#sentences = new Map(unset.map(({ key }) => [key, element("span")]));
      replaceKeepingFocus(this.#rows, unset.map((asked) => this.#row(asked)));
    }
  }

  #row(asked) {
    const { t } = this.#client;
    const error = { show() {} }; // the row has what came of the latest attempt
    const again = action(this.#client, { words: t("ceasefire.again"), sign: "lock", kind: "ceasefire" }, error, () => {
      settle();
      return this.#client.ceasefire(asked.scope, asked.id, asked.rangeID);
    });
    again.setAttribute("data-begins-ceasefire", "again");
    const what = element("span.what", {}, icon("alert"), element("strong", {}, asked.what), this.#sentences.get(asked.key));
    const texts = { words: t("ceasefire.dismiss"), holding: t("hold.holding"), hint: t("hold.hint"), or: t("hold.or"), now: t("ceasefire.dismiss_now") };
    const dismiss = holdButton(this.#client, what, texts, "danger", error, async () => this.#client.ceasefires.dismiss(asked));
    return element("li", {}, again, dismiss);
  }
}

// endTexts are the texts of a control that ends a ceasefire, or the hold of a lane, named `what`.
export function endTexts(t, kind, what) {
  return { words: t(`${kind}.end`, { what }), holding: t("hold.holding"), hint: t("hold.hint"), or: t("hold.or"), now: t(`${kind}.end_now`, { what }) };
}
