// The pages of the screen, by the hash of the address. Only the shown page fetches data.
import { element } from "/screens/element.js";
import { isSmall } from "./smallscreen.js";

const FIRST = "board";
const SMALL_FIRST = "queue"; // on a small screen; elsewhere it is no page

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

  // open shows a page as if its tab had been clicked, at once. With leave false, what lies over the pages stays.
  open(name, leave = true) {
    if (this.#shown !== name) {
      history.pushState(null, "", `#${name}`);
      this.#go(leave);
    }
  }

  // check leaves a page that the screen, which has another size now, does not have.
  check() {
    this.#running && this.#go();
  }

  isShown(name) {
    return this.#shown === name;
  }

  #has(name) {
    return name in this.#pages && (name !== SMALL_FIRST || isSmall());
  }

  #go(leave = true) {
    const name = [location.hash.slice(1), this.#shown, isSmall() ? SMALL_FIRST : FIRST, FIRST].find((one) => this.#has(one));
    if (name === this.#shown) {
      return;
    }
    if (this.#shown) {
      leave && this.#onLeave();
      this.#pages[this.#shown].hide();
    }
    this.#shown = name;
    for (const page of Object.keys(this.#pages)) {
      document.getElementById(page).hidden = page !== name;
      for (const link of document.querySelectorAll(`nav a[href="#${page}"]`)) {
        page === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
      }
    }
    requestAnimationFrame(() => document.querySelector('.tabs [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" }));
    document.getElementById("main").scrollTop = 0;
    this.#pages[name].show();
  }
}

// pageHead is the head of a page: its title and its purpose.
export function pageHead(title, explained) {
  return element("header.page-head", {}, element("h2", {}, title), element("p", {}, explained));
}
