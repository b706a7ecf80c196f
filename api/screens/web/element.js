// Building what a page shows. Text is set as text, never as markup, so that a customer's name stays a name.

// element makes "tag.class.class" with properties and children. on<event> is a listener, data-* and aria-* and role are
// attributes, and everything else is the property of that name. Children that are null or false are left out.
export function element(kind, properties = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag);
  made.classList.add(...classes);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) {
      made.addEventListener(name.slice(2), value);
    } else if (name.includes("-") || name === "role") {
      made.setAttribute(name, value);
    } else {
      made[name] = value;
    }
  }
  made.append(...children.filter((child) => child !== null && child !== false && child !== undefined));
  return made;
}

// setText changes an element's text only if it is another one: the browser has nothing to do for what stays.
export function setText(of, text) {
  if (of.textContent !== text) {
    of.textContent = text;
  }
}

// replaceIn puts other children into an element. Where the focus was in there, it goes to the first of the new buttons, or
// to what `otherwise` says.
export function replaceIn(of, children, otherwise) {
  const focused = of.contains(document.activeElement);
  of.replaceChildren(...children);
  if (focused) {
    (of.querySelector("button") ?? otherwise)?.focus();
  }
}

// setFlag shows a state as an attribute without a value, for style sheets.
export function setFlag(of, name, on) {
  if (of.hasAttribute(name) !== on) {
    of.toggleAttribute(name, on);
  }
}
