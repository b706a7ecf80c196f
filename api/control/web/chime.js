// Chimes, one for each kind of need, made by the browser itself: no sound file, no network. Browsers play nothing before the user
// has touched the page; until then the chimes are blocked, and onChange is called when that ends.
import { remember, remembered } from "./client.js";

const REPEAT = 10_000; // ms between two rounds
// Notes of each kind: [Hz, seconds].
const NOTES = {
  help: [[880, 0.16], [1175, 0.3]],
  hold: [[440, 0.14], [440, 0.14], [440, 0.28]],
  link: [[660, 0.16], [440, 0.3]],
  purchase: [[784, 0.12], [784, 0.3]],
  ran_on: [[523, 0.4]],
  clear: [[587, 0.14], [523, 0.2]],
  hit: [[988, 0.1], [740, 0.1], [988, 0.2]],
};
const VOLUME = 0.25;
const PAUSE = 0.25; // seconds between two kinds

export class Chime {
  onChange = () => {};
  on = remembered("sound") !== "off";
  #context = null;
  #kinds = new Set(); // that are not acknowledged
  #repeat = 0; // the timer

  constructor() {
    for (const gesture of ["pointerup", "keydown"]) {
      document.addEventListener(gesture, () => this.#unlock(), { capture: true });
    }
  }

  get isBlocked() {
    return this.#context?.state !== "running";
  }

  // turn turns the chimes on or off, in this browser.
  turn(on) {
    this.on = on;
    remember("sound", on ? "on" : "off");
    this.#ring([...this.#kinds]);
  }

  // show plays the kinds that are new at once, and all of them again and again until they are shown no more.
  show(kinds) {
    const added = kinds.filter((kind) => !this.#kinds.has(kind));
    this.#kinds = new Set(kinds);
    if (added.length > 0) {
      this.#ring(added);
    } else if (kinds.length === 0) {
      clearTimeout(this.#repeat);
    }
  }

  // again plays a kind of which one more has come.
  again(kind) {
    this.#ring([kind]);
  }

  #ring(kinds) {
    clearTimeout(this.#repeat);
    if (this.#kinds.size > 0) {
      this.#repeat = setTimeout(() => this.#ring([...this.#kinds]), REPEAT);
    }
    if (!this.on || this.isBlocked) {
      return;
    }
    let at = this.#context.currentTime + 0.05;
    for (const kind of kinds) {
      for (const [frequency, seconds] of NOTES[kind]) {
        this.#note(frequency, at, seconds);
        at += seconds;
      }
      at += PAUSE;
    }
  }

  #note(frequency, at, seconds) {
    const oscillator = new OscillatorNode(this.#context, { frequency, type: "triangle" });
    const gain = new GainNode(this.#context, { gain: 0 });
    gain.gain.setValueAtTime(VOLUME, at);
    gain.gain.exponentialRampToValueAtTime(0.001, at + seconds); // fades, so that it does not click
    oscillator.connect(gain).connect(this.#context.destination);
    oscillator.start(at);
    oscillator.stop(at + seconds);
  }

  async #unlock() {
    if (!this.isBlocked || !window.AudioContext) {
      return;
    }
    this.#context ??= new AudioContext();
    await this.#context.resume().catch(() => {}); // the browser wants another gesture
    if (!this.isBlocked) {
      this.onChange();
      this.#ring([...this.#kinds]);
    }
  }
}
