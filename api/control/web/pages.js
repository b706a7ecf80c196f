// The pages of the screen, by the address behind #. Only the one that is shown fetches anything.

const FIRST = "board";

export class Pages {
  #pages;
  #left;
  #shown = null;
  #running = false;

  // left is called when another page is gone to.
  constructor(pages, left) {
    this.#pages = pages;
    this.#left = left;
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

  #go() {
    const asked = location.hash.slice(1);
    const name = asked in this.#pages ? asked : (this.#shown ?? FIRST);
    if (name === this.#shown) {
      return;
    }
    if (this.#shown) {
      this.#left();
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
