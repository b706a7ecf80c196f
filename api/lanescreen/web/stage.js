// The middle of the screen: one picture for each state that the lane can be in.
import { face, now as clock } from "/screens/clock.js";
import { element, setFlag, setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { send, sentence } from "/screens/send.js";

const MINUTE = 60_000;
const WARNINGS = [5, 1]; // minutes left
const FAREWELL = 30_000; // for so long a session that has ended is shown

export class Stage {
  #t;
  #base;
  #lane;
  #root;
  #told;
  #shop;
  #drawn = "";
  #said = ""; // which warning was spoken last, and of which session
  #gone = 0;

  constructor(t, base, lane, root, { said, alarm, shop }) {
    this.#t = t;
    this.#base = base;
    this.#lane = lane;
    this.#root = root;
    this.#told = { said, alarm };
    this.#shop = shop;
  }

  // show draws the state anew if it is another one. What only counts down is tick's.
  show() {
    const lane = this.#lane;
    const state = this.#state();
    const drawn = JSON.stringify([state, lane.session?.session_id, lane.session?.duration, lane.held, lane.purchasing]);
    if (drawn !== this.#drawn) {
      const spoken = this.#drawn !== "";
      this.#drawn = drawn;
      document.body.dataset.state = state;
      this.#root.replaceChildren(this.#picture(state));
      if (spoken) {
        const alarming = state === "ceasefire";
        setText(alarming ? this.#told.alarm : this.#told.said, this.#t(`${state}.title`, this.#values()));
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
      this.#gone = lane.ended ? this.#gone || clock() : 0;
      return lane.ended && clock() - this.#gone < FAREWELL ? "over" : "idle";
    }
    this.#gone = 0;
    if (lane.phase === "paused") {
      return lane.session.paused_by_hold || lane.held ? "ceasefire" : "paused";
    }
    return lane.phase || "loading";
  }

  #values() {
    const session = this.#lane.session ?? this.#lane.ended;
    return { name: session?.customer_name ?? "", n: session?.duration ?? 0, lane: this.#lane.name };
  }

  #picture(state) {
    const t = this.#t;
    const values = this.#values();
    const title = element("h2.title", {}, SIGNS[state] ? icon(SIGNS[state]) : null, t(`${state}.title`, values));
    const explained = element("p.explained", {}, t(`${state}.explained`, values));
    switch (state) {
      case "idle":
      case "loading":
      case "over":
      case "closed":
        return element("section.quiet", {}, title, explained);
      case "waiting":
        return element("section.quiet", {}, title, element("p.sold", {}, t("minutes", values)), explained, this.#start(),
          this.#lane.held ? this.#notice("lock", t("waiting.held")) : null);
      default:
        return element("section.time", {},
          element("div.clock", {},
            state === "running" ? null : element("div.why", {}, title, explained),
            element("p.left", { role: "timer", "aria-live": "off" }, element("span.unseen", {}, t("left")), element("span.face", {})),
            element("progress.bar", { max: values.n * MINUTE, "aria-label": t("left") }),
            element("p.warning", { hidden: true }, icon("hourglass"), element("span", {})),
            element("p.of", {}, t("of", values))),
          this.#lane.purchasing && !this.#lane.held ? this.#shop.door : null);
    }
  }

  #notice(sign, text) {
    return element("p.notice", {}, icon(sign), text);
  }

  #start() {
    const t = this.#t;
    const trouble = element("p.trouble", { role: "alert" });
    const button = element("button.button.primary.start", {
      type: "button",
      onclick: async () => {
        button.setAttribute("aria-busy", "true");
        button.disabled = true;
        trouble.textContent = "";
        try {
          await send("POST", `${this.#base}/start`, { session_id: this.#lane.session.session_id });
        } catch (refusal) {
          if (refusal.code !== "not_waiting") {
            trouble.textContent = sentence(t, refusal);
          }
        } finally {
          button.removeAttribute("aria-busy");
          button.disabled = false;
        }
      },
    }, icon("play"), t("start"));
    return element("div.go", {}, button, trouble);
  }

  // tick counts down.
  tick(now) {
    if (document.body.dataset.state === "over" && now - this.#gone >= FAREWELL) {
      this.show();
      return;
    }
    const shown = this.#root.querySelector(".face");
    if (!shown || !this.#lane.session) {
      return;
    }
    const left = Math.max(0, this.#lane.left(now));
    setText(shown, face(left));
    this.#shop.left(face(left));
    this.#root.querySelector(".bar").value = left;
    const running = this.#lane.phase === "running";
    const warning = running ? WARNINGS.findLast((minutes) => left <= minutes * MINUTE) : undefined;
    setFlag(document.body, "data-soon", warning === 5);
    setFlag(document.body, "data-last", warning === 1);
    this.#warn(running && left === 0 ? 0 : warning);
  }

  #warn(minutes) {
    const line = this.#root.querySelector(".warning");
    const text = minutes === undefined ? "" : this.#t(`warning.${minutes}`);
    line.hidden = text === "";
    setText(line.lastElementChild, text);
    const said = `${this.#lane.session.session_id} ${text}`;
    if (said !== this.#said) {
      this.#said = said;
      setText(this.#told.alarm, text);
    }
  }
}

const SIGNS = { paused: "pause", ceasefire: "lock", closed: "lock", over: "check" };
