// The one request of the page.

const PATIENCE = 6_000; // the gateway answers within 5 s

// Refused is what the request came to that brought nothing. status is 0 when nobody answered.
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

// fetchHealth answers what there is at the path. It throws nothing but a Refused.
export async function fetchHealth(path, token) {
  let response;
  try {
    response = await fetch(path, {
      headers: { Accept: "application/json", Authorization: `Bearer ${token}` }, cache: "no-store", signal: AbortSignal.timeout(PATIENCE),
    });
    if (response.ok) {
      return await response.json();
    }
  } catch (failure) {
    throw new Refused(0, failure.name === "TimeoutError" ? "it did not answer in time" : "it cannot be reached");
  }
  throw new Refused(response.status, `it answers ${response.status}`);
}
