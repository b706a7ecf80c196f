// What every part of the screen uses: the texts, the range, the requests of staff, and the settings that the browser keeps.
import { send, sentence } from "/screens/send.js";
import { CeasefireRequests } from "./ceasefirerequests.js";

const API = "/control/api";

export class Client {
  // signedOut is called when a request is refused because the session has ended, unless the next user has signed in since it was sent.
  constructor(t, range, signedOut) {
    this.t = t;
    this.range = range;
    this.signedOut = signedOut;
    this.outcome = null; // does what staff may take back: outcome.js
    this.users = 0; // how many have signed in here
    this.lost = null; // since when the stream is lost; null: it is not
    this.onChange = () => {}; // called when the ceasefires that are asked for have changed
    this.onConfirmed = () => {}; // called with a ceasefire that was asked for and the gateway's reply
    this.refreshPurchases = () => {}; // has the list of unresolved purchases loaded
    this.onStale = () => {}; // called when the stream may be outdated
    this.ceasefires = new CeasefireRequests(this); // that are asked for
  }

  // request sends a request and returns the body of its response. It throws a Refusal. timeout is in ms; without one it is that of send.
  async request(method, path, body, timeout) {
    const { users } = this;
    try {
      return await send(method, API + path, body, timeout);
    } catch (refusal) {
      if (refusal.code === "unauthorized") {
        users === this.users && this.signedOut();
      } else if (refusal.code === "unreachable" || refusal.code === "no_answer") {
        this.onStale();
      }
      throw refusal;
    }
  }

  sentence(refusal) {
    if (refusal.code === "after_closing") {
      return this.range.hours.refusal(this.t, refusal);
    }
    return sentence(this.t, refusal);
  }

  session(lane, command, body = {}) {
    return this.request("POST", `/sessions/${lane.session.session_id}/${command}`, body);
  }

  lane(lane, command, body = {}) {
    return this.request("POST", `/lanes/${lane.lane_id}/${command}`, body);
  }

  // answerHelp returns the act that answers the call for help which the lane shows now: that it is coming, or done. A later call, which nobody
  // has seen, stays.
  answerHelp(lane, done) {
    const body = { done, called_at: lane.help.at };
    return () => this.lane(lane, "help", body);
  }

  // sayClear returns the act that says that the customers of the session have left which the lane shows now; those of a later one have not been
  // looked for.
  sayClear(lane) {
    const body = { session_id: lane.uncleared.session_id };
    return () => this.lane(lane, "cleared", body);
  }

  // noteHit returns the act that notes the hit which the lane shows now. A later one stays.
  noteHit(lane) {
    const body = { hit_at: lane.stray_hit };
    return () => this.lane(lane, "stray-hit", body);
  }

  // ceasefire begins a ceasefire over the range, a bay or a lane. It throws the Refusal of the first attempt; further ones follow by themselves.
  // If the stream does not report it, the response's progress is shown.
  ceasefire(scope, id = null, rangeID = this.range.info?.id) {
    return this.ceasefires.begin(scope, id, rangeID);
  }

  // scopeName returns what a hold lies over.
  scopeName({ scope, id }) {
    switch (scope) {
      case "range":
        return this.t("ceasefire.whole_range");
      case "bay":
        return this.range.bays.find((bay) => bay.id === id)?.name ?? this.t("ceasefire.a_bay");
      default:
        return this.range.lanes.get(id)?.name ?? this.t("lane.word");
    }
  }

  // endHold ends the hold as it was shown: one that somebody has pressed since stays. One that this page has begun, and that was shown before
  // the gateway said which press that was, ends as it is.
  async endHold({ scope, id, press, unconfirmed }) {
    const { presses } = this.ceasefires;
    const shown = unconfirmed ? this.range.findHold(scope, id)?.press : press;
    try {
      await this.request("PUT", "/holds", { scope, id: id ?? null, on: false, press: shown ?? null });
      this.ceasefires.ended({ scope, id }, presses);
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
