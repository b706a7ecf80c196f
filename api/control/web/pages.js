// The pages of the screen, by the hash of the address. Only the shown page fetches data.
import { element } from "/screens/element.js";

const FIRST = "board";

export class Pages {
  #pages;
  #onLeave;
  #shown = null;
  #running = false;

  // onLeave is called when the user leaves a page.
  constructor(pages, onLeave) {
    this.#pages = pages;
    this.#onLeave = onLeave;
    window.addEventListener("hashchange", () => this.#running && this.#go());
  }

  start() {
    if (!this.#running) {
      this.#running = true;
      this.#go();
    }
  }

  stop() {
    this.#running = false;
    this.#pages[this.#shown]?.hide();
    this.#shown = null;
  }

  // open shows a page as if its tab had been clicked, at once.
  open(name) {
    if (this.#shown !== name) {
      history.pushState(null, "", `#${name}`);
      this.#go();
    }
  }

  #go() {
    const requested = location.hash.slice(1);
    const name = requested in this.#pages ? requested : (this.#shown ?? FIRST);
    if (name === this.#shown) {
      return;
    }
    if (this.#shown) {
      this.#onLeave();
      this.#pages[this.#shown].hide();
    }
    this.#shown = name;
    for (const page of Object.keys(this.#pages)) {
      document.getElementById(page).hidden = page !== name;
      const link = document.querySelector(`.tabs a[href="#${page}"]`);
      page === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    }
    requestAnimationFrame(() => document.querySelector('.tabs [aria-current="page"]').scrollIntoView({ block: "nearest", inline: "center" }));
    document.getElementById("main").scrollTop = 0;
    this.#pages[name].show();
  }
}

// pageHead is the head of a page: its title and its purpose.
export function pageHead(title, explained) {
  return element("header.page-head", {}, element("h2", {}, title), element("p", {}, explained));
}
