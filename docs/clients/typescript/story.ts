// A till sells an hour, changes it, misses events and catches up, lets the shooter buy, and ends the session. It is a webhook receiver as
// well: start the playground with its address, as README.md says.
import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { GatewayError, newGateway, verify, type Happening } from "./rangegate.js";

const api = process.env.API ?? "http://127.0.0.1:8080/api/v2/pos";
const [host, port] = (process.env.LISTEN ?? "127.0.0.1:3000").split(":");
const rangeId = "11111111-1111-4111-8111-111111111111";
const token = "22222222-2222-4222-8222-222222222222";
const secret = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw=";
const lane = "44444444-4444-4444-8444-000000000001";
const group = "33333333-3333-4333-8333-000000000001";

/** What the till knows: the events that it has, each once, and the minutes that shooters bought. */
class Till {
  bought = 0;
  private known = new Set<string>(); // in a real till: in the database, in the transaction that acts on the event
  private events: Happening[] = [];
  private arrivals = new EventEmitter();
  private server?: Server;

  /** Takes an event, however it came. False: the till has it already. */
  take(name: string, event: Happening): boolean {
    if (this.known.has(name)) return false;
    this.known.add(name);
    this.events.push(event);
    this.arrivals.emit("event");
    return true;
  }

  /** Waits for the session's next event of that kind. Others are left out: help, carrierHit, and what will be added one day. */
  async expect(session: string, kind: string): Promise<void> {
    for (;;) {
      const event = this.events.shift();
      if (!event) await once(this.arrivals, "event", { signal: AbortSignal.timeout(60_000) });
      else if (event.event === kind && event.session_id === session) return;
    }
  }

  /** Opens the webhook. */
  async open(): Promise<void> {
    this.server = createServer((request, response) => void this.receive(request, response));
    this.server.listen(Number(port), host);
    await once(this.server, "listening");
  }

  async close(): Promise<void> {
    this.server?.close();
    this.server?.closeAllConnections();
    if (this.server?.listening) await once(this.server, "close");
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    let event: Happening;
    try {
      event = verify(secret, request.headers, body);
    } catch {
      response.writeHead(401).end();
      return;
    }
    if (event.event === "purchaseRequest") {
      this.decide(event, response);
      return;
    }
    this.take(String(request.headers["webhook-id"]), event);
    response.writeHead(204).end();
  }

  /** Decides a purchase: the till sells time to the account of the session, and nothing else. The status is what counts. */
  private decide(purchase: Happening, response: ServerResponse): void {
    const items = purchase.items ?? [];
    const other = items.find((item) => item.id !== "time");
    if (other) {
      console.log(`refused at the lane: ${other.qty} x ${other.id}`);
      response.writeHead(409).end(JSON.stringify({ error: "not on account", user_message: "Please pay this at the counter.", trace_id: "till-1" }));
      return;
    }
    const minutes = items.reduce((sum, item) => sum + item.qty, 0);
    this.bought += minutes;
    console.log(`bought at the lane: ${minutes} minutes`);
    response.writeHead(200).end(JSON.stringify({ success: true, trace_id: "till-1" }));
  }
}

/** Returns the code with which the gateway refuses. */
async function refusal(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (refused) {
    if (refused instanceof GatewayError) return refused.code;
    throw refused;
  }
  return "no refusal";
}

/**
 * Reads the next events. Where the cursor is of a log that is gone, as the gateway's store was replaced, it goes on from the oldest one that
 * there is: the till leaves out what it knows.
 */
async function read(cursor: string) {
  const eventsBehind = async (after: string) => (await gateway.GET("/events", { params: { query: { after } } })).data!;
  try {
    return await eventsBehind(cursor);
  } catch (refused) {
    if (refused instanceof GatewayError && refused.oldest !== undefined) return eventsBehind(refused.oldest);
    throw refused;
  }
}

const gateway = newGateway(api, rangeId, token);
const till = new Till();
const receipt = `receipt-${randomBytes(4).toString("hex")}`;
const order = { customer_name: "Jo Smith", lane_id: lane, group_id: group, duration: 60, enable_purchasing: true, external_id: receipt };
const key = (name: string) => ({ "Idempotency-Key": `${receipt}${name}` });

await till.open();
const sold = await gateway.POST("/sessions", { body: order, params: { header: key("") } });
const session = sold.data!.session_id;
const path = { id: session };
await till.expect(session, "sessionCreated");
await till.expect(session, "sessionStarted");
console.log("sold: 60 minutes");
console.log("sold again:", await refusal(gateway.POST("/sessions", { body: order, params: { header: key("-again") } })));
console.log("sold a third time:", await refusal(gateway.POST("/sessions", { body: order, params: { header: key("-third") } })));
console.log("sold a fourth time:", await refusal(gateway.POST("/sessions", { body: order, params: { header: key("-fourth") } })));
console.log("stopped in passing:", await refusal(gateway.POST("/sessions/{id}/stop", { params: { path, header: key("-passing") } })));
console.log("resumed while it runs:", await refusal(gateway.POST("/sessions/{id}/resume", { params: { path, header: key("-early") } })));
await gateway.POST("/sessions/{id}/pause", { params: { path, header: key("-pause") } });
await till.expect(session, "sessionPaused");
console.log("paused");

// The till has handled everything so far. It goes on from here.
let cursor = "0";
for (let more = true; more; ) {
  const page = await read(cursor);
  cursor = page.next;
  more = page.events.length > 0;
}

await till.close();
await gateway.POST("/sessions/{id}/modify", { params: { path, query: { time: 15 }, header: key("-extend") } });
await gateway.POST("/sessions/{id}/resume", { params: { path, header: key("-resume") } });
console.log("down: extended, resumed");
const missed: string[] = [];
for (let more = true; more; ) {
  const page = await read(cursor);
  for (const { id, payload } of page.events) {
    if (till.take(`msg_${id}`, payload) && payload.session_id === session) missed.push(payload.event);
  }
  cursor = page.next;
  more = page.events.length > 0;
}
console.log("caught up:", missed.join(", "));
await till.expect(session, "sessionModified");
await till.expect(session, "sessionResumed");
await till.open();

console.log("waiting: buy time on lane 1");
await till.expect(session, "sessionModified");
const total = (await gateway.GET("/sessions/{id}", { params: { path } })).data!.duration;
if (total !== 60 + 15 + till.bought) throw new Error(`the session has ${total} minutes`);
await gateway.POST("/sessions/{id}/stop", { params: { path, header: key("-stop") } });
await till.expect(session, "sessionStopped");
console.log("stopped");
await till.close();
