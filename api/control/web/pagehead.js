// The head of a page: what it is, and in a sentence what it is for.
import { element } from "/screens/element.js";

export function pageHead(title, explained) {
  return element("header.page-head", {}, element("h2", {}, title), element("p", {}, explained));
}
