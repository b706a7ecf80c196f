// Builds the elements of a page. Text is set as text, never as markup, so that a customer's name cannot become markup.

// element creates "tag.class.class" with properties and children. on<event> is a listener, data-*, aria-* and role are
// attributes, and everything else is the property of that name. Children that are null or false are skipped.
export function element(kind, properties = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const created = document.createElement(tag);
  created.classList.add(...classes);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) {
      created.addEventListener(name.slice(2), value);
    } else if (name.includes("-") || name === "role") {
      created.setAttribute(name, value);
    } else {
      created[name] = value;
    }
  }
  created.append(...children.filter((child) => child !== null && child !== false && child !== undefined));
  return created;
}

// setText changes an element's text only if it differs, which saves the browser the layout.
export function setText(target, text) {
  if (target.textContent !== text) {
    target.textContent = text;
  }
}

// replaceKeepingFocus replaces the children of an element. If the focus was in it, it goes to the first new button, or else
// to `fallback`.
export function replaceKeepingFocus(target, children, fallback) {
  const focused = target.contains(document.activeElement);
  target.replaceChildren(...children);
  if (focused) {
    (target.querySelector("button") ?? fallback)?.focus();
  }
}

// setFlag sets or removes an attribute without a value, for style sheets.
export function setFlag(target, name, on) {
  if (target.hasAttribute(name) !== on) {
    target.toggleAttribute(name, on);
  }
}
