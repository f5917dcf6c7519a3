"""Signatures of partner requests."""

from __future__ import annotations

import hashlib
import hmac
from typing import Union
from urllib.parse import unquote_to_bytes

from ._operation import encode
from .errors import NamewharfError


def canonical_query(query: str) -> str:
    """The query with its pairs sorted by key and value, and all but unreserved characters encoded."""
    pairs = []
    for pair in query.split("&"):
        if pair:
            key, _, value = pair.partition("=")
            pairs.append((_decode(key), _decode(value)))
    pairs.sort()  # by code points, which is the order of UTF-8 bytes
    return "&".join(f"{encode(key)}={encode(value)}" for key, value in pairs)


def _decode(text: str) -> str:
    at = text.find("%")
    while at >= 0:
        if len(text) < at + 3 or not all(c in "0123456789abcdefABCDEF" for c in text[at + 1 : at + 3]):
            raise NamewharfError("validation_error", "the query is not percent-encoded UTF-8")
        at = text.find("%", at + 3)
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeError:
        raise NamewharfError("validation_error", "the query is not percent-encoded UTF-8") from None


def canonical_string(method: str, path: str, query: str, body: Union[str, bytes], timestamp: str, nonce: str) -> str:
    """The six lines that are signed.

    `path` and `query` are as they are sent, `body` is exactly the bytes that are sent, `timestamp` is the Unix time in seconds,
    and `nonce` another one for each request.
    """
    raw = body.encode() if isinstance(body, str) else body
    return "\n".join([method.upper(), path, canonical_query(query), timestamp, nonce, hashlib.sha256(raw).hexdigest()])


def sign(secret: str, method: str, path: str, query: str, body: Union[str, bytes], timestamp: str, nonce: str) -> str:
    """The value of `X-Service-Signature` of a request. Its arguments are those of `canonical_string`."""
    canonical = canonical_string(method, path, query, body, timestamp, nonce)
    return "v1=" + hmac.new(secret.encode(), canonical.encode(), hashlib.sha256).hexdigest()
