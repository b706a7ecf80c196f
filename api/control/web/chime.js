// Chimes, one for each kind of need, made by the browser itself: no sound file, no network. Browsers play nothing before the user
// has touched the page, and some nothing more once another app has used the sound or the device was locked: the chimes are blocked then, and
// onChange is called when that begins and ends.
import { remember, remembered } from "./client.js";

// QUIET are the kinds that chime only where staff have switched them on: a lane is to be cleared all evening.
const QUIET = ["clear"];
const REPEAT = 10_000; // ms between two rounds
// Notes of each kind: [Hz, seconds].
export const NOTES = {
  help: [[880, 0.16], [1175, 0.3]],
  hold: [[440, 0.14], [440, 0.14], [440, 0.28]],
  link: [[660, 0.16], [440, 0.3]],
  purchase: [[784, 0.12], [784, 0.3]],
  ran_on: [[523, 0.4]],
  clear: [[587, 0.14], [523, 0.2]],
  hit: [[988, 0.1], [740, 0.1], [988, 0.2]],
};
const LOUDEST = 0.5; // the gain at a volume of 100
const VOLUME = 50;
const PAUSE = 0.25; // seconds between two kinds

export class Chime {
  onChange = () => {};
  on = remembered("sound") !== "off";
  volume = Number(remembered("chime_volume") || VOLUME); // 0 to 100
  #context = null;
  #kinds = new Set(); // that are not acknowledged
  #repeat = 0; // the timer

  constructor() {
    for (const gesture of ["pointerup", "keydown"]) {
      document.addEventListener(gesture, () => this.#unlock(), { capture: true });
    }
    document.addEventListener("visibilitychange", () => this.#context && !document.hidden && this.#unlock());
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

  // chimes returns whether a kind of need chimes, while the chimes are on.
  chimes(kind) {
    return remembered(`chime_${kind}`) !== (QUIET.includes(kind) ? "" : "off");
  }

  // turnKind has a kind of need chime in this browser, or not. One that is switched on is heard once.
  turnKind(kind, on) {
    remember(`chime_${kind}`, on ? "on" : QUIET.includes(kind) ? "" : "off");
    on && this.#play([kind]);
  }

  // setVolume sets how loud the chimes are in this browser, from 0 to 100, and has one heard.
  setVolume(volume) {
    this.volume = volume;
    remember("chime_volume", String(volume));
    this.#play(["help"]);
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
    if (this.on) {
      this.#play(kinds.filter((kind) => this.chimes(kind)));
    }
  }

  #play(kinds) {
    if (this.isBlocked) {
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
    gain.gain.setValueAtTime(Math.max(LOUDEST * this.volume / 100, 0.001), at); // it fades from there, which needs more than 0
    gain.gain.exponentialRampToValueAtTime(0.001, at + seconds); // fades, so that it does not click
    oscillator.connect(gain).connect(this.#context.destination);
    oscillator.start(at);
    oscillator.stop(at + seconds);
  }

  async #unlock() {
    if (!this.isBlocked || !window.AudioContext) {
      return;
    }
    if (this.#context === null) {
      this.#context = new AudioContext();
      this.#context.addEventListener("statechange", () => this.#changed());
    }
    await this.#context.resume().catch(() => {}); // the browser wants another gesture
  }

  #changed() {
    this.onChange();
    this.isBlocked || this.#ring([...this.#kinds]);
  }
}
