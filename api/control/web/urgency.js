// What stands out on the board, and what the filters ask. Rules only: nothing is drawn here.

export const SOON = 5 * 60_000;

// urgency of a session with that much time left: "soon" in its last five minutes, "over" when its time has run out.
export function urgency(phase, leftMs) {
  if (phase !== "running" && phase !== "paused") {
    return "";
  }
  if (leftMs <= 0) {
    return "over";
  }
  return leftMs <= SOON ? "soon" : "";
}

// stateOf a lane in one word: its session's phase, or why a lane without a session can or cannot be given to a customer.
export function stateOf(lane) {
  if (lane.phase !== "free") {
    return lane.phase;
  }
  if (!lane.usable) {
    return "unusable";
  }
  return lane.for_sale ? "free" : "closed";
}

// notReached: the lane must be locked, and its hardware has not confirmed that it is.
export function notReached(lane) {
  return lane.held && !lane.locked;
}

// wantsStaff: somebody has to do something about the lane.
export function wantsStaff(lane, urgent) {
  return (
    lane.help !== null || lane.stray_hit !== null || lane.purchase?.phase === "unresolved" || lane.link !== "up" ||
    !lane.usable || notReached(lane) || urgent === "over"
  );
}

// FILTERS of the board, by name.
export const FILTERS = {
  all: () => true,
  free: (lane) => stateOf(lane) === "free",
  used: (lane) => lane.phase !== "free",
  soon: (_, urgent) => urgent !== "",
  staff: wantsStaff,
};

// matches says whether what was typed is found in the lane's name, its bay, its customer or its group.
export function matches(typed, ...texts) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const all = texts.join(" ").toLowerCase();
  return words.every((word) => all.includes(word));
}
