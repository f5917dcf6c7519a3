#!/usr/bin/env python3
"""Receives webhooks: python3 verify.py [PORT]. NAMEWHARF_WEBHOOK_SECRET is the secret with which the webhook was registered."""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["NAMEWHARF_WEBHOOK_SECRET"]


def by_service(signature: str, body: bytes) -> bool:
    """Verifies X-Service-Signature, which covers the body."""
    want = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(want.encode(), signature.encode())


def by_standard(event_id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    """Verifies webhook-signature, which covers the timestamp too and so prevents replays."""
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(SECRET[6:]) if SECRET.startswith("whsec_") else SECRET.encode()
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    want = b"v1," + base64.b64encode(digest)
    return any(hmac.compare_digest(want, given.encode()) for given in signatures.split())


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10  # seconds, for a sender that stalls

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1 << 20))
        get = lambda name: self.headers.get(name, "")
        good = by_service(get("X-Service-Signature"), body) and by_standard(
            get("webhook-id"), get("webhook-timestamp"), get("webhook-signature"), body
        )
        if good:
            event = json.loads(body)
            # Store the event by its id, which may arrive twice, and process it after the answer.
            print(event["type"], event["id"], flush=True)
        self.send_response(200 if good else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
