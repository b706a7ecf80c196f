// Requests of a screen. Each has a timeout, and each refusal has the API's error body.

const TIMEOUT = 6_000; // ms; the gateway responds within 5 s

// Refusal is the error of a request that did not succeed. code is the gateway's, or `unreachable`, or `no_answer`: then the
// outcome is unknown. Of minutes that would be used after closing, closes is the Date of that, null while the range is closed, and most how many
// minutes fit.
export class Refusal extends Error {
  constructor(code, sentence, { fields = {}, trace = "", retryAfter = 0, closes = null, most = 0 } = {}) {
    super(sentence);
    Object.assign(this, { code, fields, trace, retryAfter, closes, most });
  }
}

// send sends a request and returns the body of its response, null without one. It throws only a Refusal. timeout is in ms.
export async function send(method, path, body, timeout = TIMEOUT) {
  let response;
  let text;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      signal: AbortSignal.timeout(timeout),
    });
    text = await response.text();
  } catch (failure) {
    throw new Refusal(failure.name === "TimeoutError" ? "no_answer" : "unreachable", failure.message);
  }
  const reply = parse(text);
  if (response.ok) {
    return reply;
  }
  throw new Refusal(reply?.code ?? `status_${response.status}`, reply?.error ?? response.statusText, {
    fields: reply?.fields, trace: reply?.trace_id, retryAfter: Number(response.headers.get("Retry-After")) || 0,
    closes: reply?.closes_at ? new Date(reply.closes_at) : null, most: reply?.max_minutes,
  });
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// sentence returns a refusal in the language of the texts t: by its code if that has a text ("error.<code>"), otherwise the
// gateway's sentence with the trace id.
export function sentence(t, refusal) {
  if (!(refusal instanceof Refusal)) {
    throw refusal;
  }
  if (t.has(`error.${refusal.code}`)) {
    return t(`error.${refusal.code}`, { seconds: refusal.retryAfter });
  }
  return t("error.other", { sentence: refusal.message || refusal.code, trace: refusal.trace });
}
