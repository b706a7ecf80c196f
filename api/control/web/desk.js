// What every part of the screen works with: the texts, the range as it is told, and the requests that staff make of it.
import { send, sentence } from "/screens/send.js";

const API = "/control/api";
const UNHEARD = 500; // ms after which a ceasefire that was asked for and is not seen in force is an alarm

export class Desk {
  // signedOut is called when a request finds that the session has ended.
  constructor(t, range, signedOut) {
    this.t = t;
    this.range = range;
    this.signedOut = signedOut;
    this.lost = null; // since when the stream has told nothing, null while it does
    this.unsent = new Map(); // ceasefires that were asked for and refused, or not answered yet (refusal null), by scope and id
    this.unsaved = false; // a ceasefire is in force that the store does not have
    this.changed = () => {}; // called when one of the two above is another
    this.doubted = () => {}; // called when what the stream tells may be old: a request says otherwise
  }

  // forget is for a session that has ended.
  forget() {
    this.unsent.clear();
    this.unsaved = false;
  }

  // ask makes a request and answers its body. It throws a Refusal.
  async ask(method, path, body) {
    try {
      return await send(method, API + path, body);
    } catch (refusal) {
      if (refusal.code === "unauthorized") {
        this.signedOut();
      } else if (refusal.code === "unreachable" || refusal.code === "no_answer") {
        this.doubted();
      }
      throw refusal;
    }
  }

  sentence(refusal) {
    return sentence(this.t, refusal);
  }

  session(lane, what, body = {}) {
    return this.ask("POST", `/sessions/${lane.session.session_id}/${what}`, body);
  }

  lane(lane, what, body = {}) {
    return this.ask("POST", `/lanes/${lane.lane_id}/${what}`, body);
  }

  // ceasefire begins one over the range, a bay or a lane. What comes back says how far it has got; where the stream does not
  // tell of it, that is what is shown. A ceasefire that may not have been heard is an alarm of its own, and no answer for a
  // while is reason enough.
  async ceasefire(scope, id = null) {
    const key = `${scope} ${id ?? ""}`;
    const unheard = setTimeout(() => {
      this.unsent.set(key, { scope, id, refusal: null });
      this.changed();
    }, UNHEARD);
    try {
      const answer = await this.ask("PUT", "/holds", { scope, id, on: true });
      this.unsent.delete(key);
      this.unsaved = answer.saved === false;
      if (this.lost || !this.range.holdOver(scope, id)) {
        this.range.reached({ scope, id }, answer);
        this.doubted();
      }
    } catch (refusal) {
      this.unsent.set(key, { scope, id, refusal });
      throw refusal;
    } finally {
      clearTimeout(unheard);
      this.changed();
    }
  }

  // give up on a ceasefire that was not sent.
  withdraw({ scope, id }) {
    this.unsent.delete(`${scope} ${id ?? ""}`);
    this.changed();
  }

  async endHold({ scope, id }) {
    try {
      await this.ask("PUT", "/holds", { scope, id: id ?? null, on: false });
      this.unsaved = false;
    } catch (refusal) {
      if (refusal.code === "ceasefire") {
        refusal.code = "held_again"; // of a session, the code says something else
      }
      throw refusal;
    }
  }
}
