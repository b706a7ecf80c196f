// The title of the page: how much needs staff, a ceasefire, the range.
const shown = { needs: 0, ceasefire: "", range: "" };

// setTitle changes one or more of its parts.
export function setTitle(parts) {
  Object.assign(shown, parts);
  document.title = `${shown.needs > 0 ? `(${shown.needs}) ` : ""}${[shown.ceasefire, shown.range].filter(Boolean).join(" · ")}`;
}
