"""How the SDK reaches the network and waits: `BlockingIO` in the thread of the caller, `AsyncIO` in the event loop."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Coroutine, Dict, List, NamedTuple, Optional, Set, TypeVar

from ._wire import Wire

if TYPE_CHECKING:
    import asyncio
    import ssl
    from concurrent.futures import Future

T = TypeVar("T")

_POOL_SIZE = 16  # idle connections to an origin
_tls: Optional[ssl.SSLContext] = None


class Expired(Exception):
    """The deadline has passed."""


class Origin(NamedTuple):
    """Where a connection leads."""

    name: str
    host: str
    port: int
    tls: bool


def _context() -> ssl.SSLContext:
    global _tls
    if _tls is None:
        import ssl

        _tls = ssl.create_default_context()
    return _tls


class Lock:
    """A lock, which another thread or task than that which took it may release."""

    __slots__ = ()

    async def acquire(self) -> None:
        raise NotImplementedError

    def release(self) -> None:
        raise NotImplementedError


class IO:
    """What both kinds do. Their coroutines are those of `_wire`."""

    async def connect(self, origin: Origin, deadline: Optional[float], fresh: bool) -> Wire:
        """An idle connection of the pool, or a new one. fresh: a new one."""
        raise NotImplementedError

    def release(self, wire: Wire) -> None:
        """Returns a connection to the pool, for the next request."""
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    def lock(self) -> Lock:
        """A lock that is free."""
        raise NotImplementedError

    async def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Awaits a coroutine, which goes on to its end even if the caller is cancelled."""
        raise NotImplementedError

    async def result(self, future: Future[T], seconds: float) -> T:
        """Waits for a thread. Raises Expired."""
        raise NotImplementedError

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the user that may take its time, and awaits what it returns."""
        raise NotImplementedError

    async def gather(self, runs: List[Callable[[], Awaitable[T]]], most: int) -> List[T]:
        """Runs functions, at most so many at a time. The first failure stops the others."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes idle connections."""
        raise NotImplementedError


class _Socket(Wire):
    __slots__ = ("_socket", "_poll")

    def __init__(self, connected: socket.socket, origin: str) -> None:
        self._socket = connected
        self.origin = origin
        self.used = False
        self.deadline = None

    def _limit(self) -> None:
        if self.deadline is None:
            self._socket.settimeout(None)
            return
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Expired
        self._socket.settimeout(left)

    async def send(self, data: bytes) -> None:
        self._limit()
        try:
            self._socket.sendall(data)
        except socket.timeout:
            raise Expired from None

    async def receive(self) -> bytes:
        self._limit()
        try:
            return self._socket.recv(65536)
        except socket.timeout:
            raise Expired from None

    def stale(self) -> bool:
        """Whether something came, such as the end of the connection, although nothing was asked."""
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([self._socket], [], [], 0)[0])

    def close(self) -> None:
        self._socket.close()


class _ThreadLock(Lock):
    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()

    async def acquire(self) -> None:
        self._lock.acquire()

    def release(self) -> None:
        self._lock.release()


class BlockingIO(IO):
    """Sockets that block. Any number of threads may use it; a process that was forked begins with connections of its own."""

    def __init__(self) -> None:
        self._idle: Dict[str, List[_Socket]] = {}
        self._mutex = threading.Lock()
        self._process = os.getpid()

    async def connect(self, origin: Origin, deadline: Optional[float], fresh: bool) -> Wire:
        if self._process != os.getpid():
            self._idle, self._mutex, self._process = {}, threading.Lock(), os.getpid()
        idle = self._idle.get(origin.name)
        while idle and not fresh:
            try:
                wire = idle.pop()
            except IndexError:  # another thread was first
                break
            if not wire.stale():
                wire.deadline = deadline
                return wire
            wire.close()
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise Expired
        try:
            connected = socket.create_connection((origin.host, origin.port), left)
            try:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if origin.tls:
                    connected = _context().wrap_socket(connected, server_hostname=origin.host)
            except BaseException:
                connected.close()
                raise
        except socket.timeout:
            raise Expired from None
        wire = _Socket(connected, origin.name)
        wire.deadline = deadline
        return wire

    def release(self, wire: Wire) -> None:
        assert isinstance(wire, _Socket)
        with self._mutex:
            idle = self._idle.setdefault(wire.origin, [])
            if len(idle) < _POOL_SIZE:
                idle.append(wire)
                return
        wire.close()

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def lock(self) -> Lock:
        return _ThreadLock()

    async def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return await coroutine

    async def result(self, future: Future[T], seconds: float) -> T:
        from concurrent.futures import TimeoutError as Late

        try:
            return future.result(seconds)
        except Late:
            raise Expired from None

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        value = function(*arguments)
        return await value if hasattr(value, "__await__") else value

    async def gather(self, runs: List[Callable[[], Awaitable[T]]], most: int) -> List[T]:
        return [await one() for one in runs]

    def close(self) -> None:
        with self._mutex:
            idle, self._idle = self._idle, {}
        for wires in idle.values():
            for wire in wires:
                wire.close()

    def __del__(self) -> None:
        self.close()


class _Stream(Wire):
    __slots__ = ("_reader", "_writer", "_loop")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, origin: str, loop: asyncio.AbstractEventLoop) -> None:
        self._reader = reader
        self._writer = writer
        self._loop = loop
        self.origin = origin
        self.used = False
        self.deadline = None

    async def _within(self, wait: Callable[[], Awaitable[T]]) -> T:
        if self.deadline is None:
            return await wait()
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Expired
        late = False

        def expire() -> None:
            nonlocal late
            late = True
            self._writer.transport.abort()

        timer = self._loop.call_later(left, expire)
        try:
            value = await wait()
        except OSError:
            if late:
                raise Expired from None
            raise
        finally:
            timer.cancel()
        if late:
            raise Expired
        return value

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._within(self._writer.drain)

    async def receive(self) -> bytes:
        return await self._within(lambda: self._reader.read(65536))

    def stale(self) -> bool:
        """As that of _Socket."""
        return self._reader.at_eof() or self._writer.is_closing() or bool(getattr(self._reader, "_buffer", b""))

    def close(self) -> None:
        self._writer.transport.abort()


class _TaskLock(Lock):
    """A lock of one event loop at a time, as AsyncIO is."""

    __slots__ = ("_lock", "_loop")

    def __init__(self) -> None:
        self._lock: Optional[asyncio.Lock] = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    async def acquire(self) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        if self._lock is None or loop is not self._loop:
            self._lock, self._loop = asyncio.Lock(), loop
        await self._lock.acquire()

    def release(self) -> None:
        assert self._lock is not None
        self._lock.release()


class AsyncIO(IO):
    """Streams of asyncio. It is of one event loop at a time; another loop begins with connections of its own."""

    def __init__(self) -> None:
        self._idle: Dict[str, List[_Stream]] = {}
        self._finishing: Set[asyncio.Task[Any]] = set()
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def _here(self) -> asyncio.AbstractEventLoop:
        import asyncio

        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._idle, self._finishing, self._loop = {}, set(), loop
        return loop

    async def connect(self, origin: Origin, deadline: Optional[float], fresh: bool) -> Wire:
        import asyncio

        loop = self._here()
        idle = self._idle.get(origin.name)
        while idle and not fresh:
            wire = idle.pop()
            if not wire.stale():
                wire.deadline = deadline
                return wire
            wire.close()
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise Expired
        context = _context() if origin.tls else None
        opening = asyncio.open_connection(origin.host, origin.port, ssl=context, server_hostname=origin.host if context else None)
        try:
            reader, writer = await asyncio.wait_for(opening, left)
        except asyncio.TimeoutError:
            raise Expired from None
        wire = _Stream(reader, writer, origin.name, loop)
        wire.deadline = deadline
        return wire

    def release(self, wire: Wire) -> None:
        assert isinstance(wire, _Stream)
        idle = self._idle.setdefault(wire.origin, [])
        if len(idle) < _POOL_SIZE:
            idle.append(wire)
        else:
            wire.close()

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)

    def lock(self) -> Lock:
        return _TaskLock()

    async def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        import asyncio

        task = self._here().create_task(coroutine)
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        return await asyncio.shield(task)

    async def finished(self) -> None:
        """Waits for what goes on although its caller was cancelled."""
        import asyncio

        self._here()
        if self._finishing:
            await asyncio.wait(self._finishing)

    async def result(self, future: Future[T], seconds: float) -> T:
        import asyncio

        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except asyncio.TimeoutError:
            raise Expired from None

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        loop = self._here()
        value: Any = await loop.run_in_executor(None, lambda: function(*arguments))
        return (await value) if isinstance(value, Awaitable) else value

    async def gather(self, runs: List[Callable[[], Awaitable[T]]], most: int) -> List[T]:
        import asyncio

        free = asyncio.Semaphore(most)

        async def one(run: Callable[[], Awaitable[T]]) -> T:
            async with free:
                return await run()

        tasks = [asyncio.ensure_future(one(run)) for run in runs]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    def close(self) -> None:
        idle, self._idle = self._idle, {}
        for wires in idle.values():
            for wire in wires:
                if self._loop is not None and not self._loop.is_closed():
                    wire.close()
