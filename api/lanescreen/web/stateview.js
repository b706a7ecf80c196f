// The main part of the screen: one view for each state of the lane.
import { formatTime, now as clock } from "/screens/clock.js";
import { element, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { markOf, warningOf } from "/screens/marks.js";
import { clearWhenReached } from "/screens/recovery.js";
import { send, sentence } from "/screens/send.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const FAREWELL = 30_000; // ms that an ended session is shown at least

export class StateView {
  #t;
  #base;
  #lane;
  #root;
  #regions; // for screen readers: {status, alarm}
  #shop;
  #moreTime;
  #drawn = "";
  #announced = ""; // the last warning, with its session
  #endedAt = 0;

  constructor(t, base, lane, root, { status, alarm, shop, moreTime }) {
    this.#t = t;
    this.#base = base;
    this.#lane = lane;
    this.#root = root;
    this.#regions = { status, alarm };
    this.#shop = shop;
    this.#moreTime = moreTime;
  }

  // show redraws the view if the state has changed. tick updates the time left.
  show() {
    const lane = this.#lane;
    const state = this.#state();
    const drawn = JSON.stringify([state, lane.session?.session_id, lane.session?.duration, lane.session?.paused_by_hold, lane.phase, lane.held, lane.purchasing, lane.moved_to]);
    if (drawn !== this.#drawn) {
      const announce = this.#drawn !== "";
      this.#drawn = drawn;
      document.body.dataset.state = state;
      this.#root.replaceChildren(this.#view(state));
      if (announce) {
        const alarm = LOCKED.includes(state);
        setText(alarm ? this.#regions.alarm : this.#regions.status, this.#t(`${state}.title`, this.#values()));
      }
    }
    this.tick(clock());
  }

  #state() {
    const lane = this.#lane;
    if (lane.phase === "free") {
      if (lane.held) {
        return "closed";
      }
      this.#endedAt = lane.ended ? this.#endedAt || clock() : 0;
      if (lane.clearLeft(clock()) > 0 || (lane.ended && clock() - this.#endedAt < FAREWELL)) {
        return lane.ended && lane.moved_to ? "moved" : "over";
      }
      if (lane.reserved) {
        return "reserved";
      }
      return lane.hours.at(clock()).state === "closed" ? "after_hours" : lane.for_sale ? "idle" : "shut";
    }
    this.#endedAt = 0;
    if (lane.session.grace_ms !== undefined) {
      return lane.held ? "closed" : "grace"; // under a ceasefire there is no time that would go on
    }
    if (lane.held || (lane.phase === "paused" && lane.session.paused_by_hold)) {
      return lane.phase === "waiting" ? "barred" : "ceasefire";
    }
    if (lane.phase === "running" && lane.session.open_end && lane.session.left_ms <= 0) {
      return "beyond";
    }
    return lane.phase === "waiting" && lane.session.starts_ms !== undefined ? "scheduled" : lane.phase || "loading";
  }

  #values() {
    const session = this.#lane.session ?? this.#lane.ended;
    return { name: session?.customer_name ?? "", n: session?.duration ?? 0, lane: this.#lane.name, to: this.#lane.moved_to };
  }

  #view(state) {
    const t = this.#t;
    const values = this.#values();
    const words = t(`${state}.title`, values);
    const title = LOCKED.includes(state)
      ? element("h2.title", {}, ...words.split(" ").flatMap((word) => [element("span", {}, word), " "])) // a line for each, if they need it
      : element("h2.title", {}, SIGNS[state] ? icon(SIGNS[state]) : null, words);
    const unnamed = state === "over" && values.name === ""; // the page was opened after the end
    const stays = state === "ceasefire" && this.#lane.phase === "paused" && !this.#lane.session.paused_by_hold; // its end resumes nothing
    const buys = state === "grace" && this.#lane.purchasing;
    const explained = element("p.explained", {}, t(stays ? "ceasefire.explained_paused" : buys ? "grace.explained_buy" : unnamed ? "over.explained_unnamed" : `${state}.explained`, values));
    switch (state) {
      case "idle":
      case "reserved":
      case "shut":
      case "after_hours":
      case "loading":
      case "over":
      case "moved":
      case "closed":
      case "barred":
        return element("section.quiet", {}, title, explained);
      case "waiting":
        return element("section.quiet", {}, title, element("p.sold", {}, t("minutes", values)), explained, this.#start());
      case "scheduled":
        return element("section.quiet", {}, title, element("p.sold", {}, t("minutes", values)), element("p.starts", { role: "timer", "aria-live": "off" }), explained);
      default:
        return element("section.time", {},
          element("div.clock", {},
            state === "running" ? null : element("div.why", {}, title, explained),
            element("p.left", { role: "timer", "aria-live": "off" }, element("span.unseen", {}, t(state === "beyond" ? "owed" : "left")), element("span.face", {})),
            element("progress.bar", { max: values.n * MINUTE, "aria-label": t("left") }),
            state === "grace" ? element("p.grace", { role: "timer", "aria-live": "off" }) : null,
            state === "beyond" ? element("p.at-most", { role: "timer", "aria-live": "off" }) : null,
            element("p.warning", { hidden: true }, icon("hourglass"), element("span", {})),
            element("p.of", {}, t(state === "beyond" ? "beyond.of" : "of", values))),
          this.#lane.purchasing && !this.#lane.held ? element("div.buying", {}, this.#moreTime.element, this.#shop.opener) : null);
    }
  }

  #start() {
    const t = this.#t;
    const error = element("p.trouble", { role: "alert" });
    const button = element("button.button.primary.start", {
      type: "button",
      onclick: async () => {
        button.setAttribute("aria-busy", "true");
        button.disabled = true;
        error.textContent = "";
        try {
          await send("POST", `${this.#base}/start`, { session_id: this.#lane.session.session_id });
        } catch (refusal) {
          if (refusal.code !== "not_waiting") {
            error.textContent = sentence(t, refusal);
            clearWhenReached(error, refusal);
          }
        } finally {
          button.removeAttribute("aria-busy");
          button.disabled = false;
        }
      },
    }, icon("play"), t("start"));
    return element("div.go", {}, button, error);
  }

  // tick updates the time left.
  tick(now) {
    const { state } = document.body.dataset; // of these no message tells the end
    if (["over", "moved", "idle", "shut", "after_hours"].includes(state) && this.#state() !== state) {
      this.show();
      return;
    }
    const starts = this.#root.querySelector(".starts");
    const startsIn = this.#lane.startsIn(now);
    if (starts && startsIn !== null) {
      setText(starts, startsIn > 0 ? this.#t("scheduled.starts", { time: formatTime(startsIn) }) : this.#t("scheduled.starts_now"));
    }
    const grace = this.#root.querySelector(".grace");
    const graceLeft = this.#lane.graceLeft(now);
    if (grace && graceLeft !== null) {
      setText(grace, this.#t("grace.left", { time: formatTime(graceLeft) }));
    }
    const shown = this.#root.querySelector(".face");
    if (!shown || !this.#lane.session) {
      return;
    }
    const left = Math.max(0, this.#lane.timeLeft(now));
    const owed = this.#lane.owed(now);
    setText(shown, owed === null ? formatTime(left) : `+${formatTime(owed)}`);
    setFlag(shown.parentElement, "data-hours", Math.max(left, owed ?? 0) > HOUR - 1000); // more digits
    const atMost = this.#root.querySelector(".at-most");
    if (atMost) {
      setText(atMost, this.#t("beyond.at_most", { time: formatTime(this.#lane.atMost(now)) }));
    }
    this.#shop.showTimeLeft(formatTime(left));
    this.#root.querySelector(".bar").value = left;
    const warning = owed === null ? markOf(this.#lane.session, left) : undefined;
    setFlag(document.body, "data-soon", warning?.mark === "soon");
    setFlag(document.body, "data-last", warning?.mark === "last");
    this.#warn(this.#lane.phase === "running" && warning ? warningOf(this.#t, warning, left) : "", left);
  }

  // warn shows the time that is really left, and announces once from when on there is less.
  #warn(text, left) {
    const line = this.#root.querySelector(".warning");
    line.hidden = text === "";
    setText(line.lastElementChild, left > 0 ? this.#t("warning.left", { time: formatTime(left) }) : text);
    const warning = `${this.#lane.session.session_id} ${text}`;
    if (warning !== this.#announced) {
      this.#announced = warning;
      setText(this.#regions.alarm, text);
    }
  }
}

const SIGNS = { paused: "pause", over: "check", moved: "leave", grace: "hourglass", beyond: "play" };
const LOCKED = ["ceasefire", "closed", "barred"]; // the states of a ceasefire
