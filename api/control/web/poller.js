// Fetches the data of a page while it is shown: at once, regularly, and soon after a change.

const DELAY = 1_000; // ms from a change to the next fetch, at least
const INTERVAL = 5_000; // ms

export class Poller {
  #load;
  #timer = 0;
  #shown = false;
  #loading = false;

  // load fetches and shows the data; it must not throw.
  constructor(load) {
    this.#load = load;
    document.addEventListener("visibilitychange", () => document.hidden || this.refreshSoon());
  }

  start() {
    this.#shown = true;
    return this.#run();
  }

  stop() {
    this.#shown = false;
    clearTimeout(this.#timer);
  }

  // refreshSoon fetches after a change: at most once a second.
  refreshSoon() {
    if (this.#shown && !this.#loading) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#run(), DELAY);
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
      this.#timer = setTimeout(() => this.#run(), INTERVAL);
    }
  }
}
