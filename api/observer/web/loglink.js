// The link to the page of the log.
import { element } from "/screens/element.js";
import { writeLogQuery } from "./logquery.js";

export const LOG_ADDRESS = "/observer/log";

// logLink creates it. show(query) has it lead to the log of {range, lane}.
export function logLink(t) {
  const link = element("a", { href: LOG_ADDRESS }, t("log.follow"));
  return Object.assign(element("p", {}, link), {
    show(query) {
      link.href = LOG_ADDRESS + writeLogQuery(query);
    },
  });
}

// logSection creates the section with the link, which is hidden until show is called.
export function logSection(t) {
  const link = logLink(t);
  const section = element("section", { hidden: true }, element("h2", {}, t("log")), element("p", {}, t("log.explained")), link);
  return Object.assign(section, {
    show(query) {
      section.hidden = false;
      link.show(query);
    },
  });
}
