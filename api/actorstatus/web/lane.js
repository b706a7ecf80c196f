// One lane: how it stands, and what it was asked of late.
import { element } from "/screens/element.js";
import { facts, milliseconds, moment, section, table } from "./draw.js";

export function lane(health) {
  const { session, link, restarts, unsaved } = health;
  return [
    element("nav", { "aria-label": "Ranges" }, element("a", { href: "/actors" }, "All ranges"), " · ",
      element("a", { href: `/actors?range=${health.range_id}` }, health.range)),
    facts(
      ["Lane", element("code", {}, health.lane_id)],
      ["Session", session ? element("span", {}, `${session.phase}, ${session.minutes_remaining.toFixed(1)} min left `, element("code", {}, session.session_id)) : "none"],
      ["Hold", health.hold ? (health.locked ? "held, confirmed by the hardware" : "held, not confirmed by the hardware") : "none", health.hold ? (health.locked ? "warn" : "danger") : ""],
      ["Link", `${link.state} since ${moment(link.since)}, made anew ${link.restarts === 1 ? "once" : `${link.restarts} times`}`, link.state === "up" ? "good" : "danger"],
      ["Last error of the link", link.last_error || "none"],
      ["Usable", health.not_usable_because ? `no: ${health.not_usable_because}` : "yes", health.not_usable_because ? "danger" : "good"],
      ["Restarts after a panic", restarts.count > 0 ? `${restarts.count}, the last ${moment(restarts.last_at)}: ${restarts.last_kind}, on ${restarts.last_on}` : "none", restarts.count > 0 ? "warn" : "good"],
      ["State", unsaved ? `${unsaved.changes} changes not saved since ${moment(unsaved.since)}` : "saved", unsaved ? "warn" : "good"],
    ),
    section("The latest commands", table("The latest commands", [
      { title: "At", of: ({ at }) => moment(at) },
      { title: "By", of: ({ by, who }) => (who ? `${by}: ${who}` : by) },
      { title: "Command", of: ({ command }) => command },
      { title: "Result", of: ({ result }) => element(`span.state.${result === "ok" ? "ok" : "refused"}`, {}, result) },
      { title: "Took", of: ({ took_ms }) => milliseconds(took_ms), number: true },
      { title: "Waited", of: ({ waited_ms }) => milliseconds(waited_ms), number: true },
      { title: "Session", of: ({ session_id }) => (session_id ? element("code", {}, session_id) : "–") },
      { title: "Trace id", of: ({ trace_id }) => (trace_id ? element("code", {}, trace_id) : "–") },
    ], health.commands, "Nobody has asked anything of this lane since the gateway started.")),
  ];
}
