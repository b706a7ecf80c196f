// The attention queue, docked on every page: what needs staff, what nobody has answered first and of that the oldest, with the time
// that it has waited and the actions that settle it. The dock has a fixed height, and shows as many as fit; opened, it lies over the page and shows all of them.
import { formatTime, now, onTick } from "/screens/clock.js";
import { element, replaceKeepingFocus, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { ErrorText, action, announce, button } from "./actions.js";
import { Chime } from "./chime.js";
import { chimeSettings } from "./chimesettings.js";
import { makeUpButtons, minutesToGive } from "./makeup.js";
import { SIGNS, needsOf } from "./needs.js";
import { Poller } from "./poller.js";
import { purchaseDetails, settleButtons } from "./purchases.js";
import { creditedOn } from "./rules.js";
import { nameList } from "./rules.js";
import { ignoreWhenMoved } from "./settling.js";
import { setTitle } from "./title.js";

const WIDTH = 300; // px of a need in the dock

export class Attention {
  onCount = () => {}; // called with how much needs staff
  #client;
  #root;
  #fillsPage = false;
  #notifications;
  #onOpen;
  #chime = new Chime();
  #poller;
  #loads = 0; // requests for purchases: only the newest counts
  #needs = [];
  #items = new Map(); // by key: Item
  #firstSeen = new Map(); // key → ms of the gateway's wall clock
  #seen = new Set(); // keys that were acknowledged at this screen
  #known = false; // something was shown before
  #ignorePresses; // a need that is gone moves the others: a press that was meant for it must not settle one of them
  #toggle;
  #count = element("span");
  #nobody = element("p.empty"); // on a page of its own
  #number = element("strong");
  #drawer;
  #notify;
  #sound;
  #list = element("ol.needs", { id: "needs" });

  // onOpen is called with the id of a lane that is to be shown.
  constructor(client, root, notifications, onOpen) {
    this.#client = client;
    this.#root = root;
    this.#notifications = notifications;
    this.#onOpen = onOpen;
    const { t, range } = client;
    this.#toggle = element("button.button.need-count", { type: "button", "aria-expanded": "false", "aria-controls": "needs", onclick: () => this.#open(!this.#isOpen) },
      icon("bell"), this.#number, this.#count);
    this.#notify = element("input", { type: "checkbox", onchange: () => this.#turnNotifications() });
    this.#sound = element("button.button.quiet.sound", { type: "button", onclick: () => {
      this.#chime.turn(!this.#chime.on);
      this.#showSound();
    } });
    this.#drawer = element("div.drawer", {},
      element("div.drawer-head", {}, element("label.check", { hidden: !notifications.isSupported }, this.#notify, element("span", {}, t("attention.notify"))), chimeSettings(t, this.#chime)), this.#list);
    this.#drawer.append(this.#nobody);
    root.append(this.#toggle, this.#drawer, this.#sound);
    this.#chime.onChange = () => this.#showSound();
    this.#showSound();
    this.#showNotify();

    this.#poller = new Poller(() => this.#loadPurchases());
    range.addEventListener("lanes", () => this.#show());
    range.addEventListener("holds", () => this.#show());
    range.addEventListener("unresolved", () => this.#followPurchases());
    range.addEventListener("purchases", () => this.#show());
    client.refreshPurchases = () => this.#poller.refreshSoon();
    onTick((at) => this.#tick(at));
    this.#ignorePresses = ignoreWhenMoved(this.#list);
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.#isOpen && this.#open(false));
    new ResizeObserver(() => this.#fit()).observe(root);
  }

  // forget empties the queue when the session has ended.
  forget() {
    this.#poller.stop();
    [this.#needs, this.#known] = [[], false];
    this.#firstSeen.clear();
    this.#seen.clear();
    this.#draw();
    this.#open(false);
  }

  get #isOpen() {
    return this.#root.hasAttribute("data-open");
  }

  get element() {
    return this.#root;
  }

  // fillPage has the queue fill a page, and be open there all the time; or be a dock again.
  fillPage(fills) {
    this.#fillsPage = fills;
    setFlag(this.#root, "data-page", fills);
    this.#open(fills);
    this.#draw();
  }

  #open(open) {
    open ||= this.#fillsPage;
    setFlag(this.#root, "data-open", open);
    this.#toggle.setAttribute("aria-expanded", String(open));
    this.#fit();
  }

  async #followPurchases() {
    if (this.#client.range.unresolved > 0) {
      await this.#poller.start(); // again and again: one may be settled while another comes
    } else {
      this.#poller.stop();
      this.#client.range.setPurchases([]);
    }
  }

  async #loadPurchases() {
    const { range } = this.#client;
    const load = ++this.#loads;
    try {
      const purchases = await this.#client.request("GET", "/purchases");
      load === this.#loads && range.unresolved > 0 && range.setPurchases(purchases); // else they were settled meanwhile, or are asked for again
    } catch {
      // the screen says that it has no contact, and it is tried again
    }
  }

  #show() {
    const { range } = this.#client;
    if (!range.info) {
      return;
    }
    const clock = range.wallClock(now());
    this.#needs = needsOf(range, range.purchases, (key) => {
      this.#firstSeen.has(key) || this.#firstSeen.set(key, clock);
      return this.#firstSeen.get(key);
    });
    const keys = new Set(this.#needs.map(({ key }) => key));
    for (const kept of [this.#firstSeen, this.#seen]) {
      [...kept.keys()].filter((key) => !keys.has(key)).forEach((key) => kept.delete(key));
    }
    // Whoever nobody has answered yet comes before the others; lanes that are not locked come first, whoever has seen that.
    const isLast = (need) => need.kind !== "hold" && this.#isQuiet(need);
    this.#needs = [...this.#needs.filter((need) => !isLast(need)), ...this.#needs.filter(isLast)];
    this.#draw();
  }

  #isQuiet({ key, coming }) {
    return coming || this.#seen.has(key);
  }

  #draw() {
    const { t } = this.#client;
    const added = this.#needs.filter(({ key }) => !this.#items.has(key));
    const keys = new Set(this.#needs.map(({ key }) => key));
    const focused = this.#list.contains(document.activeElement);
    let changed = false;
    for (const [key, item] of this.#items) {
      if (!keys.has(key)) {
        item.element.remove();
        this.#items.delete(key);
        this.#ignorePresses();
        changed = true;
      }
    }
    this.#needs.forEach((need, i) => {
      const item = this.#items.get(need.key) ?? new Item(this.#client, {
        open: (laneID) => {
          this.#open(false);
          this.#onOpen(laneID);
        },
        seen: () => {
          this.#seen.add(need.key);
          this.#show();
        },
        failed: () => this.#open(true),
        settled: () => this.#poller.refreshSoon(),
      });
      this.#items.set(need.key, item);
      item.show(need, this.#seen.has(need.key));
      if (this.#list.children[i] !== item.element) {
        i < this.#list.children.length && this.#ignorePresses();
        changed = true;
        this.#list.insertBefore(item.element, this.#list.children[i] ?? null);
      }
    });
    const n = this.#needs.length;
    setText(this.#number, n > 0 ? String(n) : "");
    const none = n > 0 ? "" : t("attention.none");
    setText(this.#count, this.#fillsPage ? "" : none || t("attention.count", { n }));
    setText(this.#nobody, this.#fillsPage ? none : "");
    setFlag(this.#root, "data-any", n > 0);
    setTitle({ needs: n });
    this.onCount(n);
    if (focused && !this.#list.contains(document.activeElement)) {
      (this.#list.querySelector("li:not([hidden]) button") ?? this.#toggle).focus();
    }
    if (changed) {
      this.#fit(); // which has the browser do its layout
    }
    this.#tick(now());
    this.#tell(added);
    this.#known ||= this.#client.range.info !== null;
  }

  // tell chimes, notifies, and announces what is new to screen readers. What was there when the page was opened only chimes.
  #tell(added) {
    const loud = this.#needs.filter((need) => !this.#isQuiet(need));
    const before = new Set(loud.filter((need) => !added.includes(need)).map(({ kind }) => kind));
    this.#chime.show([...new Set(loud.map(({ kind }) => kind))]);
    const fresh = added.filter((need) => loud.includes(need));
    for (const kind of new Set(fresh.map((need) => need.kind).filter((kind) => before.has(kind)))) {
      this.#chime.again(kind);
    }
    if (!this.#known) {
      return;
    }
    for (const need of fresh) {
      const { lane, what, customer } = this.#items.get(need.key).words;
      this.#notifications.show(lane, [what, customer].filter(Boolean).join(" · "), need.key, () => need.lanes[0] && this.#onOpen(need.lanes[0].lane_id));
    }
    const spoken = fresh.filter(({ kind }) => kind !== "hold"); // which the alarm announces
    if (spoken.length > 0) {
      announce(spoken.map(({ key }) => this.#items.get(key).words).map(({ lane, what }) => `${lane}: ${what}`).join(". "));
    }
  }

  // fit hides what the dock has no room for, so that no hidden control gets the focus.
  #fit() {
    const open = this.#isOpen;
    const room = open ? Infinity : Math.max(1, Math.floor((this.#drawer.clientWidth + 8) / (WIDTH + 8)));
    [...this.#list.children].forEach((item, i) => (item.hidden = i >= room));
    this.#drawer.style.maxHeight = open && !this.#fillsPage ? `${document.getElementById("main").getBoundingClientRect().bottom - this.#root.getBoundingClientRect().bottom}px` : "";
  }

  #tick(at) {
    const clock = this.#client.range.wallClock(at);
    for (const item of this.#items.values()) {
      item.tick(clock);
    }
  }

  #showSound() {
    const { t } = this.#client;
    const state = !this.#chime.on ? "off" : this.#chime.isBlocked ? "blocked" : "on";
    this.#sound.replaceChildren(icon(state === "on" ? "sound" : "mute"));
    this.#sound.setAttribute("aria-label", t(`attention.sound_${state}`));
    this.#sound.title = t(`attention.sound_${state}`);
    this.#sound.dataset.state = state;
  }

  async #turnNotifications() {
    await this.#notifications.turn(this.#notify.checked);
    this.#showNotify();
  }

  #showNotify() {
    this.#notify.checked = this.#notifications.on;
    this.#notify.disabled = this.#notifications.isDenied;
  }
}

// Item is one need. It is built once; its actions are redrawn when they differ.
class Item {
  words = { lane: "", what: "", customer: "" };
  #client;
  #handlers;
  #need;
  #sign = element("span.sign");
  #lane = element("span.which");
  #what = element("span");
  #customer = element("span.customer");
  #waiting = element("span.waiting");
  #details = element("div.details");
  #actions = element("div.actions");
  #error;
  #drawn = "";
  #busy = false; // its lanes are being settled one after the other

  // handlers are {open(laneID), seen(), failed(), settled()}.
  constructor(client, handlers) {
    this.#client = client;
    this.#handlers = handlers;
    const error = new ErrorText();
    this.#error = {
      element: error.element,
      show(sentence) {
        error.show(sentence);
        sentence && handlers.failed(); // the dock has no room for it
      },
    };
    this.element = element("li.need", {}, this.#sign, element("div.about", {}, this.#lane, element("div.line", {}, this.#waiting, this.#what, this.#customer)), this.#actions,
      this.#details, this.#error.element);
  }

  show(need, seen) {
    this.#need = need;
    const { kind, lanes, coming, purchase } = need;
    const lane = lanes[0];
    setFlag(this.element, "data-quiet", coming || seen);
    const drawn = JSON.stringify([kind, coming, seen, lanes.map(({ name, session }) => [name, session?.ran_on_ms]), lane?.session?.session_id, lane?.session?.customer_name, lane?.link, purchase]);
    if (drawn === this.#drawn || this.#busy) {
      return;
    }
    this.#drawn = drawn;
    const { t } = this.#client;
    this.element.dataset.kind = kind;
    this.#sign.replaceChildren(icon(SIGNS[kind]));
    this.words = this.#wordsOf(need);
    const which = element("button.which", { type: "button", "aria-label": t("attention.show", { lane: this.words.lane }), onclick: () => this.#handlers.open(lane.lane_id) }, this.words.lane);
    replaceKeepingFocus(this.#lane, lane ? [which] : [this.words.lane]);
    setText(this.#what, this.words.what);
    setText(this.#customer, this.words.customer);
    this.#details.replaceChildren(...this.#detailsOf(need));
    replaceKeepingFocus(this.#actions, this.#actionsOf(need, seen));
  }

  tick(clock) {
    setText(this.#waiting, formatTime(Math.max(0, clock - this.#need.since)));
  }

  #wordsOf({ kind, lanes, coming, purchase }) {
    const { t } = this.#client;
    const lane = lanes[0];
    const name = lanes.length > 1 ? nameList(lanes.map((one) => one.name), { one: t("lane.word"), many: t("lane.words") }) : (lane?.name ?? "");
    if (kind === "ran_on" && lanes.length > 1) {
      const longest = Math.max(...lanes.map(({ session }) => session.ran_on_ms));
      return { lane: name.charAt(0).toUpperCase() + name.slice(1), what: t("need.ran_on_each", { time: formatTime(longest) }), customer: "" };
    }
    const over = purchase && !creditedOn(this.#client.range.lanes, purchase);
    const customer = over ? t("purchases.session_over") : kind === "hold" ? "" : (lane?.session?.customer_name ?? "");
    const what = kind === "help" && coming ? t("need.help_coming") : t(`need.${kind}`, { time: formatTime(lane?.session?.ran_on_ms ?? 0) });
    return { lane: name.charAt(0).toUpperCase() + name.slice(1), what, customer };
  }

  #detailsOf({ kind, lanes, purchase }) {
    const { t } = this.#client;
    const notes = (...sentences) => sentences.map((sentence) => element("p.note", {}, sentence));
    switch (kind) {
      case "purchase":
        return purchaseDetails(this.#client, purchase);
      case "ran_on":
        return notes(t("ran_on.explained"), ...(lanes.length > 1 ? [t("ran_on.rounded", { n: minutesToGive(lanes) })] : []));
      case "hold":
        return notes(t("ceasefire.not_reached_more"));
      default:
        return [];
    }
  }

  // progress shows how many of the lanes have an outcome; null: all of those that will have one.
  #progress(n, all) {
    this.#busy = n !== null;
    if (this.#busy) {
      setText(this.#what, this.#client.t("many.progress", { n, all }));
    } else {
      this.#drawn = "";
      this.show(this.#need, false);
    }
  }

  #actionsOf({ kind, lanes, coming, purchase }, seen) {
    const { t } = this.#client;
    const lane = lanes[0];
    const label = (words) => t("quick.on_lane", { words, lane: this.words.lane });
    const act = (words, look, perform) => action(this.#client, { words, label: label(words), kind: look }, this.#error, perform);
    const help = (done) => this.#client.answerHelp(lane, done);
    switch (kind) {
      case "help":
        return [...(coming ? [] : [act(t("need.on_my_way"), "primary", help(false))]), act(t("need.done"), coming ? "primary" : "", help(true))];
      case "clear":
        return [act(t("need.cleared"), "primary", this.#client.sayClear(lane))];
      case "hit":
        return [act(t("need.noted"), "primary", this.#client.noteHit(lane))];
      case "ran_on":
        return makeUpButtons(this.#client, lanes, this.#error, (n) => this.#progress(n, lanes.length));
      case "purchase":
        return settleButtons(this.#client, purchase, this.#error, label, () => this.#handlers.settled());
      default: // staff go there; the state itself says when it is settled
        return seen ? [] : [button({ words: t("need.seen"), label: label(t("need.seen")) }, () => this.#handlers.seen())];
    }
  }
}
