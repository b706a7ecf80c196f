// The section of the nodes that share a store, each with a button that drains it.
import { element } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";
import { erase, redraw, table } from "./draw.js";
import { Refused, fetchJSON } from "./gateway.js";

const NOT_FOUND = 404; // no nodes are configured

export class Nodes {
  #t;
  #token;
  #rangeOf;
  #drain;
  #give;
  #configured = true; // until the gateway says otherwise
  #list = element("div");

  // token() is the operator's, rangeOf() the chosen range, "" for all.
  constructor(t, token, rangeOf) {
    this.#t = t;
    this.#token = token;
    this.#rangeOf = rangeOf;
    this.#give = actionButton(t, "drain_range", () => `/observer/drain?range=${rangeOf()}`, token, { done: ({ node }) => t("drain_range.done", { node }) });
    this.#drain = element("div", { hidden: true }, element("p", {}, t("drain_range.explained")), this.#give);
    this.element = element("section", { hidden: true }, element("h2", {}, t("nodes")), element("p", {}, t("nodes.explained")), this.#list, this.#drain);
  }

  // refresh shows the nodes as they are now, where nodes are configured. What the gateway does not answer stays as it was.
  async refresh() {
    if (!this.#configured) {
      return;
    }
    const token = this.#token();
    try {
      const { nodes } = await fetchJSON("/nodes", token);
      if (this.#token() === token) {
        this.#show(nodes);
      }
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
      if (this.#token() === token) {
        this.#configured = refused.status !== NOT_FOUND;
      }
    }
  }

  clear() {
    this.#configured = true;
    this.element.hidden = true;
    this.erase();
    erase(this.#list);
  }

  // erase removes what came of giving a range away.
  erase() {
    this.#give.erase();
  }

  #show(nodes) {
    const t = this.#t;
    this.element.hidden = false;
    this.#drain.hidden = this.#rangeOf() === "";
    redraw(this.#list, nodes.map(({ name, version, here, ranges, draining, refusing }) => [name, version, here, ranges, draining, refusing]), () => [table(t("nodes"), [
      { title: t("nodes.name"), cell: ({ name, here }) => (here ? t("nodes.here", { name }) : name) },
      { title: t("nodes.version"), cell: ({ version }) => version },
      { title: t("ranges"), cell: ({ ranges }) => t.number(ranges), number: true },
      { title: t("ranges.state"), cell: ({ draining, refusing }) => (draining ? t("nodes.draining") : refusing || t("nodes.serves")) },
      { title: t("nodes.drain"), cell: ({ name, draining }) => (draining ? "" : actionButton(t, "drain", () => `/nodes/${encodeURIComponent(name)}/drain`, this.#token)) },
    ], nodes, t("none"))]);
  }
}
