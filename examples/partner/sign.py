#!/usr/bin/env python3
"""Sends a signed request and prints the answer.

python3 sign.py METHOD PATH[?QUERY] [BODY [IDEMPOTENCY-KEY]]
NAMEWHARF_BASE_URL, NAMEWHARF_KEY_ID and NAMEWHARF_PARTNER_SECRET are read from the environment.
"""

import hashlib
import hmac
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from urllib.parse import quote, unquote_to_bytes


def canonical_query(query: str) -> str:
    def decoded(side: str) -> bytes:
        return unquote_to_bytes(side.replace("+", " "))

    sides = [pair.partition("=") for pair in query.split("&") if pair]
    pairs = sorted((decoded(key), decoded(value)) for key, _, value in sides)
    return "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in pairs)


def signed(method: str, path: str, query: str, body: bytes) -> dict[str, str]:
    secret = os.environ["NAMEWHARF_PARTNER_SECRET"]
    timestamp, nonce = str(int(time.time())), str(uuid.uuid4())
    digest = hashlib.sha256(body).hexdigest()
    canonical = "\n".join([method, path, query, timestamp, nonce, digest])
    signature = hmac.new(secret.encode(), canonical.encode(), hashlib.sha256).hexdigest()
    return {
        "X-Service-Key-Id": os.environ["NAMEWHARF_KEY_ID"],
        "X-Service-Timestamp": timestamp,
        "X-Service-Nonce": nonce,
        "X-Service-Signature": "v1=" + signature,
    }


def main() -> int:
    method, target, body, idempotency_key = (sys.argv[1:] + ["", ""])[:4]
    path, _, query = target.partition("?")
    query = canonical_query(query)
    headers = signed(method, path, query, body.encode())
    if body:
        headers["Content-Type"] = "application/json"
    if idempotency_key:
        headers["Idempotency-Key"] = idempotency_key
    url = os.environ["NAMEWHARF_BASE_URL"] + path + ("?" + query if query else "")
    request = urllib.request.Request(url, body.encode() or None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            print(answer.read().decode())
    except urllib.error.HTTPError as refused:
        print(refused.read().decode())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
