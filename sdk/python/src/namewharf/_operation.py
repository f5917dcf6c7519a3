"""What an operation is, and how its input becomes a request."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .errors import NamewharfError, refuse

#: timeout, token, idempotency_key and headers of a call.
CallOptions = Tuple[Optional[float], Optional[str], Optional[str], Optional[Mapping[str, str]]]

no_options: CallOptions = (None, None, None, None)


class Listed(NamedTuple):
    """How the pages of an answer follow one another."""

    items: str
    """the field with the elements"""
    cursor: str
    """the parameter that takes the next cursor"""
    next: str
    """where the next cursor is: next_cursor, or page.next_cursor"""


class Operation:
    """An operation of the API, as docs/openapi.json describes it."""

    __slots__ = ("id", "method", "path", "read", "batch", "keyed", "body", "required", "query", "listed")

    def __init__(
        self,
        id: str,
        method: str,
        path: str,
        read: bool = False,
        batch: bool = False,
        keyed: bool = False,
        body: bool = False,
        required: Tuple[str, ...] = (),
        query: Tuple[str, ...] = (),
        listed: Optional[Listed] = None,
    ) -> None:
        self.id = id
        self.method = method
        self.path = path
        self.read = read
        self.batch = batch
        self.keyed = keyed
        self.body = body
        self.required = required
        self.query = query
        self.listed = listed


class Prepared(NamedTuple):
    """The input of an operation, as it goes out."""

    target: str
    """path and query"""
    body: Optional[bytes]
    params: Dict[str, Any]
    """all of it, for a batch"""


def prepare(operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any]) -> Prepared:
    """Brings input into the form of the wire, and refuses what cannot be sent."""
    fields = {name: value for name, value in given.items() if value is not None}
    for name in operation.required:
        if fields.get(name, "") == "":
            raise refuse(name, "is required")
    params = fields
    target = operation.path
    if path:
        params = {}
        for name, value in zip(re.findall(r"\{(\w+)\}", operation.path), path):
            params[name] = value
            target = target.replace("{" + name + "}", segment(name, value))
        params.update(fields)
    body: Optional[bytes] = None
    query: List[str] = []
    if operation.body:
        body = encode_json({name: value for name, value in fields.items() if name not in operation.query} if operation.query else fields)
        fields = {name: value for name, value in fields.items() if name in operation.query}
    for name, value in fields.items():
        query.append(f"{encode(name)}={encode(text(value))}")
    if query:
        target += "?" + "&".join(query)
    return Prepared(target, body, params)


def text(value: Any) -> str:
    """The text of a parameter."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(text, value))
    return str(value)


def segment(name: str, value: Any) -> str:
    """An element of a path. `.` and `..` would lead elsewhere."""
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise refuse(name, "must be a text that is not empty")
    return encode(value)


_plain = re.compile(r"[A-Za-z0-9_.~-]*")


def encode(value: str) -> str:
    """Percent-encodes all but unreserved characters, as signatures have it."""
    if _plain.fullmatch(value):
        return value
    from urllib.parse import quote

    try:
        return quote(value, safe="")
    except UnicodeEncodeError:
        raise NamewharfError("validation_error", "a text has half of a surrogate pair") from None


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode_json(value: Any) -> bytes:
    """Encodes a body."""
    try:
        return _encoder.encode(value).encode()
    except (TypeError, ValueError, RecursionError):
        why = "the input cannot be encoded as JSON: it has an object of another kind, is circular, or has half of a surrogate pair"
        raise NamewharfError("validation_error", why) from None
