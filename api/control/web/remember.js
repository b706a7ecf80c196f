// What this browser keeps from one visit to the next: the range, and how the board is looked at. Never a credential. A
// browser that keeps nothing is no fault.

export function remember(name, value) {
  try {
    localStorage.setItem(`rangegate.${name}`, value);
  } catch {
    // it is asked for again
  }
}

export function remembered(name) {
  try {
    return localStorage.getItem(`rangegate.${name}`) ?? "";
  } catch {
    return "";
  }
}
