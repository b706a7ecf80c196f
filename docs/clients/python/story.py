"""A till sells an hour, changes it, misses events and catches up, lets the shooter buy, and ends the session. It is a webhook receiver as
well: start the playground with its address, as README.md says."""

import http.server
import json
import os
import queue
import threading

from rangegate import Forged, Gateway, GatewayError, verify

API = os.environ.get("API", "http://127.0.0.1:8080/api/v2/pos")
HOST, PORT = os.environ.get("LISTEN", "127.0.0.1:3000").split(":")
RANGE = "11111111-1111-4111-8111-111111111111"
TOKEN = "22222222-2222-4222-8222-222222222222"
SECRET = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw="
LANE = "44444444-4444-4444-8444-000000000001"
GROUP = "33333333-3333-4333-8333-000000000001"


class Till:
    """What the till knows: the events that it has, each once, and the minutes that shooters bought."""

    def __init__(self):
        self.known = set()  # in a real till: in the database, in the transaction that acts on the event
        self.lock = threading.Lock()
        self.events = queue.Queue()
        self.bought = 0
        self.server = None

    def take(self, name, event):
        """Takes an event, however it came. False: the till has it already."""
        with self.lock:
            if name in self.known:
                return False
            self.known.add(name)
        self.events.put(event)
        return True

    def expect(self, session, kind):
        """Waits for the session's next event of that kind. Others are left out: help, carrierHit, and what will be added one day."""
        while True:
            event = self.events.get(timeout=60)
            if event["event"] == kind and event["session_id"] == session:
                return

    def decide(self, purchase):
        """Decides a purchase: the till sells time to the account of the session, and nothing else. The status is what counts."""
        for item in purchase["items"]:
            if item["id"] != "time":
                say(f"refused at the lane: {item['qty']} x {item['id']}")
                return 409, {"error": "not on account", "user_message": "Please pay this at the counter.", "trace_id": "till-1"}
        minutes = sum(item["qty"] for item in purchase["items"])
        self.bought += minutes
        say(f"bought at the lane: {minutes} minutes")
        return 200, {"success": True, "trace_id": "till-1"}

    def open(self):
        """Opens the webhook."""
        till = self

        class Webhook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                try:
                    event = verify(SECRET, self.headers, body)
                except Forged:
                    return self.answer(401)
                if event["event"] == "purchaseRequest":
                    return self.answer(*till.decide(event))
                till.take(self.headers["webhook-id"], event)
                return self.answer(204)

            def answer(self, status, body=None):
                self.send_response(status)
                self.end_headers()
                if body:
                    self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((HOST, int(PORT)), Webhook)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def say(line):
    print(line, flush=True)


def refusal(act, *args, **kwargs):
    """Returns the code with which the gateway refuses."""
    try:
        act(*args, **kwargs)
    except GatewayError as refused:
        return refused.code
    return "no refusal"


def read(gateway, cursor):
    """Reads the next events. Where the cursor is of a log that is gone, as the gateway's store was replaced, it goes on from the oldest one
    that there is: the till leaves out what it knows."""
    try:
        return gateway.events(cursor)
    except GatewayError as refused:
        if refused.code != "cursor_gone":
            raise
        return gateway.events(refused.oldest)


def main():
    gateway, till, receipt = Gateway(API, RANGE, TOKEN), Till(), "receipt-" + os.urandom(4).hex()
    order = {"customer_name": "Jo Smith", "lane_id": LANE, "group_id": GROUP, "duration": 60, "enable_purchasing": True, "external_id": receipt}
    till.open()
    session = gateway.sell(receipt, **order)["session_id"]
    till.expect(session, "sessionCreated")
    till.expect(session, "sessionStarted")
    say("sold: 60 minutes")
    say("sold again: " + refusal(gateway.sell, receipt + "-again", **order))
    say("sold a third time: " + refusal(gateway.sell, receipt + "-third", **order))
    say("sold a fourth time: " + refusal(gateway.sell, receipt + "-fourth", **order))
    say("stopped in passing: " + refusal(gateway.stop, receipt + "-passing", session))
    say("resumed while it runs: " + refusal(gateway.resume, receipt + "-early", session))
    gateway.pause(receipt + "-pause", session)
    till.expect(session, "sessionPaused")
    say("paused")

    # The till has handled everything so far. It goes on from here.
    cursor, more = "0", True
    while more:
        more, cursor = read(gateway, cursor)

    till.close()
    gateway.extend(receipt + "-extend", session, 15)
    gateway.resume(receipt + "-resume", session)
    say("down: extended, resumed")
    missed, more = [], True
    while more:
        more, cursor = read(gateway, cursor)
        for event in more:
            if till.take("msg_" + event["id"], event["payload"]) and event["payload"]["session_id"] == session:
                missed.append(event["payload"]["event"])
    say("caught up: " + ", ".join(missed))
    till.expect(session, "sessionModified")
    till.expect(session, "sessionResumed")
    till.open()

    say("waiting: buy time on lane 1")
    till.expect(session, "sessionModified")
    total = gateway.session(session)["duration"]
    assert total == 60 + 15 + till.bought, total
    gateway.stop(receipt + "-stop", session)
    till.expect(session, "sessionStopped")
    say("stopped")


main()
