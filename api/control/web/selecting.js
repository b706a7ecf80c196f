// Which lanes are selected on the board, and the gestures that select them: a touch that is held, a click with Ctrl or Shift, and keys.
// While lanes are being selected a press on a lane selects it, or not. Nothing on the board moves.
import { setFlag } from "/screens/element.js";

const HELD = 450; // ms after which a touch selects
const SLIP = 10; // px that the finger may move meanwhile

export class Selecting extends EventTarget {
  isOn = false;
  #root;
  #allCards; // () => the cards of all lanes, in display order
  #selected = new Set(); // ids of lanes
  #anchor = null; // the lane at which a range begins
  #touch = 0; // the timer of a touch
  #wasHeld = false; // a touch has just selected: the click that comes of it does not count
  #touching = false;

  // root is the board, list the element with its cards, which cards() returns in display order. The list moves the focus by arrow keys already.
  constructor(root, list, cards) {
    super();
    this.#root = root;
    this.#allCards = cards;
    this.#addTouch(list);
    list.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault()); // would select text
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("keyup", (event) => event.key === " " && event.ctrlKey && event.preventDefault()); // which some browsers take for a click
  }

  // lanes are the selected ones, in display order.
  get lanes() {
    return this.isOn ? this.#chosenCards().map(({ lane }) => lane) : [];
  }

  // begin begins to select, with these lanes beside those that are selected already.
  begin(ids = []) {
    this.isOn = true;
    ids.forEach((id) => this.#selected.add(id));
    this.#anchor = ids.at(-1) ?? this.#anchor;
    this.refresh();
  }

  beginWithAll() {
    this.begin(this.#cards().map(({ lane }) => lane.lane_id));
  }

  end() {
    if (!this.isOn) {
      return;
    }
    this.isOn = false;
    this.#selected.clear();
    this.refresh();
    this.#anchor = null;
  }

  // press handles a press on a lane, and returns whether it was one that selects.
  press(id, event) {
    if (event.shiftKey && event.detail > 0) {
      this.begin(this.#idsTo(id));
    } else if (this.isOn || ((event.ctrlKey || event.metaKey) && event.detail > 0)) {
      this.#toggle(id);
    } else {
      return false;
    }
    return true;
  }

  // focus puts the focus on the lane that was selected last.
  focus() {
    const cards = this.#cards();
    (cards.find(({ lane }) => lane.lane_id === this.#anchor) ?? cards[0])?.focus();
  }

  // refresh follows the lanes that are shown: what is hidden is not selected.
  refresh() {
    const shown = new Set(this.#cards().map(({ lane }) => lane.lane_id));
    [...this.#selected].filter((id) => !shown.has(id)).forEach((id) => this.#selected.delete(id));
    setFlag(this.#root, "data-selecting", this.isOn);
    for (const card of this.#allCards()) {
      card.select(this.isOn ? this.#selected.has(card.lane.lane_id) : null);
    }
    this.dispatchEvent(new Event("change"));
  }

  // cards are those that are shown.
  #cards() {
    return this.#allCards().filter((card) => !card.element.hidden);
  }

  #chosenCards() {
    return this.#cards().filter(({ lane }) => this.#selected.has(lane.lane_id));
  }

  #toggle(id) {
    this.isOn = true;
    this.#selected.delete(id) || this.#selected.add(id);
    this.#anchor = id;
    this.refresh();
  }

  // idsTo returns the lanes from the anchor to this one, in display order; the anchor stays.
  #idsTo(id) {
    const ids = this.#cards().map(({ lane }) => lane.lane_id);
    const [from, to] = [ids.indexOf(this.#anchor ?? id), ids.indexOf(id)];
    const range = ids.slice(Math.min(from, to), Math.max(from, to) + 1);
    return from > to ? range : range.reverse(); // begin takes the last one as the anchor
  }

  #key(event) {
    const id = event.target.closest?.(".lane")?.dataset.lane;
    if (!id || !event.target.classList.contains("open")) {
      return;
    }
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.#toggle(id);
    } else if (event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.beginWithAll();
    } else if (event.shiftKey && event.key.startsWith("Arrow")) {
      this.begin([id, document.activeElement.closest(".lane").dataset.lane]);
    }
  }

  #addTouch(list) {
    const release = () => {
      clearTimeout(this.#touch);
      this.#touch = 0;
    };
    let at = { x: 0, y: 0 };
    list.addEventListener("pointerdown", (event) => {
      release();
      this.#wasHeld = false;
      this.#touching = event.pointerType !== "mouse";
      const id = event.target.closest(".open")?.closest(".lane").dataset.lane;
      if (this.#touching && event.isPrimary && id && !this.isOn) {
        at = { x: event.clientX, y: event.clientY };
        this.#touch = setTimeout(() => {
          this.#wasHeld = true;
          this.begin([id]);
        }, HELD);
      }
    });
    list.addEventListener("pointermove", (event) => this.#touch && Math.hypot(event.clientX - at.x, event.clientY - at.y) > SLIP && release());
    list.addEventListener("pointerup", release);
    list.addEventListener("pointercancel", release);
    list.addEventListener("contextmenu", (event) => this.#touching && event.target.closest(".open") && event.preventDefault());
    list.addEventListener("click", (event) => {
      if (this.#wasHeld && event.detail > 0) {
        this.#wasHeld = false;
        event.preventDefault();
        event.stopPropagation();
      }
    }, { capture: true });
  }
}
