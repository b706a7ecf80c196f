// Reading server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html, the fields event and data.

// events calls take(name, data) for each event of the body, until it ends or fails.
export async function events(body, take) {
  const reader = body.getReader();
  const text = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    const blocks = (rest + text.decode(value, { stream: true })).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      one(block, take);
    }
  }
}

function one(block, take) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    switch (line.slice(0, Math.max(colon, 0))) {
      case "event":
        name = value;
        break;
      case "data":
        data.push(value);
    }
  }
  if (data.length > 0 || name === "bye") {
    take(name, data.join("\n"));
  }
}
