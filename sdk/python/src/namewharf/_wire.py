"""HTTP/1.1 over a connection, blocking or not: one request, its answer, and again.

Functions are coroutines. Over a blocking connection they never suspend, and `run` brings them to their end.
"""

from __future__ import annotations

import re
from typing import Any, AsyncIterator, Coroutine, Dict, List, Optional, Tuple, TypeVar

from .errors import NamewharfError

MAX_ANSWER = 16 << 20  # bytes
MAX_HEAD = 64 << 10

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that does not suspend."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise NamewharfError("unsupported", "a function was given that is asynchronous", hint="Use AsyncNamewharf.")


class Broken(Exception):
    """The connection ended, or what came is not HTTP. `unused`: nothing had come."""

    def __init__(self, why: str, unused: bool = False) -> None:
        super().__init__(why)
        self.unused = unused


class Wire:
    """A connection. `receive` returns b"" at its end; both raise OSError, or Expired after `deadline`."""

    __slots__ = ("origin", "used", "deadline")

    origin: str
    used: bool  # it has carried a request
    deadline: Optional[float]

    async def send(self, data: bytes) -> None:
        raise NotImplementedError

    async def receive(self) -> bytes:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Response:
    """An answer, whose body is still to be read."""

    __slots__ = ("status", "headers", "_wire", "_rest", "_left", "_chunked", "_lasting", "whole")

    def __init__(self, status: int, headers: Dict[str, str], wire: Wire, rest: bytes, bodiless: bool, lasting: bool) -> None:
        self.status = status
        self.headers = headers
        self._wire = wire
        self._rest = rest
        self._lasting = lasting
        self._chunked = False
        self._left: Optional[int] = None  # bytes; None: until the end of the connection
        self.whole = False  # all of the body has been read
        if bodiless:
            self._left = 0
        elif headers.get("transfer-encoding", "identity").lower() != "identity":
            self._chunked = True
        elif "content-length" in headers:
            length = headers["content-length"]
            if not re.fullmatch("[0-9]{1,15}", length):
                raise Broken("the length of the answer is no number")
            self._left = int(length)
        else:
            self._lasting = False

    @property
    def lasting(self) -> bool:
        """Whether the connection can carry another request."""
        return self.whole and self._lasting and not self._rest

    @property
    def length(self) -> Optional[int]:
        """The length of the body, where it is known before."""
        return None if self._chunked else self._left

    async def read(self) -> bytes:
        """The whole body, decompressed. Raises TooLarge over 16 MiB."""
        coding = self.headers.get("content-encoding", "identity").lower()
        if self._left is not None:
            if self._left > MAX_ANSWER:
                raise TooLarge
            rest = self._rest
            if len(rest) >= self._left:  # it came with the head, as most do
                self._rest = rest[self._left :]
                body = rest[: self._left]
                self.whole = True
                return body if coding == "identity" else _inflated(body, coding)
        pieces: List[bytes] = []
        size = 0
        async for piece in self.pieces():
            pieces.append(piece)
            size += len(piece)
            if size > MAX_ANSWER:
                raise TooLarge
        body = b"".join(pieces)
        return body if coding == "identity" else _inflated(body, coding)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, as it comes."""
        if self._chunked:
            while True:
                size = await self._chunk_size()
                if size == 0:
                    break
                while size > 0:
                    piece = await self._piece(size)
                    size -= len(piece)
                    yield piece
                if await self._line() != b"":
                    raise Broken("a chunk has another length than it says")
            while await self._line() != b"":
                pass
        elif self._left is not None:
            left = self._left
            while left > 0:
                piece = await self._piece(left)
                left -= len(piece)
                yield piece
        else:
            if self._rest:
                piece, self._rest = self._rest, b""
                yield piece
            while True:
                piece = await self._wire.receive()
                if not piece:
                    break
                yield piece
        self.whole = True

    async def _piece(self, most: int) -> bytes:
        piece = self._rest or await self._wire.receive()
        if not piece:
            raise Broken("it ended within the answer")
        self._rest = piece[most:]
        return piece[:most]

    async def _line(self) -> bytes:
        while True:
            line, end, rest = self._rest.partition(b"\n")
            if end:
                self._rest = rest
                return line.rstrip(b"\r")
            if len(self._rest) > MAX_HEAD:
                raise Broken("a line of the answer is too long")
            more = await self._wire.receive()
            if not more:
                raise Broken("it ended within the answer")
            self._rest += more

    async def _chunk_size(self) -> int:
        size = (await self._line()).partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,15}", size):
            raise Broken("the size of a chunk is no number")
        return int(size, 16)


class TooLarge(Exception):
    """The body is over 16 MiB."""


def _inflated(body: bytes, coding: str) -> bytes:
    import zlib

    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Broken("the answer has a compression that was not asked for")
    inflater = zlib.decompressobj(47 if coding != "deflate" else 15)
    try:
        whole = inflater.decompress(body, MAX_ANSWER + 1)
    except zlib.error:
        raise Broken("the answer cannot be decompressed") from None
    if len(whole) > MAX_ANSWER:
        raise TooLarge
    if not inflater.eof:
        raise Broken("it ended within the answer")
    return whole


async def exchange(wire: Wire, data: bytes, method: str) -> Response:
    """Sends a request and reads the head of its answer."""
    failure: Optional[OSError] = None
    try:
        await wire.send(data)
    except (BrokenPipeError, ConnectionResetError, ConnectionAbortedError) as error:
        failure = error  # a server that refuses a large body answers before it has read it
    rest = b""
    while True:
        end = rest.find(b"\r\n\r\n")
        while end < 0:
            if len(rest) > MAX_HEAD:
                raise Broken("the head of the answer is too long")
            try:
                more = await wire.receive()
            except ConnectionResetError as error:
                raise Broken(_why(failure or error), unused=not rest) from None
            if not more:
                raise Broken("it ended before the answer" if failure is None else _why(failure), unused=not rest)
            rest += more
            end = rest.find(b"\r\n\r\n")
        status, lasting, headers = _head(rest[:end])
        rest = rest[end + 4 :]
        if status >= 200:
            break
    wire.used = True
    return Response(status, headers, wire, rest, method == "HEAD" or status in (204, 304), lasting and failure is None)


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _head(head: bytes) -> Tuple[int, bool, Dict[str, str]]:
    lines = head.decode("latin-1").split("\r\n")
    first = lines[0]
    if not (first.startswith("HTTP/1.") and first[8:9] == " " and first[9:12].isascii() and first[9:12].isdigit()):
        raise Broken("the answer is not HTTP")
    headers: Dict[str, str] = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        name = name.lower()
        value = value.strip()
        headers[name] = value if name not in headers else f"{headers[name]}, {value}"
    connection = headers.get("connection", "").lower()
    return int(first[9:12]), (first[7] == "1" and "close" not in connection) or "keep-alive" in connection, headers
