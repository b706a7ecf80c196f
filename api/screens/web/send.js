// Requests of a screen. Each has its answer within a bound, and what is refused is told by the API's one shape of error.

const PATIENCE = 6_000; // the gateway answers within 5 s

// Refusal is what a request came to that did not succeed. code is the gateway's, or `unreachable`, or `no_answer`: then
// nobody knows whether it has happened.
export class Refusal extends Error {
  constructor(code, sentence, { fields = {}, trace = "", retryAfter = 0 } = {}) {
    super(sentence);
    Object.assign(this, { code, fields, trace, retryAfter });
  }
}

// send makes a request and answers its body, null where it has none. It throws nothing but a Refusal.
export async function send(method, path, body) {
  let response;
  let text;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
    });
    text = await response.text();
  } catch (failure) {
    throw new Refusal(failure.name === "TimeoutError" ? "no_answer" : "unreachable", failure.message);
  }
  const answer = parsed(text);
  if (response.ok) {
    return answer;
  }
  throw new Refusal(answer?.code ?? `status_${response.status}`, answer?.error ?? response.statusText, {
    fields: answer?.fields, trace: answer?.trace_id, retryAfter: Number(response.headers.get("Retry-After")) || 0,
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// sentence is a refusal in the language of the texts t: by its code where that is known ("error.<code>"), otherwise what
// the gateway said, with the trace id to quote.
export function sentence(t, refusal) {
  if (!(refusal instanceof Refusal)) {
    throw refusal;
  }
  if (t.has(`error.${refusal.code}`)) {
    return t(`error.${refusal.code}`, { seconds: refusal.retryAfter });
  }
  return t("error.other", { sentence: refusal.message || refusal.code, trace: refusal.trace });
}
