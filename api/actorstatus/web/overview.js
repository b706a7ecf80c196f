// All ranges, or one: the tree with its counts, and what is not as it should be.
import { element } from "/screens/element.js";
import { facts, laneLink, milliseconds, moment, section, table } from "./draw.js";

// The tree, from its root to its leaves.
const TREE = [["range", 0], ["events", 1], ["lane", 1]];
const MOST = 100; // that the gateway lists

const number = (title, of) => ({ title, of: (row) => String(of(row)), number: true });
const sum = (counts) => Object.values(counts).reduce((all, n) => all + n, 0);
const some = (n, kind) => (n > 0 ? kind : "good");

export function overview(health, search) {
  const { all } = health;
  const one = search !== "" && health.ranges.length === 1 ? health.ranges[0] : null;
  const ranged = one ? [] : [{ title: "Range", of: (row) => health.ranges.find(({ range_id }) => range_id === row.range_id)?.name ?? row.range_id }];
  return [
    one ? element("nav", { "aria-label": "Ranges" }, element("a", { href: "/actors" }, "All ranges"), ` · ${one.name || one.range_id}`) : null,
    facts(
      ["Ranges running", `${all.running} of ${all.ranges}`, some(all.ranges - all.running, "danger")],
      ["Links", `${all.links.up} up, ${all.links.down} down, ${all.links.faulty} faulty`, some(all.links.down + all.links.faulty, "warn")],
      ["Store", all.stores_away > 0 ? `takes nothing of ${all.stores_away} ranges` : "takes everything", some(all.stores_away, "danger")],
      ["Changes not saved", `${all.changes_unsaved}, of ${all.lanes_unsaved} lanes`, some(all.stores_away, "warn")],
      ["Lanes with restarts", String(all.lanes_restarted), some(all.lanes_restarted, "warn")],
      ["Events waiting", String(all.events_waiting), some(Math.max(0, all.events_waiting - MOST), "warn")],
    ),
    section("The tree", table("The tree", [
      { title: "Actors", of: ([kind, depth]) => element(`span.depth-${depth}`, {}, kind) },
      number("Live", ([kind]) => all.actors[kind]?.live ?? 0),
      number("Restarts after a panic", ([kind]) => all.actors[kind]?.restarts ?? 0),
      number("Messages waiting, all ranges", ([kind]) => all.actors[kind]?.messages_waiting ?? 0),
    ], TREE, "")),
    section("Links that are not in order", table("Links that are not in order", [
      { title: "Lane", of: laneLink }, ...ranged,
      { title: "Link", of: ({ link }) => element(`span.state.${link}`, {}, link) },
      { title: "Since", of: ({ since }) => moment(since) },
      number("Restarts", ({ restarts }) => restarts),
      { title: "Last error", of: ({ last_error }) => last_error || "–" },
    ], health.links, "Every link is up, and was for the last 10 minutes.")),
    section("Lanes whose state is not saved", table("Lanes whose state is not saved", [
      { title: "Lane", of: laneLink }, ...ranged,
      { title: "Since", of: ({ since }) => moment(since) }, number("Changes", ({ changes }) => changes),
    ], health.unsaved, "Everything is saved.")),
    section("Lanes that were started again", table("Lanes that were started again", [
      { title: "Lane", of: laneLink }, ...ranged,
      number("Restarts", ({ restarts }) => restarts), { title: "Last", of: ({ last_at }) => moment(last_at) },
      { title: "Actor", of: ({ last_kind }) => last_kind }, { title: "On", of: ({ last_on }) => last_on },
    ], health.restarted, "No actor of a lane has panicked since the gateway started.")),
    section("The slowest commands of the last 10 minutes", table("The slowest commands of the last 10 minutes", [
      { title: "Lane", of: laneLink }, ...ranged,
      { title: "Command", of: ({ command }) => command }, { title: "Result", of: ({ result }) => result },
      number("Took", ({ took_ms }) => milliseconds(took_ms)), number("Of that waited", ({ waited_ms }) => milliseconds(waited_ms)),
      { title: "At", of: ({ at }) => moment(at) },
    ], health.slowest, "No lane was given a command.")),
    one ? null : section("Ranges", table("Ranges", [
      { title: "Range", of: ({ range_id, name }) => element("a", { href: `/actors?range=${range_id}` }, name || range_id) },
      { title: "State", of: ({ state }) => element(`span.state.${state}`, {}, state) },
      number("Lanes", ({ lanes }) => lanes), number("Links not up", ({ links }) => (links.down ?? 0) + (links.faulty ?? 0)),
      number("Restarts", ({ restarts }) => sum(restarts)), number("Changes not saved", ({ changes_unsaved }) => changes_unsaved),
      number("Events waiting", ({ events_waiting }) => events_waiting),
      number("Timers late (99 of 100 less)", ({ timers_late_p99_ms }) => milliseconds(timers_late_p99_ms)),
    ], health.ranges, "No range is configured.")),
    element("p.none", {}, `Lists end after ${MOST}, the worst first.`),
  ].filter(Boolean);
}
