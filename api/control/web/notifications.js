// Notifications of the device while the page is hidden. A hidden page keeps its connection for them, which only one page of a
// browser does: over HTTP/1.1 a browser has six connections, and a ceasefire needs a free one.
import { remember, remembered } from "./client.js";

const LOCK = "rangegate.notifications";

export class Notifications {
  #release = null; // gives the lock back

  constructor() {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#acquire() : this.#release?.()));
  }

  // isSupported is false where the browser has no notifications for a page: without TLS, and on some phones.
  get isSupported() {
    return "Notification" in window && "locks" in navigator;
  }

  get isDenied() {
    return this.isSupported && Notification.permission === "denied";
  }

  get on() {
    return this.isSupported && Notification.permission === "granted" && remembered("notify") === "on";
  }

  // turn turns them on or off, in this browser. It asks for the permission, so that it must be called at a click.
  async turn(on) {
    if (on && Notification.permission === "default") {
      await Notification.requestPermission();
    }
    remember("notify", on ? "on" : "off");
  }

  // keepsConnection is true while this hidden page is the one that notifies.
  get keepsConnection() {
    return this.#release !== null;
  }

  // show notifies of something if the page is hidden. tag replaces an earlier one of the same tag.
  show(title, body, tag, onclick) {
    if (!document.hidden || !this.keepsConnection) {
      return;
    }
    try {
      const notification = new Notification(title, { body, tag });
      notification.onclick = () => {
        window.focus();
        notification.close();
        onclick();
      };
    } catch {
      // this browser shows them for service workers only
    }
  }

  #acquire() {
    if (this.on && this.#release === null) {
      navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => lock && document.hidden && new Promise((resolve) => {
        this.#release = () => {
          this.#release = null;
          resolve();
        };
      }));
    }
  }
}
