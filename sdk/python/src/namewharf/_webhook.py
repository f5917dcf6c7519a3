"""Verification of webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Union, cast

from .errors import NamewharfError, refuse

if TYPE_CHECKING:
    from .types import PartnerEvent

TOLERANCE = 300  # seconds


def verify_webhook(headers: Any, raw_body: Union[str, bytes], secret: Union[str, Iterable[str]]) -> PartnerEvent:
    """See Partner.verify_webhook."""
    if isinstance(raw_body, str):
        body = raw_body.encode("utf-8", "surrogatepass")
    elif isinstance(raw_body, (bytes, bytearray, memoryview)):
        body = bytes(raw_body)
    else:
        raise refuse("raw_body", "must be the body as it came: a text or bytes, not what was parsed from it")
    secrets = [secret] if isinstance(secret, str) else list(secret or [])
    if not secrets or not all(isinstance(one, str) and one for one in secrets):
        raise refuse("secret", "is required")
    get = _reader(headers)
    timestamp = get("webhook-timestamp")
    if not re.fullmatch(r"[0-9]{1,15}", timestamp) or abs(time.time() - int(timestamp)) > TOLERANCE:
        raise _invalid("webhook-timestamp is missing, or more than 5 minutes away")
    signed = _bytes(f"{get('webhook-id')}.{timestamp}.") + body
    good = False
    for one in secrets:  # all of them, so that the time taken does not say which
        of_body = hmac.compare_digest(hmac.new(one.encode(), body, hashlib.sha256).hexdigest().encode(), _bytes(get("x-service-signature")))
        want = b"v1," + base64.b64encode(hmac.new(_standard_key(one), signed, hashlib.sha256).digest())
        of_time = any([hmac.compare_digest(want, _bytes(given)) for given in get("webhook-signature").split(" ")])
        good = (of_body and of_time) or good
    if not good:
        raise _invalid("a signature does not match: verify the bytes of the body as they came, with the secret that was registered")
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("id"), str) or not isinstance(event.get("type"), str):
        raise _invalid("the body is no event")
    return cast("PartnerEvent", event)


def _reader(headers: Any) -> Callable[[str], str]:
    """Reads headers of any framework: a mapping, or (name, value) pairs as WSGI and ASGI servers have them."""
    found: Dict[str, str] = {}
    try:
        pairs = headers.items() if hasattr(headers, "items") else headers or ()
        for name, value in pairs:
            if isinstance(value, (list, tuple)):
                value = ", ".join(_text(one) for one in value)
            key = _text(name).lower().replace("_", "-")
            if value is not None:
                found[key[5:] if key.startswith("http-") else key] = _text(value)
    except (TypeError, ValueError):
        pass
    return lambda name: found.get(name, "")


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _standard_key(secret: str) -> bytes:
    """What Standard Webhooks keys with: the base64 after whsec_, or else the secret itself."""
    coded = re.fullmatch(r"whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)", secret)
    return base64.b64decode(coded.group(1)) if coded else secret.encode()


def _invalid(why: str) -> NamewharfError:
    return NamewharfError("invalid_webhook", why)
