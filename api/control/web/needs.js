// What needs staff, without any drawing: which calls, lanes and purchases, since when, and in what order.
import { laneOfPurchase, notReached } from "./rules.js";

// SIGNS of the kinds of needs.
export const SIGNS = { help: "bell", purchase: "cart", hold: "lock", link: "unlink", ran_on: "hourglass", hit: "hit", clear: "leave" };

// needsOf returns what needs staff, lanes that are not reached by a hold first, then the oldest: {key, kind, since (ms of the gateway's wall clock), lanes, coming, purchase}.
// The key is that of one need as long as it lasts. purchases are the unresolved ones, as the gateway lists them. firstSeen(key) is
// the beginning of a need that has none of its own.
export function needsOf(range, purchases, firstSeen) {
  const needs = [];
  const add = (kind, id, since, lanes, more = {}) => {
    const key = `${kind} ${id}`;
    needs.push({ key, kind, since: since ? Date.parse(since) : firstSeen(key), lanes, coming: false, ...more });
  };
  for (const lane of range.lanes.values()) {
    if (lane.help) {
      add("help", `${lane.lane_id} ${lane.help.at}`, lane.help.at, [lane], { coming: lane.help.coming });
    }
    if (lane.stray_hit) {
      add("hit", `${lane.lane_id} ${lane.stray_hit}`, lane.stray_hit, [lane]);
    }
    if (lane.uncleared) {
      add("clear", lane.uncleared.session_id, lane.uncleared.since, [lane]);
    }
    if (lane.session && lane.link !== "up") {
      add("link", lane.lane_id, lane.link_since, [lane]);
    }
  }
  const late = [...range.lanes.values()].filter((lane) => lane.session?.ran_on_ms > 0);
  if (late.length > 0) {
    add("ran_on", "", null, late); // one outage of the gateway is one need, however many sessions lost time
  }
  const missing = [...range.lanes.values()].filter(notReached);
  if (missing.length > 0) {
    const since = range.holds.filter((hold) => range.lanesUnder(hold).some(notReached)).map((hold) => hold.since).toSorted()[0];
    add("hold", missing.map((lane) => lane.lane_id).join(" "), since, missing); // other lanes are another need
  }
  for (const purchase of purchases) {
    const lane = laneOfPurchase(range.lanes, purchase);
    add("purchase", `${purchase.session_id} ${purchase.purchase_id}`, purchase.asked_at, lane ? [lane] : [], { purchase });
  }
  const rank = ({ kind }) => (kind === "hold" ? 0 : 1);
  return needs.toSorted((a, b) => rank(a) - rank(b) || a.since - b.since || (a.key < b.key ? -1 : 1));
}
