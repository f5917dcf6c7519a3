"""What Namewharf and AsyncNamewharf share. Functions are coroutines; those of Namewharf do not suspend."""

from __future__ import annotations

from typing import Any, AsyncIterator, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar

from ._generated import operations
from ._io import IO
from ._operation import CallOptions, Operation, Prepared, no_options, prepare
from ._transport import Authorization, Bearer, Outgoing, Transport, decode, described, outgoing
from .errors import NamewharfError, refuse

CHECK_SIZE = 200  # names that one check takes
BATCH_SIZE = 20  # operations that one batch takes
CHECKS_IN_FLIGHT = 4
BATCHES_IN_FLIGHT = 8


class Entry:
    """A call that goes out in a batch."""

    __slots__ = ("operation", "prepared", "attempt")

    def __init__(self, operation: Operation, prepared: Prepared) -> None:
        self.operation = operation
        self.prepared = prepared
        self.attempt = 0

    def resolve(self, answer: Any) -> None:
        raise NotImplementedError

    def reject(self, failure: Exception) -> None:
        raise NotImplementedError

    def settled(self) -> bool:
        """Whether nothing waits for it any more."""
        return False


E = TypeVar("E", bound=Entry)


class Core:
    """The public API."""

    def __init__(
        self,
        io: IO,
        base_url: Optional[str],
        token: Optional[str],
        timeout: Optional[float],
        retries: int,
        max_retry_after_s: float,
        headers: Optional[Mapping[str, str]],
    ) -> None:
        self.transport = Transport(io, base_url, timeout, retries, max_retry_after_s, headers)
        self.bearer = None if token is None else Bearer(token)
        self.session: Any = None  # a SessionCore

    def prepared(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Outgoing:
        return self.request(operation, prepare(operation, path, given), options)

    def request(self, operation: Operation, prepared: Prepared, options: CallOptions) -> Outgoing:
        authorization: Optional[Authorization] = self.bearer
        if options[1] is not None:
            authorization = Bearer(options[1])
        elif self.session is not None:
            from ._signin import SessionAuthorization

            authorization = SessionAuthorization(self.session)
        return outgoing(operation, prepared, options, authorization)

    async def call(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        return await self.transport.json(self.prepared(operation, path, given, options))

    async def page(self, operation: Operation, given: Mapping[str, Any], options: CallOptions, cursor: Optional[str]) -> Any:
        assert operation.listed is not None
        if cursor is not None:
            given = {**given, "offset": None, operation.listed.cursor: cursor}
        return await self.call(operation, (), given, options)

    async def check(self, domains: Iterable[str], options: CallOptions) -> List[Any]:
        def one(part: List[str]) -> Callable[[], Any]:
            return lambda: self.call(operations.check_domains, (), {"domains": part}, options)

        answers = await self.transport.io.gather([one(part) for part in parts(names(domains), CHECK_SIZE)], CHECKS_IN_FLIGHT)
        return [result for answer in answers for result in results_of(answer)]

    async def check_stream(self, domains: Iterable[str], options: CallOptions) -> AsyncIterator[Any]:
        for part in parts(names(domains), CHECK_SIZE):
            results = self.stream(operations.check_domains, {"domains": part}, options)
            try:
                async for result in results:
                    yield result
            finally:
                await results.aclose()  # type: ignore[attr-defined]

    async def stream(self, operation: Operation, given: Mapping[str, Any], options: CallOptions) -> AsyncIterator[Any]:
        events = self.transport.stream(self.prepared(operation, (), given, options)._replace(accept="text/event-stream"))
        try:
            async for event, data in events:
                if event == "result":
                    yield decode(data)
                elif event == "error":
                    body = decode(data)
                    raise described(body.get("error") if isinstance(body, dict) else None, None)
                elif event == "done":
                    return
        finally:
            await events.aclose()  # type: ignore[attr-defined]

    async def batch(self, requests: Iterable[Mapping[str, Any]], require_real_prices: Optional[bool], options: CallOptions) -> List[Any]:
        items = identified(requests)
        answered = not items
        first: Optional[NamewharfError] = None

        def one(part: List[Dict[str, Any]]) -> Callable[[], Any]:
            async def send() -> List[Any]:
                nonlocal answered, first
                try:
                    given = {"operations": part, "require_real_prices": require_real_prices}
                    results = results_of(await self.call(operations.batch_lookup, (), given, options))
                    answered = True
                    return results
                except NamewharfError as error:
                    first = first or error
                    said = {"code": error.code, "message": error.message, "details": error.details, "retry_after_s": error.retry_after}
                    known = {name: value for name, value in said.items() if value is not None}
                    return [{"id": item["id"], "op": item["op"], "ok": False, "status": error.status or 0, "error": known} for item in part]

            return send

        answers = await self.transport.io.gather([one(part) for part in parts(items, BATCH_SIZE)], BATCHES_IN_FLIGHT)
        if not answered and first is not None:
            raise first
        return [result for answer in answers for result in answer]

    async def send_entries(self, entries: Sequence[E]) -> List[Tuple[E, float]]:
        """Sends calls as one batch and settles them. It returns those that are to be tried again, after so many seconds."""
        items = [{"id": str(at), "op": entry.operation.id, "params": entry.prepared.params} for at, entry in enumerate(entries)]
        try:
            answer = await self.call(operations.batch_lookup, (), {"operations": items}, no_options)
            results = {result["id"]: result for result in results_of(answer) if isinstance(result, dict) and "id" in result}
        except NamewharfError as error:
            # A batch that is refused as a whole must not fail calls that are right: one of them is too large, or wrong.
            for entry in entries:
                if error.status in (400, 413):
                    await self.send_alone(entry)
                else:
                    entry.reject(error)
            return []
        again: List[Tuple[E, float]] = []
        for at, entry in enumerate(entries):
            result = results.get(str(at))
            if result is None:
                entry.reject(NamewharfError("invalid_response", "the answer of the batch lacks a result"))
            elif result.get("ok"):
                entry.resolve(result.get("result"))
            else:
                failure = described(result.get("error"), result.get("status"))
                wait = self.transport.wait(failure, entry.attempt)
                entry.attempt += 1
                if wait is None:
                    entry.reject(failure)
                else:
                    again.append((entry, wait))
        return again

    async def send_alone(self, entry: Entry) -> None:
        """Sends a call that would otherwise be part of a batch."""
        if entry.settled():
            return
        try:
            entry.resolve(await self.transport.json(self.request(entry.operation, entry.prepared, no_options)))
        except NamewharfError as error:
            entry.reject(error)

    async def sign_in(self, *arguments: Any) -> Any:
        from ._signin import sign_in

        def left() -> None:
            self.session = None

        self.session = await sign_in(self.transport, *arguments, left=left)
        return self.session


def results_of(answer: Any) -> List[Any]:
    """The results of an answer."""
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise NamewharfError("invalid_response", "the answer has no results")
    return results


def parts(items: List[Any], size: int) -> List[List[Any]]:
    """Cuts a list into parts."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def names(domains: Any, field: str = "domains") -> List[str]:
    """Checks a list of names."""
    if isinstance(domains, (str, bytes)) or not hasattr(domains, "__iter__"):
        raise refuse(field, "must be a list of names")
    found = list(domains)
    for at, name in enumerate(found):
        if not isinstance(name, str) or not name:
            raise refuse(f"{field}[{at}]", "must be a text that is not empty")
    return found


def identified(requests: Any) -> List[Dict[str, Any]]:
    """Gives each operation of a batch an id."""
    if isinstance(requests, (str, bytes, dict)) or not hasattr(requests, "__iter__"):
        raise refuse("operations", "must be a list of operations")
    seen = set()
    items: List[Dict[str, Any]] = []
    for at, request in enumerate(requests):
        op = request.get("op") if isinstance(request, Mapping) else None
        if not isinstance(op, str) or not op:
            raise refuse(f"operations[{at}].op", "is required")
        given = request.get("id")
        id = str(at) if given is None else given
        if not isinstance(id, str) or id in seen:
            raise refuse(f"operations[{at}].id", "must be a text that no other operation has")
        seen.add(id)
        items.append({"id": id, "op": op, "params": request.get("params") or {}})
    return items
