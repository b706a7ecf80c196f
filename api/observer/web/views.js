// The views: the actors of all ranges or of one, and one lane.
import { element } from "/screens/element.js";
import { facts, laneLink, milliseconds, moment, section, table } from "./draw.js";

// The kinds of actors with their depth in the tree.
const TREE = [["range", 0], ["events", 1], ["lane", 1]];
const MOST = 100; // entries of a list of the gateway

const number = (title, cell) => ({ title, cell: (row) => String(cell(row)), number: true });
const duration = (s) => (s < 60 ? `${Math.round(s)} s` : s < 3600 ? `${Math.round(s / 60)} min` : `${Math.floor(s / 3600)} h ${Math.round(s / 60) % 60} min`);
const sum = (counts) => Object.values(counts).reduce((total, n) => total + n, 0);
const kindIf = (n, kind) => (n > 0 ? kind : "good");

export function overview(health, search) {
  const { all } = health;
  const one = search !== "" && health.ranges.length === 1 ? health.ranges[0] : null;
  const ranged = one ? [] : [{ title: "Range", cell: (row) => health.ranges.find(({ range_id }) => range_id === row.range_id)?.name ?? row.range_id }];
  return [
    one ? element("nav", { "aria-label": "Ranges" }, element("a", { href: "/actors" }, "All ranges"), ` · ${one.name || one.range_id}`) : null,
    facts(
      ["Ranges running", `${all.running} of ${all.ranges}${all.elsewhere > 0 ? `, ${all.elsewhere} at other nodes` : ""}`,
        kindIf(all.ranges - all.running - all.elsewhere, "danger")],
      ["Links", `${all.links.up} up, ${all.links.down} down, ${all.links.faulty} faulty`, kindIf(all.links.down + all.links.faulty, "warn")],
      ["Store", all.stores_away > 0 ? `takes nothing of ${all.stores_away} ranges` : "takes everything", kindIf(all.stores_away, "danger")],
      ["Changes not saved", `${all.changes_unsaved}, of ${all.lanes_unsaved} lanes`, kindIf(all.stores_away, "warn")],
      ["Lanes with restarts", String(all.lanes_restarted), kindIf(all.lanes_restarted, "warn")],
      ["Events waiting", String(all.events_waiting), kindIf(Math.max(0, all.events_waiting - MOST), "warn")],
    ),
    section("The tree", table("The tree", [
      { title: "Actors", cell: ([kind, depth]) => element(`span.depth-${depth}`, {}, kind) },
      number("Live", ([kind]) => all.actors[kind]?.live ?? 0),
      number("Restarts after a panic", ([kind]) => all.actors[kind]?.restarts ?? 0),
      number("Messages waiting, all ranges", ([kind]) => all.actors[kind]?.messages_waiting ?? 0),
    ], TREE, "")),
    section("Links that are not in order", table("Links that are not in order", [
      { title: "Lane", cell: laneLink }, ...ranged,
      { title: "Link", cell: ({ link }) => element(`span.state.${link}`, {}, link) },
      { title: "Since", cell: ({ since }) => moment(since) },
      number("Restarts", ({ restarts }) => restarts),
      { title: "Last error", cell: ({ last_error }) => last_error || "–" },
    ], health.links, "Every link is up, and was for the last 10 minutes.")),
    section("Lanes whose state is not saved", table("Lanes whose state is not saved", [
      { title: "Lane", cell: laneLink }, ...ranged,
      { title: "Since", cell: ({ since }) => moment(since) }, number("Changes", ({ changes }) => changes),
    ], health.unsaved, "Everything is saved.")),
    section("Lanes that were started again", table("Lanes that were started again", [
      { title: "Lane", cell: laneLink }, ...ranged,
      number("Restarts", ({ restarts }) => restarts), { title: "Last", cell: ({ last_at }) => moment(last_at) },
      { title: "Actor", cell: ({ last_kind }) => last_kind }, { title: "On", cell: ({ last_on }) => last_on },
    ], health.restarted, "No actor of a lane has panicked since the gateway started.")),
    section("The slowest commands of the last 10 minutes", table("The slowest commands of the last 10 minutes", [
      { title: "Lane", cell: laneLink }, ...ranged,
      { title: "Command", cell: ({ command }) => command }, { title: "Result", cell: ({ result }) => result },
      number("Took", ({ took_ms }) => milliseconds(took_ms)), number("Of that waited", ({ waited_ms }) => milliseconds(waited_ms)),
      { title: "At", cell: ({ at }) => moment(at) },
    ], health.slowest, "No lane was given a command.")),
    one?.turns ? section("Turn-time", facts(
      ["Lanes that wait for a session", one.turns.lanes_waiting > 0 ? `${one.turns.lanes_waiting}, the longest for ${duration(one.turns.longest_s)}` : "none"],
      ["Newest turns of the last 12 hours", one.turns.turns > 0 ? `${one.turns.turns} lanes, ${duration(one.turns.median_s)} in the middle` : "none"],
    )) : null,
    one ? null : section("Ranges", table("Ranges", [
      { title: "Range", cell: ({ range_id, name }) => element("a", { href: `/actors?range=${range_id}` }, name || range_id) },
      { title: "State", cell: ({ state, reason, node }) => element(`span.state.${state}`, {}, node ? `at ${node}` : reason ? `${state}: ${reason}` : state) },
      number("Lanes", ({ lanes }) => lanes), number("Links not up", ({ links }) => (links.down ?? 0) + (links.faulty ?? 0)),
      number("Restarts", ({ restarts }) => sum(restarts)), number("Changes not saved", ({ changes_unsaved }) => changes_unsaved),
      number("Events waiting", ({ events_waiting }) => events_waiting),
      number("Turn-time, median of 12 h", ({ turns }) => (turns?.turns > 0 ? duration(turns.median_s) : "–")),
      number("Lanes that wait, the longest", ({ turns }) => (turns?.lanes_waiting > 0 ? `${turns.lanes_waiting}, ${duration(turns.longest_s)}` : "0")),
      number("Timers late (99 of 100 less)", ({ timers_late_p99_ms }) => milliseconds(timers_late_p99_ms)),
    ], health.ranges, "No range is configured.")),
    element("p.none", {}, `Lists end after ${MOST}, the worst first.`),
  ].filter(Boolean);
}

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
      ["Waits for a session", health.turn ? `for ${duration(health.turn.seconds)}${health.turn.counts ? "" : ", does not count now"}` : "no"],
      ["Last turn-time", health.last_turn ? `${duration(health.last_turn.seconds)}, until ${moment(health.last_turn.at)}` : "none"],
      ["Restarts after a panic", restarts.count > 0 ? `${restarts.count}, the last ${moment(restarts.last_at)}: ${restarts.last_kind}, on ${restarts.last_on}` : "none", restarts.count > 0 ? "warn" : "good"],
      ["State", unsaved ? `${unsaved.changes} changes not saved since ${moment(unsaved.since)}` : "saved", unsaved ? "warn" : "good"],
    ),
    section("The latest commands", table("The latest commands", [
      { title: "At", cell: ({ at }) => moment(at) },
      { title: "By", cell: ({ by, who }) => (who ? `${by}: ${who}` : by) },
      { title: "Command", cell: ({ command }) => command },
      { title: "Result", cell: ({ result }) => element(`span.state.${result === "ok" ? "ok" : "refused"}`, {}, result) },
      { title: "Took", cell: ({ took_ms }) => milliseconds(took_ms), number: true },
      { title: "Waited", cell: ({ waited_ms }) => milliseconds(waited_ms), number: true },
      { title: "Session", cell: ({ session_id }) => (session_id ? element("code", {}, session_id) : "–") },
      { title: "Trace id", cell: ({ trace_id }) => (trace_id ? element("code", {}, trace_id) : "–") },
    ], health.commands, "Nobody has asked anything of this lane since the gateway started.")),
  ];
}
