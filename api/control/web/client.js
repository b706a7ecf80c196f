// What every part of the screen uses: the texts, the range, the requests of staff, and the settings that the browser keeps.
import { send, sentence } from "/screens/send.js";

const API = "/control/api";
const UNCONFIRMED = 500; // ms after which a requested ceasefire that is not in force becomes an alarm

export class Client {
  // signedOut is called when a request is refused because the session has ended.
  constructor(t, range, signedOut) {
    this.t = t;
    this.range = range;
    this.signedOut = signedOut;
    this.undo = null; // does what staff may take back: undo.js
    this.lost = null; // since when the stream is lost; null: it is not
    this.unsent = new Map(); // requested ceasefires that were refused, or have no response yet (refusal null), by scope and id
    this.unsaved = false; // a ceasefire is in force that is not saved
    this.onChange = () => {}; // called when one of the two above has changed
    this.refreshPurchases = () => {}; // has the list of unresolved purchases loaded
    this.onStale = () => {}; // called when the stream may be outdated
  }

  // forget clears the state of a session that has ended.
  forget() {
    this.unsent.clear();
    this.unsaved = false;
  }

  // request sends a request and returns the body of its response. It throws a Refusal.
  async request(method, path, body) {
    try {
      return await send(method, API + path, body);
    } catch (refusal) {
      if (refusal.code === "unauthorized") {
        this.signedOut();
      } else if (refusal.code === "unreachable" || refusal.code === "no_answer") {
        this.onStale();
      }
      throw refusal;
    }
  }

  sentence(refusal) {
    return sentence(this.t, refusal);
  }

  session(lane, command, body = {}) {
    return this.request("POST", `/sessions/${lane.session.session_id}/${command}`, body);
  }

  lane(lane, command, body = {}) {
    return this.request("POST", `/lanes/${lane.lane_id}/${command}`, body);
  }

  // ceasefire begins a ceasefire over the range, a bay or a lane. If the stream does not report it, the response's progress is
  // shown. A ceasefire without a response after UNCONFIRMED, or with a refusal, is an alarm of its own.
  async ceasefire(scope, id = null) {
    const key = `${scope} ${id ?? ""}`;
    const alarm = setTimeout(() => {
      this.unsent.set(key, { scope, id, refusal: null });
      this.onChange();
    }, UNCONFIRMED);
    try {
      const reply = await this.request("PUT", "/holds", { scope, id, on: true });
      this.unsent.delete(key);
      this.unsaved = reply.saved === false;
      if (this.lost || !this.range.findHold(scope, id)) {
        this.range.applyProgress({ scope, id }, reply);
        this.onStale();
      }
    } catch (refusal) {
      this.unsent.set(key, { scope, id, refusal });
      throw refusal;
    } finally {
      clearTimeout(alarm);
      this.onChange();
    }
  }

  // withdraw drops a ceasefire that was not sent.
  withdraw({ scope, id }) {
    this.unsent.delete(`${scope} ${id ?? ""}`);
    this.onChange();
  }

  async endHold({ scope, id }) {
    try {
      await this.request("PUT", "/holds", { scope, id: id ?? null, on: false });
      this.unsaved = false;
    } catch (refusal) {
      if (refusal.code === "ceasefire") {
        refusal.code = "held_again"; // for a session, the code has another text
      }
      throw refusal;
    }
  }
}

// remember keeps a setting in the browser, such as the range or the density of the board; never a credential.
export function remember(name, value) {
  try {
    localStorage.setItem(`rangegate.${name}`, value);
  } catch {
    // the browser keeps nothing: the user is asked again
  }
}

// remembered returns a kept setting, or "".
export function remembered(name) {
  try {
    return localStorage.getItem(`rangegate.${name}`) ?? "";
  } catch {
    return "";
  }
}
