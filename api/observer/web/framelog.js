// What is shown of the frames of a link: the newest ones.

export const MOST = 200; // frames that are kept

const isPing = ({ kind }) => kind === "ping" || kind === "pong";

// FrameLog keeps the newest frames, and counts all. Pings are kept beside the others, so that they push none of those out.
export class FrameLog {
  #others = [];
  #pings = [];
  count = 0;
  dropped = 0;

  // add takes what one message of the gateway has.
  add({ frames, dropped }) {
    this.dropped += dropped;
    for (const frame of frames) {
      const number = ++this.count;
      const kept = isPing(frame) ? this.#pings : this.#others;
      kept.push({ ...frame, number });
      if (kept.length > MOST) {
        kept.shift();
      }
    }
  }

  // newest returns the frames that are kept, the newest first; pings are left out unless they are wanted.
  newest(pings) {
    const wanted = pings ? [...this.#others, ...this.#pings] : this.#others;
    return wanted.toSorted((a, b) => b.number - a.number).slice(0, MOST);
  }
}
