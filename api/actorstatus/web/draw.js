// What the page is put together from.
import { element } from "/screens/element.js";

// section is a heading and what belongs under it.
export const section = (title, ...children) => element("section", {}, element("h2", {}, title), ...children);

// table has a row for each of the rows, with what each column makes of it: {title, of, number}. What `of` answers is a text or
// an element. Without rows there is a sentence.
export function table(caption, columns, rows, none) {
  if (rows.length === 0) {
    return element("p.none", {}, none);
  }
  const head = columns.map(({ title, number }) => element(number ? "th.number" : "th", { scope: "col" }, title));
  const cells = (row) => columns.map(({ of, number }, i) => {
    const cell = i === 0 ? element("th", { scope: "row" }) : element(number ? "td.number" : "td");
    cell.append(of(row));
    return cell;
  });
  return element("div.scrolls", { role: "region", "aria-label": caption, tabIndex: 0 }, element("table", {},
    element("caption.unseen", {}, caption), element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row))))));
}

// facts is a list of titles and what is known of each: [title, value, kind]. kind is good, warn, danger or nothing.
export const facts = (...all) => element("dl.facts", {}, ...all.map(([title, value, kind = ""]) =>
  element(kind ? `div.${kind}` : "div", {}, element("dt", {}, title), element("dd", {}, value))));

export const laneLink = (row) => element("a", { href: `/actors/${row.lane_id}` }, row.name);

// moment is a time as a clock shows it, with the day when that is another one.
export function moment(stamp) {
  const at = new Date(stamp);
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}

export const milliseconds = (ms) => `${ms.toLocaleString(undefined, { maximumFractionDigits: 1 })} ms`;

// redraw puts other children into an element. The focus stays on what leads to the same place.
export function redraw(of, children) {
  const focused = of.contains(document.activeElement) ? document.activeElement : null;
  const same = focused?.getAttribute("href") ? `a[href="${focused.getAttribute("href")}"]` : null;
  const label = focused?.getAttribute("aria-label");
  of.replaceChildren(...children);
  (same ? of.querySelector(same) : label ? of.querySelector(`[aria-label="${CSS.escape(label)}"]`) : null)?.focus({ preventScroll: true });
}
