// A text in a place that keeps its size: the longer the text, the smaller its type.
import { element, setText } from "/screens/element.js";

const SIZES = 5; // that the style sheet has, by data-fit; in the smallest the text can be scrolled

export class FittingText {
  constructor(kind) {
    this.element = element(kind);
    new ResizeObserver(() => this.#fit()).observe(this.element);
  }

  get text() {
    return this.element.textContent;
  }

  show(text) {
    if (text !== this.text) {
      setText(this.element, text);
      this.#fit();
    }
  }

  #fit() {
    const { element: of } = this;
    for (let size = 1; size <= SIZES; size++) {
      of.dataset.fit = String(size);
      if (of.scrollHeight <= of.clientHeight) {
        return;
      }
    }
  }
}
