import { element } from "/screens/element.js";
import { fetchFile } from "./gateway.js";

// save has the browser save a Blob under that name.
export function save(content, name) {
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 0);
}

// download has the browser save the file at the path under that name, unless the operator's token() was forgotten meanwhile: nobody else gets it.
export async function download(path, token, name) {
  const used = token();
  const file = await fetchFile(path, used);
  if (token() === used) {
    save(file, name);
  }
}
