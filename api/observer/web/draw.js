// The building blocks of the page.
import { element } from "/screens/element.js";

// section is a heading with its content.
export const section = (title, ...children) => element("section", {}, element("h2", {}, title), ...children);

// table has a row for each of the rows. A column is {title, cell, number}: cell(row) returns a text or an element. Without rows
// the table is a sentence.
export function table(caption, columns, rows, none) {
  if (rows.length === 0) {
    return element("p.none", {}, none);
  }
  const head = columns.map(({ title, number }) => element(number ? "th.number" : "th", { scope: "col" }, title));
  const cells = (row) => columns.map(({ cell: contents, number }, i) => {
    const cell = i === 0 ? element("th", { scope: "row" }) : element(number ? "td.number" : "td");
    cell.append(contents(row));
    return cell;
  });
  return element("div.scrolls", { role: "region", "aria-label": caption, tabIndex: 0 }, element("table", {},
    element("caption.unseen", {}, caption), element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row))))));
}

// facts is a list of [title, value, kind]. kind is good, warn, danger or nothing.
export const facts = (...list) => element("dl.facts", {}, ...list.map(([title, value, kind = ""]) =>
  element(kind ? `div.${kind}` : "div", {}, element("dt", {}, title), element("dd", {}, value))));

export const laneLink = (row) => element("a", { href: `/actors/${row.lane_id}?range=${row.range_id}` }, row.name);

// moment formats a time of day, with the date if that is not today.
export function moment(stamp) {
  const at = new Date(stamp);
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}

export const milliseconds = (ms) => `${ms.toLocaleString(undefined, { maximumFractionDigits: 1 })} ms`;

// redraw replaces the children of an element. The focus stays on the same link or label.
export function redraw(target, children) {
  const focused = target.contains(document.activeElement) ? document.activeElement : null;
  const same = focused?.getAttribute("href") ? `a[href="${focused.getAttribute("href")}"]` : null;
  const label = focused?.getAttribute("aria-label");
  target.replaceChildren(...children);
  (same ? target.querySelector(same) : label ? target.querySelector(`[aria-label="${CSS.escape(label)}"]`) : null)?.focus({ preventScroll: true });
}
