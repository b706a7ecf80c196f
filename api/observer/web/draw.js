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
  const cells = (row) => columns.map(({ cell: contents, number }, i) => {
    const cell = i === 0 ? element("th", { scope: "row" }) : element(number ? "td.number" : "td");
    cell.append(contents(row));
    return cell;
  });
  return scrolling(caption, columns, element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))));
}

// scrolling is a table with the heads of the columns, which scrolls by itself where it is wider than the screen.
export function scrolling(caption, columns, ...bodies) {
  const head = columns.map(({ title, number }) => element(number ? "th.number" : "th", { scope: "col" }, title));
  return element("div.scrolls", { role: "region", "aria-label": caption, tabIndex: 0 },
    element("table", {}, element("caption.unseen", {}, caption), element("thead", {}, element("tr", {}, ...head)), ...bodies));
}

// facts is a list of [title, value, kind]. kind is good, warn, danger or nothing.
export const facts = (...list) => element("dl.facts", {}, ...list.map(([title, value, kind = ""]) =>
  element(kind ? `div.${kind}` : "div", {}, element("dt", {}, title), element("dd", {}, value))));

// The addresses of this page.
export const rangeAddress = (range) => `/observer?range=${range}`;
export const laneAddress = (row) => `/observer/lanes/${row.lane_id}?range=${row.range_id}`;
export const laneLink = (row) => element("a", { href: laneAddress(row) }, row.name);

// stateName is the word for a state; a code that has none stands for itself.
export const stateName = (t, state) => (t.has(`state.${state}`) ? t(`state.${state}`) : state);
export const kindName = (t, kind) => (t.has(`kind.${kind}`) ? t(`kind.${kind}`) : kind);

const drawn = new WeakMap(); // by element: what its children show

// redraw replaces the children of an element with those that build makes, if the data that they show has changed. The focus stays on the
// same link or label, and tables stay scrolled as they are.
export function redraw(target, data, build) {
  const shown = JSON.stringify(data);
  if (drawn.get(target) === shown) {
    return;
  }
  drawn.set(target, shown);
  const focused = target.contains(document.activeElement) ? document.activeElement : null;
  const region = focused?.closest(".scrolls")?.getAttribute("aria-label");
  const tablesOf = () => new Map([...target.querySelectorAll(".scrolls")].map((table) => [table.getAttribute("aria-label"), table]));
  const scrolled = new Map([...tablesOf()].map(([name, { scrollLeft, scrollTop }]) => [name, { left: scrollLeft, top: scrollTop }]));
  target.replaceChildren(...build());
  const tables = tablesOf();
  tables.forEach((table, name) => table.scrollTo(scrolled.get(name) ?? {}));
  const within = tables.get(region) ?? target; // of links to the same address the one in the same table
  const address = focused?.getAttribute("href");
  (address ? within.querySelector(`a[href="${CSS.escape(address)}"]`) : focused && within)?.focus({ preventScroll: true });
}

// erase removes the children of an element.
export function erase(target) {
  drawn.delete(target);
  target.replaceChildren();
}
