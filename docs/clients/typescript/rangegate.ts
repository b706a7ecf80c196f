// The types are generated from the gateway's own document. This file adds what no document says: when a request is sent again, and whether
// a request to the webhook is the gateway's.
import type { IncomingHttpHeaders } from "node:http";
import createClient from "openapi-fetch";
import { Webhook } from "standardwebhooks";
import type { components, paths } from "./openapi.js";

/** What happened: the body of a webhook request, and the payload of an event in the log. */
export type Happening = components["schemas"]["Body"];

/**
 * An answer that is no success. With status 0 there was none: nobody knows whether it was done, and the same key may try again. So it is with
 * the code not_the_gateway: something in between has answered, a sign-in page of a network say.
 */
export class GatewayError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly traceId?: string, // quote it when you ask the operator
    readonly fields: Record<string, string> = {}, // by name, what is wrong with each
    readonly oldest?: string, // of cursor_gone: the cursor to go on from
  ) {
    super(`${code}: ${message}`);
  }
}

/**
 * Returns a client of the API for one range. Its methods throw a GatewayError for every answer that is no success, so that `data` is there
 * whenever they return, and repeat a request as docs/integrators.md says; a POST without an Idempotency-Key is never repeated. After
 * `patience` seconds nothing is repeated any more.
 */
export function newGateway(baseUrl: string, rangeId: string, token: string, patience = 120) {
  const headers = { "range-id": rangeId, token };
  return createClient<paths>({ baseUrl, headers, fetch: (request) => repeat(request, patience) });
}

async function repeat(request: Request, patience: number): Promise<Response> {
  const end = Date.now() + patience * 1000;
  const repeatable = request.method !== "POST" || request.headers.has("Idempotency-Key");
  for (let tries = 1, defects = 0; ; tries++) {
    const answer = await send(request);
    if (answer instanceof Response && answer.ok) {
      if (await isOfGateway(request, answer)) return answer;
      throw new GatewayError(answer.status, "not_the_gateway", "the answer is not one of the gateway");
    }
    const refused = answer instanceof Response ? await refusal(answer) : new GatewayError(0, "no_answer", reasonOf(answer));
    if (refused.status === 500) defects++;
    const pause = pauseAfter(refused.status, answer instanceof Response ? answer.headers.get("retry-after") : null, tries, defects);
    if (pause === undefined || !repeatable || Date.now() + pause * 1000 > end) throw refused;
    await new Promise((resolve) => setTimeout(resolve, pause * 1000));
  }
}

/** Makes one try, with the same body as every other one. Returns why there is no answer. It reads the answer to its end. */
async function send(request: Request): Promise<unknown> {
  const wait = Number(new URL(request.url).searchParams.get("wait")); // of GET /events, in seconds; 0 without one
  try {
    // The gateway redirects nobody, and the token is for no other host.
    const response = await fetch(request.clone(), { redirect: "manual", signal: AbortSignal.timeout((10 + wait) * 1000) });
    const body = await response.arrayBuffer();
    return new Response(body.byteLength ? body : null, response);
  } catch (cause) {
    return cause;
  }
}

/**
 * Tells a success of the gateway from what something in between has answered. A sale is 201 with the session and any other change never 200,
 * with which the sign-in page of a network answers; what is read is 200 with JSON.
 */
async function isOfGateway(request: Request, answer: Response): Promise<boolean> {
  const text = await answer.clone().text();
  try {
    const body = text === "" ? null : JSON.parse(text);
    const sells = request.method === "POST" && new URL(request.url).pathname.endsWith("/sessions");
    if (sells) return answer.status === 201 && typeof body?.session_id === "string";
    return (answer.status === 200) === (request.method === "GET");
  } catch {
    return false;
  }
}

/** Why there is no answer: no such name, a certificate that is not trusted, no route, none in time. */
function reasonOf(failure: unknown): string {
  return failure instanceof Error && failure.cause !== undefined ? `${failure.message}: ${String(failure.cause)}` : String(failure);
}

async function refusal(answer: Response): Promise<GatewayError> {
  const body = await answer.json().catch(() => null); // null: of a proxy in between
  if (typeof body?.code === "string") return new GatewayError(answer.status, body.code, body.error, body.trace_id, body.fields, body.oldest);
  return new GatewayError(answer.status, `status_${answer.status}`, "the answer is not one of the gateway");
}

/**
 * Returns the seconds to wait before the same request is sent again; undefined where the answer would be the same. No two tills wait equally
 * long, so that they do not all come back at once.
 */
function pauseAfter(status: number, retryAfter: string | null, tries: number, defects: number): number | undefined {
  const backoff = Math.min(2 ** (tries - 1), 30) * (1 + Math.random() / 2);
  if (status === 429 || status === 503) return /^0*[1-9]\d*$/.test(retryAfter ?? "") ? Number(retryAfter) + Math.random() : backoff;
  if (status === 0 || status === 408 || status === 502 || status === 504 || (status === 500 && defects === 1)) return backoff;
  return undefined;
}

/**
 * Returns the event of a request to the webhook, or throws: answer 401. body is as it came in, secrets the operator's whsec_… text, or the old
 * and the new one while it is being replaced.
 */
export function verify(secrets: string | string[], headers: IncomingHttpHeaders, body: string): Happening {
  let failure: unknown = new Error("no secret");
  for (const secret of [secrets].flat()) {
    try {
      return new Webhook(secret).verify(body, headers as Record<string, string>) as Happening;
    } catch (refused) {
      failure = refused;
    }
  }
  throw failure;
}
