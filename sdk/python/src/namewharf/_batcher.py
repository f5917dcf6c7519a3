"""Collects calls that are made in one turn of the event loop and sends them as batches."""

from __future__ import annotations

import asyncio
from typing import Any, List, Optional, Set

from ._core import BATCH_SIZE, BATCHES_IN_FLIGHT, Core, Entry, parts
from ._operation import Operation, Prepared
from .errors import refuse


class _Waiting(Entry):
    """A call that a coroutine awaits."""

    __slots__ = ("future", "batch", "task")

    def __init__(self, operation: Operation, prepared: Prepared, future: asyncio.Future[Any]) -> None:
        super().__init__(operation, prepared)
        self.future = future  # the cancellation of the coroutine cancels it
        self.batch: List[_Waiting] = []  # what it goes out with
        self.task: Optional[asyncio.Task[None]] = None  # which sends that

    def resolve(self, answer: Any) -> None:
        if not self.future.done():
            self.future.set_result(answer)

    def reject(self, failure: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(failure)

    def settled(self) -> bool:
        return self.future.done()


class Batcher:
    """Sends calls of the same window together, each batch in a task. A lone call goes out alone."""

    def __init__(self, core: Core, window_ms: float) -> None:
        if isinstance(window_ms, bool) or not isinstance(window_ms, (int, float)) or not window_ms >= 0:
            raise refuse("batch_window_ms", "must be a number that is not negative")
        self._core = core
        self._window = window_ms / 1000
        self._queue: List[_Waiting] = []
        self._tasks: Set[asyncio.Task[None]] = set()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._free: Optional[asyncio.Semaphore] = None

    async def call(self, operation: Operation, prepared: Prepared) -> Any:
        """Runs an operation in a batch with others of the same window, or else alone."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._queue, self._tasks, self._free = loop, [], set(), asyncio.Semaphore(BATCHES_IN_FLIGHT)
        entry = _Waiting(operation, prepared, loop.create_future())
        self._add(entry)
        try:
            return await entry.future
        except asyncio.CancelledError:
            if entry.task is not None and all(one.settled() for one in entry.batch):
                entry.task.cancel()  # nothing waits for it
            raise

    def _add(self, entry: _Waiting) -> None:
        assert self._loop is not None
        self._queue.append(entry)
        if len(self._queue) == 1:
            if self._window > 0:
                self._loop.call_later(self._window, self._flush)
            else:
                self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        waiting = [entry for entry in self._queue if not entry.settled()]
        self._queue = []
        for part in parts(waiting, BATCH_SIZE):
            self._start(part, len(waiting) == 1)

    def _start(self, entries: List[_Waiting], alone: bool) -> None:
        assert self._loop is not None
        task = self._loop.create_task(self._send(entries, alone))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        for entry in entries:
            entry.batch, entry.task = entries, task

    async def _send(self, entries: List[_Waiting], alone: bool) -> None:
        assert self._free is not None and self._loop is not None
        try:
            if alone:
                return await self._core.send_alone(entries[0])
            async with self._free:
                for entry, wait in await self._core.send_entries(entries):
                    self._loop.call_later(wait, self._again, entry)
        except Exception as error:
            for entry in entries:
                entry.reject(error)

    def _again(self, entry: _Waiting) -> None:
        if not entry.settled():
            self._add(entry)
