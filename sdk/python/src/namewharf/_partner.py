"""The partner API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Tuple, Union

from ._generated.async_partner import AsyncPartnerOperations
from ._generated.partner import PartnerOperations
from ._io import IO, AsyncIO, BlockingIO
from ._operation import CallOptions, Operation, encode, encode_json, prepare, text
from ._paging import AsyncPages, Pages
from ._transport import Authorization, Outgoing, Transport, outgoing
from ._wire import run
from .errors import refuse

if TYPE_CHECKING:
    from .types import PartnerEvent

ROOT = "/api/partner/v1"


class _Signer(Authorization):
    """Signs requests, each with another nonce."""

    __slots__ = ("_key_id", "_secret")

    def __init__(self, key_id: Any, secret: Any) -> None:
        for name, value in (("key_id", key_id), ("secret", secret)):
            if not isinstance(value, str) or not value:
                raise refuse(name, "is required")
        if not re.fullmatch(r"[\x21-\x7e]+", key_id):
            raise refuse("key_id", "must be visible ASCII characters")
        self._key_id = key_id
        self._secret = secret

    async def headers(self, method: str, target: str, body: Optional[bytes]) -> Mapping[str, str]:
        import time
        import uuid

        from ._signature import sign

        timestamp, nonce = str(int(time.time())), str(uuid.uuid4())
        path, _, query = target.partition("?")
        return {
            "x-service-key-id": self._key_id,
            "x-service-timestamp": timestamp,
            "x-service-nonce": nonce,
            "x-service-signature": sign(self._secret, method, path, query, body or b"", timestamp, nonce),
        }


class _Core:
    """What Partner and AsyncPartner share."""

    def __init__(self, io: IO, base_url: Optional[str], key_id: str, secret: str, timeout: Optional[float], retries: int, max_retry_after_s: float) -> None:
        self.signer = _Signer(key_id, secret)
        self.transport = Transport(io, base_url, timeout, retries, max_retry_after_s, None)

    async def send(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        if operation.keyed and options[2] is None:
            options = (options[0], None, _uuid(), options[3])
        return await self.transport.json(outgoing(operation, prepare(operation, path, given), options, self.signer))

    async def page(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions, cursor: Optional[str]) -> Any:
        assert operation.listed is not None
        return await self.send(operation, path, given if cursor is None else {**given, operation.listed.cursor: cursor}, options)

    async def request(self, method: str, path: str, query: Any, body: Any, options: CallOptions) -> Any:
        if not isinstance(path, str) or not re.fullmatch(r"/[\x21-\x7e]*", path) or re.search(r"[?#\\]|/\.{0,2}(/|$)", path):
            raise refuse("path", "must begin with / and have no query; give that as query")
        if not isinstance(method, str) or not re.fullmatch(r"[A-Za-z]+", method):
            raise refuse("method", "must be an HTTP method such as GET")
        verb = method.upper()
        if options[2] is None and verb == "POST":
            options = (options[0], None, _uuid(), options[3])
        asked = _query(query)
        target = (path if path.startswith("/api/") else ROOT + path) + (f"?{asked}" if asked else "")
        if isinstance(body, str):
            body = body.encode()
        sent = body if body is None or isinstance(body, bytes) else encode_json(body)
        return await self.transport.json(Outgoing(verb, target, sent, verb in ("GET", "HEAD") or options[2] is not None, options, self.signer))


def _uuid() -> str:
    import uuid

    return str(uuid.uuid4())


def _query(query: Any) -> str:
    from ._signature import canonical_query

    if query is None or isinstance(query, str):
        return canonical_query(query or "")
    pairs = query.items() if hasattr(query, "items") else query
    found = [(name, one) for name, value in pairs if value is not None for one in (value if isinstance(value, (list, tuple)) else (value,))]
    return canonical_query("&".join(f"{encode(text(name))}={encode(text(value))}" for name, value in found))


def _verify(headers: Any, raw_body: Union[str, bytes], secret: Union[str, Iterable[str]]) -> PartnerEvent:
    """Verifies a delivery of the webhook and returns its event.

    Both signatures must match, and it must have been sent within 5 minutes; otherwise it raises an error with the code
    `invalid_webhook`. An event may come twice: store its id.

    headers: those of the request: a mapping, or (name, value) pairs; the `environ` of WSGI will do.
    raw_body: the body exactly as it came, not what was parsed from it.
    secret: with which the webhook was registered; several while it is being changed.
    """
    from ._webhook import verify_webhook

    return verify_webhook(headers, raw_body, secret)


class Partner(PartnerOperations):
    """The partner API. Every request is signed, with another nonce for each attempt.

    Writes have an idempotency key, which stays the same when they are tried again. Every method takes `timeout`,
    `idempotency_key` and `headers`. The other arguments are those of Namewharf; the secret is never sent.
    """

    def __init__(
        self,
        base_url: Optional[str] = None,
        key_id: str = "",
        secret: str = "",
        *,
        timeout: Optional[float] = 15.0,
        retries: int = 3,
        max_retry_after_s: float = 60.0,
    ) -> None:
        self._core = _Core(BlockingIO(), base_url, key_id, secret, timeout, retries, max_retry_after_s)

    verify_webhook = staticmethod(_verify)

    def __enter__(self) -> Partner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Partner {self._core.transport.base}>"

    def close(self) -> None:
        """Closes idle connections. The client can be used again."""
        self._core.transport.io.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Any = None,
        body: Any = None,
        timeout: Optional[float] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Any:
        """Sends any request to the partner API, signed, and returns its answer.

        A path that does not begin with `/api/` is below `/api/partner/v1`. `query` is its fields, or a text as it is in a URL.
        `body` is sent as JSON; a text or bytes are sent as they are. Names are as on the wire. A POST has an idempotency key.
        """
        return run(self._core.request(method, path, query, body, (timeout, None, idempotency_key, headers)))

    def _send(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        return run(self._core.send(operation, path, given, options))

    def _pages(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        assert operation.listed is not None
        return Pages(lambda cursor: run(self._core.page(operation, path, given, options, cursor)), operation.listed)


class AsyncPartner(AsyncPartnerOperations):
    """The partner API, for asyncio. It is as Partner; lists are awaited for a page, or looped over with `async for`."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        key_id: str = "",
        secret: str = "",
        *,
        timeout: Optional[float] = 15.0,
        retries: int = 3,
        max_retry_after_s: float = 60.0,
    ) -> None:
        self._core = _Core(AsyncIO(), base_url, key_id, secret, timeout, retries, max_retry_after_s)

    verify_webhook = staticmethod(_verify)

    async def __aenter__(self) -> AsyncPartner:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<AsyncPartner {self._core.transport.base}>"

    async def aclose(self) -> None:
        """Closes idle connections. The client can be used again."""
        self._core.transport.io.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Any = None,
        body: Any = None,
        timeout: Optional[float] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Any:
        """Sends any request to the partner API, signed, and returns its answer. See Partner.request."""
        return await self._core.request(method, path, query, body, (timeout, None, idempotency_key, headers))

    async def _send(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        return await self._core.send(operation, path, given, options)

    def _pages(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        assert operation.listed is not None
        return AsyncPages(lambda cursor: self._core.page(operation, path, given, options, cursor), operation.listed)
