import { element } from "/screens/element.js";

// save has the browser save a Blob under that name.
export function save(content, name) {
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 0);
}
