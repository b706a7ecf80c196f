// The rules of the board without any drawing: urgency, states, filters, and lists of lanes.

export const SOON = 5 * 60_000;

// urgency returns "soon" in the last five minutes of a session, "over" after its end, and "" otherwise.
export function urgency(phase, leftMs) {
  if (phase !== "running" && phase !== "paused") {
    return "";
  }
  if (leftMs <= 0) {
    return "over";
  }
  return leftMs <= SOON ? "soon" : "";
}

// stateOf returns the phase of a lane's session, or whether a lane without a session can be sold.
export function stateOf(lane) {
  if (lane.phase !== "free") {
    return lane.phase;
  }
  if (!lane.usable) {
    return "unusable";
  }
  return lane.for_sale ? "free" : "closed";
}

// notReached is true if the lane must be locked and its hardware has not confirmed that.
export function notReached(lane) {
  return lane.held && !lane.locked;
}

// wantsStaff is true if the lane needs an action of staff.
export function wantsStaff(lane, urgent) {
  return (
    lane.help !== null || lane.stray_hit !== null || lane.purchase?.phase === "unresolved" || lane.link !== "up" ||
    !lane.usable || Boolean(lane.second_controller) || notReached(lane) || urgent === "over"
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

// matches is true if every typed word is in one of the texts, such as the lane's name or its customer.
export function matches(typed, ...texts) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const text = texts.join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

// nameList shortens a list of lanes: "Lanes 7, 12-15". If all names are the same word and a number, the word is written once, as
// `many` if it is `one`. Three and more consecutive numbers become a range.
export function nameList(names, { one, many }) {
  const parts = names.map((name) => /^(\D*\S)\s+(\d{1,9})$/.exec(name));
  const word = parts[0]?.[1];
  if (names.length < 2 || word === undefined || !parts.every((part) => part?.[1] === word)) {
    return names.join(", ");
  }
  return `${word === one ? many : word} ${runs(parts.map((part) => part[2])).join(", ")}`;
}

function runs(numbers) {
  const parts = [];
  for (let from = 0; from < numbers.length; ) {
    let to = from;
    while (to + 1 < numbers.length && Number(numbers[to + 1]) === Number(numbers[to]) + 1) {
      to++;
    }
    if (to - from >= 2) {
      parts.push(`${numbers[from]}–${numbers[to]}`);
    } else {
      parts.push(...numbers.slice(from, to + 1));
    }
    from = to + 1;
  }
  return parts;
}
