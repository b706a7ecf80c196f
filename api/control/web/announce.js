// What a screen reader is told at once. One region for all of it; the same sentence twice is said twice.
const REST = 150; // a region that changes again within this may not be read

let pending = 0;

export function announce(sentence) {
  const region = document.getElementById("said");
  region.textContent = "";
  clearTimeout(pending);
  pending = setTimeout(() => (region.textContent = sentence), REST);
}
