"""A client of the rangegate API in one file: Python 3.9 or newer, its standard library and nothing else. Copy it, and change what you like.

    gateway = Gateway("http://127.0.0.1:8080/api/v2/pos", range_id, token)
    session = gateway.sell("receipt-17-line-2", customer_name="Jo Smith", lane_id=lane, group_id=group, duration=60)
    events, cursor = gateway.events(cursor, wait=50)
    event = verify(secret, request.headers, body)
"""

import base64
import hashlib
import hmac
import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request


class GatewayError(Exception):
    """An answer that is no success. With status None there was none: nobody knows whether it was done, and the same key may try again.
    So it is with the code not_the_gateway: something in between has answered, a sign-in page of a network say."""

    def __init__(self, status, body, failure=None, code=None):
        refusal = _refusal(body)
        self.status = status
        self.code = code or refusal.get("code", "no_answer" if status is None else f"status_{status}")
        self.fields = refusal.get("fields", {})
        self.trace_id = refusal.get("trace_id")  # quote it when you ask the operator
        self.oldest = refusal.get("oldest")  # of cursor_gone: the cursor to go on from
        super().__init__(f"{self.code}: {failure or refusal.get('error', 'the answer is not one of the gateway')}")


class Gateway:
    """The API for one range. Threads may share it."""

    def __init__(self, url, range_id, token, patience=120):
        self.url = url
        self.headers = {"range-id": range_id, "token": token, "Content-Type": "application/json"}
        self.patience = patience  # seconds, after which a request is not repeated any more

    def sell(self, key, **order):
        """Sells time on a lane and returns the session. The key names this sale for good: make it of the receipt line."""
        return self.call("POST", "/sessions", order, key)

    def session(self, session_id):
        return self.call("GET", f"/sessions/{session_id}")

    def extend(self, key, session_id, minutes):
        """Adds minutes, or takes them away where they are negative."""
        self.call("POST", f"/sessions/{session_id}/modify?time={minutes}", key=key)

    def pause(self, key, session_id):
        self.call("POST", f"/sessions/{session_id}/pause", key=key)

    def resume(self, key, session_id):
        self.call("POST", f"/sessions/{session_id}/resume", key=key)

    def stop(self, key, session_id):
        self.call("POST", f"/sessions/{session_id}/stop", key=key)

    def events(self, cursor, wait=0):
        """Returns the next events behind the cursor, oldest first, and the cursor to go on from. Without any it waits that many seconds,
        60 at most. Save the cursor together with what you did about the events."""
        page = self.call("GET", "/events?" + urllib.parse.urlencode({"after": cursor, "wait": wait}), timeout=10 + wait)
        return page["events"], page["next"]

    def call(self, method, path, body=None, key=None, timeout=10):
        """Returns the answer of any path, None if it has no body, and repeats the request as docs/integrators.md says. A POST without a
        key is never repeated."""
        headers = dict(self.headers, **({"Idempotency-Key": key} if key else {}))
        data = None if body is None else json.dumps(body).encode()  # once: a repeat has to be the same to the byte
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        end, tries, defects = time.monotonic() + self.patience, 0, 0
        while True:
            status, retry_after, answer, failure = _send(request, timeout)
            if status is not None and status < 300:
                return _result(method, path, status, answer)
            tries, defects = tries + 1, defects + (status == 500)
            pause = _pause(status, retry_after, tries, defects)
            if pause is None or (method != "GET" and not key) or time.monotonic() + pause > end:
                raise GatewayError(status, answer, failure)
            time.sleep(pause)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The gateway redirects nobody, and the token is for no other host."""

    def redirect_request(self, *_):
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def _send(request, timeout):
    """Returns the status, the header Retry-After and the body of the answer; None, None, b"" and why when there was none."""
    try:
        with _opener.open(request, timeout=timeout) as response:
            return response.status, None, response.read(), None
    except urllib.error.HTTPError as refusal:
        with refusal:
            try:
                return refusal.code, refusal.headers.get("Retry-After"), refusal.read(), None
            except (OSError, http.client.HTTPException) as failure:
                return None, None, b"", str(failure)
    except (OSError, http.client.HTTPException) as failure:  # no such name, a certificate that is not trusted, no route, no answer in time
        return None, None, b"", str(failure) or type(failure).__name__


def _result(method, path, status, answer):
    """Returns what a success says. A sale is 201 with the session and any other change never 200, with which the sign-in page of a network
    answers; what is read is 200 with JSON."""
    try:
        result = json.loads(answer) if answer else None
    except ValueError:
        raise GatewayError(status, b"", code="not_the_gateway") from None
    sells = (method, path) == ("POST", "/sessions")
    if (status == 200) != (method == "GET") or sells and (status != 201 or not isinstance(result, dict) or not result.get("session_id")):
        raise GatewayError(status, b"", code="not_the_gateway")
    return result


def _pause(status, retry_after, tries, defects):
    """Returns the seconds to wait before the same request is sent again, or None: the answer would be the same. No two tills wait
    equally long, so that they do not all come back at once."""
    backoff = min(2 ** (tries - 1), 30) * random.uniform(1, 1.5)
    if status in (429, 503):
        asked = int(retry_after) if (retry_after or "").isascii() and (retry_after or "").isdigit() else 0
        return max(asked + random.random(), backoff if asked == 0 else 0)
    if status in (None, 408, 502, 504) or (status == 500 and defects == 1):
        return backoff
    return None


def _refusal(body):
    try:
        refusal = json.loads(body)
    except ValueError:  # of a proxy in between
        return {}
    return refusal if isinstance(refusal, dict) else {}


class Forged(Exception):
    """A request to the webhook that did not come from the gateway, or not now. Answer 401."""


def verify(secrets, headers, body):
    """Returns the event of a request to the webhook. body is the bytes as they came in, secrets the operator's whsec_… text, or the old
    and the new one while it is being replaced."""
    name, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (sent.isascii() and sent.isdigit() and len(sent) < 16) or abs(time.time() - int(sent)) > 300:
        raise Forged("the timestamp is missing, or more than five minutes off")
    signatures = [signature.encode(errors="replace") for signature in headers.get("webhook-signature", "").split()]
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        key = base64.b64decode(secret[len("whsec_"):])
        right = b"v1," + base64.b64encode(hmac.new(key, f"{name}.{sent}.".encode(errors="replace") + body, hashlib.sha256).digest())
        if any(hmac.compare_digest(signature, right) for signature in signatures):  # two while the secret is being replaced
            return json.loads(body)
    raise Forged("no signature is of a secret of ours")
