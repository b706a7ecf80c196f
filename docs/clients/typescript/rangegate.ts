// The types are generated from the gateway's own document. This file adds what no document says: when a request is sent again, and whether
// a request to the webhook is the gateway's.
import type { IncomingHttpHeaders } from "node:http";
import createClient from "openapi-fetch";
import { Webhook } from "standardwebhooks";
import type { components, paths } from "./openapi.js";

/** What happened: the body of a webhook request, and the payload of an event in the log. */
export type Happening = components["schemas"]["Body"];

/** An answer that is no success. With status 0 there was none: nobody knows whether it was done, and the same key may try again. */
export class GatewayError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly traceId?: string, // quote it when you ask the operator
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
    if (answer instanceof Response && answer.ok) return answer;
    const refused = answer instanceof Response ? await refusal(answer) : new GatewayError(0, "no_answer", String(answer));
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
    const response = await fetch(request.clone(), { signal: AbortSignal.timeout((10 + wait) * 1000) });
    const body = await response.arrayBuffer();
    return new Response(body.byteLength ? body : null, response);
  } catch (cause) {
    return cause;
  }
}

async function refusal(answer: Response): Promise<GatewayError> {
  const body = await answer.json().catch(() => null); // null: of a proxy in between
  if (typeof body?.code === "string") return new GatewayError(answer.status, body.code, body.error, body.trace_id);
  return new GatewayError(answer.status, `status_${answer.status}`, "the answer is not one of the gateway");
}

/** Returns the seconds to wait before the same request is sent again; undefined where the answer would be the same. */
function pauseAfter(status: number, retryAfter: string | null, tries: number, defects: number): number | undefined {
  const backoff = Math.min(2 ** (tries - 1), 30);
  if (status === 429 || status === 503) return /^\d+$/.test(retryAfter ?? "") ? Number(retryAfter) : backoff;
  if (status === 0 || status === 502 || status === 504 || (status === 500 && defects === 1)) return backoff;
  return undefined;
}

/** Returns the event of a request to the webhook, or throws: answer 401. body is as it came in, secret the operator's whsec_… text. */
export function verify(secret: string, headers: IncomingHttpHeaders, body: string): Happening {
  return new Webhook(secret).verify(body, headers as Record<string, string>) as Happening;
}
