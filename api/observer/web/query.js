// The query of the page: what the controls of the actors choose, as it stands in the address and is sent to the gateway.

export const KINDS = ["range", "lane", "connection", "events"];
export const SORTS = ["trouble", "backlog", "age", "restarts", "lateness"]; // the first one is the default
export const LONGEST_SEARCH = 100; // characters
const MOST = 500; // actors of an answer

// readQuery returns the choice in an address. What the gateway would refuse is not chosen.
export function readQuery(search) {
  const query = new URLSearchParams(search);
  const oneOf = (name, values, otherwise) => (values.includes(query.get(name)) ? query.get(name) : otherwise);
  const matching = (name, pattern) => (pattern.test(query.get(name) ?? "") ? query.get(name) : "");
  const limit = Number(matching("limit", /^\d+$/));
  return {
    range: matching("range", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i).toLowerCase(),
    kind: oneOf("kind", KINDS, ""),
    state: matching("state", /^\w+$/),
    trouble: query.get("trouble") === "true",
    search: (query.get("search") ?? "").slice(0, LONGEST_SEARCH),
    sort: oneOf("sort", SORTS, SORTS[0]),
    limit: limit >= 1 && limit <= MOST ? limit : 0, // 0: as many as the gateway sends by itself
  };
}

// writeQuery returns the address's part for a choice, without what nobody has chosen.
export function writeQuery(chosen) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(chosen)) {
    if (value && !(name === "sort" && value === SORTS[0])) {
      query.set(name, value);
    }
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
