// The section of the advisories that are open, above the actors. Without any there is none.
import { element, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { erase, laneAddress, rangeAddress, redraw } from "./draw.js";
import { Refused, fetchJSON } from "./gateway.js";
import { moment, span } from "./times.js";

export class Advisories {
  #t;
  #token;
  #heading = element("div");
  #summary = element("p.count", { role: "status" });
  #list = element("div");

  constructor(t, token) {
    this.#t = t;
    this.#token = token;
    this.element = element("section.advisories", { hidden: true }, this.#heading, this.#summary, this.#list);
  }

  // refresh shows those that are open now, of the range or with "" of all. What cannot be had stays as it is: the page says that it has
  // no contact.
  async refresh(range) {
    const token = this.#token();
    try {
      const answer = await fetchJSON(`/advisories?open=true${range === "" ? "" : `&range=${range}`}`, token);
      if (this.#token() === token) {
        this.#show(answer);
      }
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
    }
  }

  clear() {
    this.element.hidden = true;
    setText(this.#summary, "");
    erase(this.#heading);
    erase(this.#list);
  }

  #show({ at, advisories }) {
    if (advisories.length === 0) {
      this.clear();
      return;
    }
    const t = this.#t;
    this.element.hidden = false;
    const critical = advisories.filter(({ severity }) => severity === "critical");
    redraw(this.#heading, t.language, () => [element("h2", {}, t("advisories"))]);
    setText(this.#summary, critical.length > 0 ? t("advisories.critical", { n: advisories.length, critical: t.number(critical.length) }) : t("advisories.open", { n: advisories.length }));
    const newestFirst = advisories.toReversed();
    const sorted = [...newestFirst.filter(({ severity }) => severity === "critical"), ...newestFirst.filter(({ severity }) => severity !== "critical")];
    redraw(this.#list, sorted, () => [element("ul", {}, ...sorted.map((advisory) => this.#row(advisory, Date.parse(at))))]);
  }

  #row(advisory, now) {
    const t = this.#t;
    const { severity, since } = advisory;
    return element(`li.${severity}`, {}, icon("alert"), element("span", {},
      element("strong", {}, t(`severity.${severity}`)), ` ${titleOf(t, advisory)} `, ...this.#subject(advisory),
      element("small", {}, t("since", { time: moment(t, since) }), now - Date.parse(since) > 3_600_000 ? ` (${span(t, now - Date.parse(since))})` : "")));
  }

  // subject is what the advisory is about, with a link to it if the page has one.
  #subject(advisory) {
    const { range_id, range_name, lane_id, lane_name, webhook, address, others } = advisory;
    const t = this.#t;
    const about = [];
    if (lane_id) {
      about.push(element("a", { href: laneAddress(advisory) }, lane_name));
    }
    if (range_id) {
      about.push(element("a", { href: rangeAddress(range_id) }, range_name || range_id));
    }
    for (const name of [webhook, address, others > 0 ? t("advisories.others", { n: others }) : ""].filter(Boolean)) {
      about.push(name);
    }
    return about.flatMap((part) => [part, " · "]);
  }
}

// titleOf says what is not as it should be. A code of a newer gateway has the gateway's own sentence.
const titleOf = (t, { code, sentence }) => (t.has(`advisory.${code}`) ? t(`advisory.${code}`) : sentence);
