// Many lanes in few words: "Lane 7, 12-15" instead of six names.

// nameList says lanes by name, in their order. Names of one word and a number, that have the word in common, say it once,
// as `many` does when the word is `one`: lanes 7, 12. Three numbers in a row and more are said as from and to.
export function nameList(names, { one, many }) {
  const parts = names.map((name) => /^(\D*\S)\s+(\d{1,9})$/.exec(name));
  const word = parts[0]?.[1];
  if (names.length < 2 || word === undefined || !parts.every((part) => part?.[1] === word)) {
    return names.join(", ");
  }
  return `${word === one ? many : word} ${runs(parts.map((part) => part[2])).join(", ")}`;
}

function runs(numbers) {
  const said = [];
  for (let from = 0; from < numbers.length; ) {
    let to = from;
    while (to + 1 < numbers.length && Number(numbers[to + 1]) === Number(numbers[to]) + 1) {
      to++;
    }
    if (to - from >= 2) {
      said.push(`${numbers[from]}–${numbers[to]}`);
    } else {
      said.push(...numbers.slice(from, to + 1));
    }
    from = to + 1;
  }
  return said;
}
