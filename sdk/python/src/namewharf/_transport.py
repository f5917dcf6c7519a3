"""Sends requests, repeats them, and reads answers."""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, List, Mapping, NamedTuple, NoReturn, Optional, Tuple, TypeVar

from ._io import IO, Expired, Origin
from ._operation import CallOptions, Operation, Prepared, no_options
from ._version import __version__
from ._wire import MAX_ANSWER, Broken, Response, TooLarge, Wire, exchange
from .errors import ConnectionError, NamewharfError, TimeoutError, refuse

T = TypeVar("T")

MAX_REDIRECTS = 5
FIRST_WAIT = 0.25  # seconds, doubled with each attempt
LONGEST_WAIT = 8.0
USER_AGENT = f"namewharf-python/{__version__} ({sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]})".replace("cpython", "python")


class Authorization:
    """Says who asks."""

    async def headers(self, method: str, target: str, body: Optional[bytes]) -> Mapping[str, str]:
        """The headers of a request, anew for each time it is sent. target: path and query as they are sent."""
        raise NotImplementedError

    async def renew(self) -> bool:
        """Replaces an authorization that was refused. False: there is no other."""
        return False


class Outgoing(NamedTuple):
    """A request, which may be sent several times."""

    method: str
    target: str
    """path and query below the base URL, or a whole URL"""
    body: Optional[bytes] = None
    repeatable: bool = False
    """it may be sent again after it may have taken effect"""
    options: CallOptions = no_options
    authorization: Optional[Authorization] = None
    content_type: str = "application/json"
    accept: str = "application/json"


class StreamEvent(NamedTuple):
    """An element of a stream of server-sent events."""

    event: str
    data: str


class Transport:
    """What the clients of both APIs share."""

    def __init__(
        self,
        io: IO,
        base_url: Optional[str],
        timeout: Optional[float],
        retries: int,
        max_retry_after_s: float,
        headers: Optional[Mapping[str, str]],
    ) -> None:
        self.io = io
        self.origin, path = parse_base(base_url if base_url is not None else os.environ.get("NAMEWHARF_BASE_URL"))
        self.base = self.origin.name + path  # without a slash at its end
        self._path = path
        self._timeout = _seconds("timeout", timeout)
        if not isinstance(retries, int) or retries < 0:
            raise refuse("retries", "must be a number that is not negative")
        self._retries = retries
        self._max_retry_after_s = _number("max_retry_after_s", max_retry_after_s)
        self._headers = {"user-agent": USER_AGENT, "accept-encoding": "identity", **checked(headers)}

    async def json(self, request: Outgoing) -> Any:
        """Sends a request and returns its JSON answer."""
        return await self._repeat(request, lambda: self._attempt(request))

    async def stream(self, request: Outgoing) -> AsyncIterator[StreamEvent]:
        """Sends a request and yields the events of its answer. It is repeated only before the first of them."""
        limit = self._limit(request.options)
        response, wire = await self._repeat(request, lambda: self._follow(request, self._deadline(limit), limit))
        try:
            if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                raise _unexpected(response)
            lines = EventLines()
            pieces = response.pieces()
            while True:
                wire.deadline = self._deadline(limit)  # of a stream, between two pieces of it
                try:
                    piece = await pieces.__anext__()
                except StopAsyncIteration:
                    raise ConnectionError(f"{self.origin.name} ended the stream before its end") from None
                except (OSError, Broken, Expired) as error:
                    raise self._failed(error, self.origin.name, limit) from None
                for event in lines.push(piece):
                    yield event
        finally:
            wire.close()

    async def _repeat(self, request: Outgoing, attempt: Callable[[], Awaitable[T]]) -> T:
        renewed = False
        number = 0
        while True:
            try:
                return await attempt()
            except NamewharfError as error:
                failure = error
            if failure.status == 401 and request.authorization is not None and not renewed:
                renewed = True
                if await request.authorization.renew():
                    continue
            wait = self.wait(failure, number) if request.repeatable else None
            if wait is None:
                raise failure
            number += 1
            await self.io.sleep(wait)

    def wait(self, failure: NamewharfError, attempt: int) -> Optional[float]:
        """Seconds to wait before the next attempt after a failure; None: there is none."""
        passes = failure.code in ("connection_error", "timeout") or failure.status in (429, 502, 503, 504)
        asked = failure.retry_after or 0
        if not passes or attempt >= self._retries or asked > self._max_retry_after_s:
            return None
        return asked + random.random() * min(LONGEST_WAIT, FIRST_WAIT * 2.0**attempt)

    async def _attempt(self, request: Outgoing) -> Any:
        limit = self._limit(request.options)
        response, wire = await self._follow(request, self._deadline(limit), limit)
        try:
            body = await self._body(response, limit)
        except BaseException:
            wire.close()
            raise
        self._done(response, wire)
        kind = response.headers.get("content-type", "")
        if not kind.startswith("application/json") and not re.search(r"[/+]json\b", kind, re.I):
            raise _unexpected(response)
        return decode(body, response)

    async def _follow(self, request: Outgoing, deadline: Optional[float], limit: Optional[float]) -> Tuple[Response, Wire]:
        """Sends a request, follows redirects within its origin, and raises what is no success."""
        if request.target.startswith("/"):
            origin, target = self.origin, self._path + request.target
        else:
            origin, target = split_url(request.target)
        redirects = 0
        while True:
            response, wire = await self._send(request, origin, target, deadline, limit)
            if 200 <= response.status < 300:
                return response, wire
            try:
                body = await self._body(response, limit)
            except BaseException:
                wire.close()
                raise
            self._done(response, wire)
            if response.status not in (301, 302, 303, 307, 308):
                raise failed(response, body)
            leads = _target(response.headers.get("location"), origin, target)
            if leads is None or redirects >= MAX_REDIRECTS or (response.status < 307 and request.method != "GET"):
                raise NamewharfError(
                    "redirect_refused",
                    f"a redirect leads away from {origin.name}, changes the method, or has no end",
                    hint="Give the base URL that the service itself names.",
                    **about(response),
                )
            redirects += 1
            target = leads

    async def _send(self, request: Outgoing, origin: Origin, target: str, deadline: Optional[float], limit: Optional[float]) -> Tuple[Response, Wire]:
        data = await self._encoded(request, origin, target)
        fresh = False
        while True:
            wire: Optional[Wire] = None
            try:
                wire = await self.io.connect(origin, deadline, fresh)
                return await exchange(wire, data, request.method), wire
            except (OSError, Broken, Expired) as error:
                used = wire is not None and wire.used
                if wire is not None:
                    wire.close()
                if used and request.repeatable and isinstance(error, Broken) and error.unused:
                    fresh = True  # the server ended an idle connection while the request was on its way
                    continue
                raise self._failed(error, origin.name, limit) from None
            except BaseException:
                if wire is not None:
                    wire.close()
                raise

    async def _body(self, response: Response, limit: Optional[float]) -> bytes:
        try:
            return await response.read()
        except TooLarge:
            raise NamewharfError("response_too_large", "the answer is over 16 MiB", **about(response)) from None
        except (OSError, Broken, Expired) as error:
            raise self._failed(error, self.origin.name, limit) from None

    def _done(self, response: Response, wire: Wire) -> None:
        if response.lasting:
            self.io.release(wire)
        else:
            wire.close()

    async def _encoded(self, request: Outgoing, origin: Origin, target: str) -> bytes:
        timeout, _, key, given = request.options
        headers: Dict[str, str] = {"accept": request.accept, **self._headers}
        if given:
            headers.update(checked(given))
        if request.authorization is not None:
            headers.update(await request.authorization.headers(request.method, target, request.body))
        if key is not None:
            headers["idempotency-key"] = _key(key)
        if request.body is not None:
            headers["content-type"] = request.content_type
            headers["content-length"] = str(len(request.body))
        elif request.method in ("POST", "PUT", "PATCH"):
            headers["content-length"] = "0"
        lines = [f"{request.method} {target} HTTP/1.1\r\nhost: {origin.name.partition('://')[2]}\r\n"]
        lines.extend([f"{name}: {value}\r\n" for name, value in headers.items()])
        lines.append("\r\n")
        head = "".join(lines).encode("latin-1")
        return head if request.body is None else head + request.body

    def _limit(self, options: CallOptions) -> Optional[float]:
        return self._timeout if options[0] is None else _seconds("timeout", options[0])

    def _deadline(self, limit: Optional[float]) -> Optional[float]:
        return None if limit is None else time.monotonic() + limit

    def _failed(self, error: BaseException, origin: str, limit: Optional[float]) -> NamewharfError:
        if isinstance(error, Expired):
            return TimeoutError(f"{origin} did not answer within {limit:g} s")
        why = (error.strerror or str(error) or type(error).__name__) if isinstance(error, OSError) else str(error)
        return ConnectionError(f"{origin} could not be reached, or the connection broke: {why}")


def outgoing(operation: Operation, prepared: Prepared, options: CallOptions, authorization: Optional[Authorization]) -> Outgoing:
    """Makes the request of an operation."""
    return Outgoing(operation.method, prepared.target, prepared.body, operation.read or options[2] is not None, options, authorization)


class Bearer(Authorization):
    """A token that does not change."""

    __slots__ = ("_headers",)

    def __init__(self, token: Any) -> None:
        self._headers = bearer(token)

    async def headers(self, method: str, target: str, body: Optional[bytes]) -> Mapping[str, str]:
        return self._headers


def bearer(token: Any) -> Dict[str, str]:
    """Checks a token before it is part of a header."""
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise refuse("token", "must be a text of visible ASCII characters")
    return {"authorization": f"Bearer {token}"}


class EventLines:
    """Takes server-sent events apart."""

    def __init__(self) -> None:
        self._rest = b""
        self._event = ""
        self._data: List[str] = []

    def push(self, piece: bytes) -> List[StreamEvent]:
        """The events that end in a piece."""
        events: List[StreamEvent] = []
        held = self._rest + piece
        if len(held) > MAX_ANSWER:
            raise NamewharfError("response_too_large", "an event of the stream is over 16 MiB")
        last = held.endswith(b"\r")  # a line feed may follow
        lines = re.split(rb"\r\n|\n|\r", held[:-1] if last else held)
        self._rest = lines.pop() + (b"\r" if last else b"")
        for line in lines:
            field, _, value = line.decode("utf-8", "replace").partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "event":
                self._event = value
            elif field == "data":
                self._data.append(value)
            elif not line:
                if self._data:
                    events.append(StreamEvent(self._event or "message", "\n".join(self._data)))
                self._event, self._data = "", []
        return events


def decode(data: Any, response: Optional[Response] = None) -> Any:
    """Decodes JSON that may be part of a stream."""
    try:
        return json.loads(data if isinstance(data, str) else data.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise NamewharfError("invalid_response", "the answer is no JSON", **(about(response) if response else {})) from None


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def described(error: Any, status: Optional[int], request_id: Optional[str] = None, retry_after: Optional[float] = None) -> NamewharfError:
    """The error that an answer, or an element of one, describes."""
    if not isinstance(error, dict):
        error = {}

    def text(name: str) -> Optional[str]:
        value = error.get(name)
        return value if isinstance(value, str) else None

    hint = text("hint")
    canonical = text("canonical_string")
    if hint is None and canonical:
        hint = f"The server expected this to be signed:\n{canonical}"
    if hint is None and error.get("code") == "authentication_required":
        hint = "Sign in with sign_in(), or give a token."
    seconds = error.get("retry_after_s")
    details = error.get("details")
    return NamewharfError(
        text("code") or "http_error",
        text("message") or f"the server answered {status}",
        status=status,
        request_id=text("request_id") or request_id,
        details=details if isinstance(details, list) else None,
        retry_after=retry_after if retry_after is not None else seconds if not isinstance(seconds, bool) and isinstance(seconds, (int, float)) and seconds >= 0 else None,
        hint=hint,
    )


def failed(response: Response, body: bytes) -> NamewharfError:
    """The error that an answer is."""
    retry_after = _retry_after(response)
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, str) and isinstance(answer, dict):  # of OAuth, RFC 6749 section 5.2
        error = {"code": error, "message": answer.get("error_description")}
    return described(error, retry_after=retry_after, **about(response))


def _retry_after(response: Response) -> Optional[float]:
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return int(value[:9])
    at = _date(value)
    if at is None:
        return None
    now = _date(response.headers.get("date", ""))  # the server's clock, where it can be seen
    return max(0.0, at - (time.time() if now is None else now))


def _date(value: str) -> Optional[float]:
    if not value:
        return None
    from email.utils import mktime_tz, parsedate_tz

    try:
        parsed = parsedate_tz(value)
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def about(response: Response) -> Dict[str, Any]:
    """What an error says of an answer."""
    return {"status": response.status, "request_id": response.headers.get("x-request-id")}


def _unexpected(response: Response) -> NamewharfError:
    kind = response.headers.get("content-type", "")[:80] or "of no type"
    return NamewharfError("invalid_response", f"the answer is {kind}, not what was asked for", hint="Is the base URL that of the service?", **about(response))


def _target(location: Optional[str], origin: Origin, target: str) -> Optional[str]:
    """Path and query of a redirect, if it stays within its origin."""
    if location is None or not re.fullmatch(r"[\x21-\x7e]+", location):
        return None
    from urllib.parse import urljoin

    try:
        to, path = split_url(urljoin(origin.name + target, location))
    except (ValueError, NamewharfError):
        return None
    return path if to == origin else None


def split_url(url: str) -> Tuple[Origin, str]:
    """Takes a URL apart into its origin, and path and query."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.password is not None:
        raise ValueError
    host = parts.hostname
    if not re.fullmatch(r"[0-9A-Za-z._:-]+", host):
        host = host.encode("idna").decode()
    tls = parts.scheme == "https"
    port = parts.port or (443 if tls else 80)
    shown = f"[{host}]" if ":" in host else host
    if port != (443 if tls else 80):
        shown += f":{port}"
    return Origin(f"{parts.scheme}://{shown}", host, port, tls), (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def parse_base(base: Any) -> Tuple[Origin, str]:
    """Takes a base URL apart into its origin, and its path without a slash at the end."""
    if not base:
        raise refuse("base_url", "is required: give it, or set NAMEWHARF_BASE_URL")
    if not isinstance(base, str) or not re.fullmatch(r"[^\s?#@\\]+", base):
        raise refuse("base_url", "must be an http or https URL without user, query and fragment")
    try:
        origin, path = split_url(base)
    except ValueError:  # UnicodeError of a host is one
        raise refuse("base_url", "must be a URL such as https://names.example") from None
    if not re.fullmatch(r"[\x21-\x7e]*", path):
        raise refuse("base_url", "must have a path of ASCII characters")
    return origin, path.rstrip("/")


def _seconds(name: str, value: Any) -> Optional[float]:
    if value is None:
        return None
    seconds = _number(name, value)
    return seconds if 0 < seconds < 1e8 else None


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise refuse(name, "must be a number of seconds that is not negative")
    return float(value)


_framing = ("connection", "content-length", "host", "transfer-encoding")


def checked(given: Optional[Mapping[str, str]]) -> Dict[str, str]:
    """Headers of the caller, with lower-case names."""
    headers: Dict[str, str] = {}
    for name, value in (given or {}).items():
        good = isinstance(name, str) and re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.A)
        if not good or not isinstance(value, str) or not re.fullmatch(r"[\t\x20-\x7e\x80-\xff]*", value):
            raise refuse("headers", "must be names with texts that a header can hold")
        if name.lower() in _framing:
            raise refuse("headers", f"must be without {name}: the connection decides on it")
        headers[name.lower()] = value
    return headers


def _key(key: Any) -> str:
    if not isinstance(key, str) or not re.fullmatch(r"[\x20-\x7e]{1,255}", key):
        raise refuse("idempotency_key", "must be 1 to 255 printable ASCII characters")
    return key
