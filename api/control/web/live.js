// What a page fetches, for as long as it is shown: at once, from time to time, and soon after something has happened.

const SOON = 1_000;
const OFTEN = 5_000;

export class Live {
  #load;
  #timer = 0;
  #shown = false;
  #loading = false;

  // load fetches and shows; it must not throw.
  constructor(load) {
    this.#load = load;
    document.addEventListener("visibilitychange", () => document.hidden || this.nudge());
  }

  start() {
    this.#shown = true;
    return this.#run();
  }

  stop() {
    this.#shown = false;
    clearTimeout(this.#timer);
  }

  // nudge says that there may be something new. However often that is said, it is fetched once a second at most.
  nudge() {
    if (this.#shown && !this.#loading) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#run(), SOON);
    }
  }

  async #run() {
    clearTimeout(this.#timer);
    if (!document.hidden) {
      this.#loading = true;
      await this.#load();
      this.#loading = false;
    }
    if (this.#shown) {
      this.#timer = setTimeout(() => this.#run(), OFTEN);
    }
  }
}
