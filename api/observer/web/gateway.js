// Requests of the page to the gateway.
import { readEvents } from "/screens/stream.js";

const TIMEOUT = 6_000; // ms; the gateway responds within 5 s
const FILE_TIMEOUT = 60_000; // ms

// Refused is the error of a failed request. status is 0 without a response; code is the gateway's word for the reason, "" without one.
export class Refused extends Error {
  constructor(status, code = "") {
    super(`status ${status}`);
    this.status = status;
    this.code = code;
  }
}

// fetchJSON returns the body at the path. It throws only a Refused.
export async function fetchJSON(path, token) {
  return request(path, token, {}, (response) => response.json());
}

// fetchFile returns the file at the path as a Blob. It throws only a Refused.
export async function fetchFile(path, token) {
  return request(path, token, { headers: { Accept: "*/*" } }, (response) => response.blob(), FILE_TIMEOUT);
}

// fetchEvents calls handle(name, data) for each server-sent event at the path, until the stream ends. It throws only a Refused, with status 0
// also when the signal has ended it.
export async function fetchEvents(path, token, handle, signal) {
  let response;
  try {
    response = await fetch(path, { headers: { Accept: "text/event-stream", Authorization: `Bearer ${token}` }, cache: "no-store", signal });
    if (response.ok) {
      await readEvents(response.body, (name, data) => handle(name, JSON.parse(data)));
      return;
    }
  } catch {
    throw new Refused(0);
  }
  throw new Refused(response.status, await codeOf(response));
}

// post asks for what is at the path (PUT sets it), and returns the body of the answer, null if it has none. It throws only a Refused; with status 0 it is
// not known whether it was done.
export async function post(path, token, body, method = "POST") {
  const options = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return request(path, token, { method, ...options }, (response) => (response.status === 204 ? null : response.json()));
}

async function request(path, token, options, read, timeout = TIMEOUT) {
  let response;
  try {
    response = await fetch(path, {
      ...options, headers: { Accept: "application/json", ...options.headers, Authorization: `Bearer ${token}` }, cache: "no-store", signal: AbortSignal.timeout(timeout),
    });
    if (response.ok) {
      return await read(response);
    }
  } catch {
    throw new Refused(0);
  }
  throw new Refused(response.status, await codeOf(response));
}

async function codeOf(response) {
  try {
    return (await response.json()).code ?? "";
  } catch {
    return "";
  }
}
