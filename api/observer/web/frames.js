// The section of a lane's page by which an operator follows what goes over the link to the lane's hardware.
import { element, setText } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";
import { redraw, table } from "./draw.js";
import { FrameLog } from "./framelog.js";
import { Refused, fetchEvents } from "./gateway.js";
import { toTheMillisecond } from "./times.js";

const SILENCE = 7_000; // ms; the gateway sends a beat every 2 s

export class Frames {
  #t;
  #token;
  #queryOf; // () => {range, lane}
  #log = new FrameLog();
  #attempt = null; // AbortController of the stream; null while nothing is followed
  #silence = 0; // the timer
  #follow;
  #stop;
  #pings;
  #options;
  #state = element("p.outcome", { role: "status" });
  #summary = element("p.summary");
  #shown = element("div.part.frames");

  // queryOf() names the lane, token() is the operator's.
  constructor(t, queryOf, token) {
    this.#t = t;
    this.#queryOf = queryOf;
    this.#token = token;
    const path = () => {
      const { range, lane } = queryOf();
      return `/observer/lanes/${lane}/frames?${new URLSearchParams({ range })}`;
    };
    this.#follow = actionButton(t, "follow_frames", path, token, {
      ask: (of) => this.#begin(of), done: ({ until }) => (this.#attempt === null ? "" : t("frames.until", { time: t.seconds(until) })),
    });
    this.#stop = element("button.button", { type: "button", hidden: true, onclick: () => this.#end(t("frames.stopped", { time: t.seconds(new Date()) })) }, t("frames.stop"));
    this.#pings = element("input", { type: "checkbox", onchange: () => this.#draw() });
    this.#options = element("div.act", { hidden: true }, this.#stop, element("label.check", {}, this.#pings, element("span", {}, t("frames.pings"))), this.#state);
    this.element = element("section", { hidden: true }, element("h2", {}, t("frames")), element("p", {}, t("frames.explained")),
      this.#follow, this.#options, this.#summary, this.#shown);
  }

  clear() {
    this.element.hidden = true;
    this.#forget();
    this.#options.hidden = true;
    setText(this.#state, "");
    setText(this.#summary, "");
    this.#shown.replaceChildren();
  }

  // begin follows the frames at the path instead of those before. It returns the gateway's first message.
  #begin(path) {
    this.#forget();
    this.#log = new FrameLog();
    const attempt = (this.#attempt = new AbortController());
    let begun = false;
    return new Promise((resolve, reject) => {
      const handle = (name, data) => {
        if (this.#attempt !== attempt) {
          return;
        }
        this.#listen();
        this.#receive(name, data);
        if (name === "begin") {
          begun = true;
          resolve(data);
        }
      };
      fetchEvents(path, this.#token(), handle, attempt.signal).catch(reject).finally(() => {
        reject(new Refused(0)); // which changes nothing once it has begun
        if (this.#attempt === attempt) {
          this.#end(begun ? this.#t("frames.end.lost") : "");
        }
      });
    });
  }

  // listen waits for the next message: a gateway that is gone says nothing.
  #listen() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#end(this.#t("frames.end.lost")), SILENCE);
  }

  #receive(name, data) {
    switch (name) {
      case "begin":
        this.#options.hidden = false;
        this.#swap(this.#follow.querySelector("button"), this.#stop);
        setText(this.#state, "");
        this.#draw();
        break;
      case "frames":
        this.#log.add(data);
        this.#draw();
        break;
      case "end":
        this.#log.add(data);
        this.#draw();
        this.#end(this.#t(`frames.end.${data.reason}`));
    }
  }

  // end stops following, and says why. What was seen stays.
  #end(why) {
    this.#forget();
    setText(this.#state, why);
  }

  #forget() {
    clearTimeout(this.#silence);
    this.#attempt?.abort();
    this.#attempt = null;
    this.#swap(this.#stop, this.#follow.querySelector("button"));
    this.#follow.erase();
  }

  // swap shows a button in place of another one, with the focus if that had it.
  #swap(from, to) {
    const focused = document.activeElement === from;
    to.hidden = false;
    from.hidden = true;
    focused && to.focus();
  }

  #draw() {
    const t = this.#t;
    const { count, dropped } = this.#log;
    setText(this.#summary, [t("frames.count", { n: count }), dropped > 0 ? t("frames.dropped", { n: dropped }) : ""].filter(Boolean).join(" "));
    const frames = this.#log.newest(this.#pings.checked);
    redraw(this.#shown, [frames, this.#pings.checked], () => [this.#table(frames)]);
  }

  #table(frames) {
    const t = this.#t;
    return table(t("frames"), [
      { title: t("frames.at"), cell: ({ at }) => toTheMillisecond(t, at) },
      { title: t("frames.direction"), cell: ({ direction }) => t(`frames.direction.${direction}`) },
      { title: t("frames.kind"), cell: ({ kind }) => (t.has(`frames.kind.${kind}`) ? t(`frames.kind.${kind}`) : kind) },
      { title: t("frames.frame"), cell: (frame) => this.#content(frame) },
      { title: t("frames.bytes"), cell: ({ bytes }) => t.number(bytes), number: true },
      { title: t("frames.controller"), cell: ({ controller }) => controller ?? t("frames.in_process") },
    ], frames, t("frames.none"));
  }

  #content({ frame, problem }) {
    return element("span", {}, frame === null ? "" : element("code", {}, JSON.stringify(frame)),
      problem === null ? "" : element("small.problem", {}, this.#t("frames.problem", { problem })));
  }
}
