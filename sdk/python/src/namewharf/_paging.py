"""Lists and their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Generator, Generic, Iterator, List, Optional, TypeVar, cast

from .errors import NamewharfError

if TYPE_CHECKING:
    from ._operation import Listed

T = TypeVar("T")
A = TypeVar("A")


class _Page(Generic[T, A]):
    #: The answer as it is on the wire.
    answer: A
    #: The elements of this page.
    items: List[T]
    #: The cursor of the next page, to be given as `cursor` (of events, `after_id`), also in a later process; None at the end.
    next_cursor: Optional[str]

    def __init__(self, answer: Any, listed: Listed, cursor: Optional[str]) -> None:
        items = answer.get(listed.items) if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise NamewharfError("invalid_response", f"the answer has no {listed.items}")
        following: Any = answer
        for name in listed.next.split("."):
            following = following.get(name) if isinstance(following, dict) else None
        self.answer = cast(A, answer)
        self.items = items
        self.next_cursor = following if isinstance(following, str) and following else None
        if self.next_cursor is not None and self.next_cursor == cursor:
            raise NamewharfError("invalid_response", "the next page is the same page")

    def __getitem__(self, field: str) -> Any:
        """A field of the answer."""
        return cast(Any, self.answer)[field]

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.items)}, next_cursor={self.next_cursor!r}>"


class Page(_Page[T, A]):
    """One page of a list: `items`, `next_cursor`, and `next()` for the page after it."""

    def __init__(self, answer: Any, listed: Listed, cursor: Optional[str], fetch: Callable[[Optional[str]], Page[T, A]]) -> None:
        super().__init__(answer, listed, cursor)
        self._fetch = fetch

    def next(self) -> Optional[Page[T, A]]:
        """Fetches the next page; None at the end."""
        return None if self.next_cursor is None else self._fetch(self.next_cursor)


class Pages(Generic[T, A]):
    """A list. A `for` loop goes over all elements and holds one page; stopping early sends no further request.

    `page()` is the first page; `items`, `next_cursor` and the fields of the answer are those of the first page too.
    """

    def __init__(self, fetch: Callable[[Optional[str]], Any], listed: Listed) -> None:
        def page(cursor: Optional[str]) -> Page[T, A]:
            return Page(fetch(cursor), listed, cursor, page)

        self._page = page
        self._first: Optional[Page[T, A]] = None

    def __iter__(self) -> Iterator[T]:
        page: Optional[Page[T, A]] = self._page(None)
        while page is not None:
            yield from page.items
            page = page.next()

    def page(self) -> Page[T, A]:
        """The first page. It is fetched once."""
        if self._first is None:
            self._first = self._page(None)
        return self._first

    @property
    def items(self) -> List[T]:
        """The elements of the first page."""
        return self.page().items

    @property
    def next_cursor(self) -> Optional[str]:
        """The cursor of the second page; None if there is none."""
        return self.page().next_cursor

    def next(self) -> Optional[Page[T, A]]:
        """Fetches the second page; None if there is none."""
        return self.page().next()

    def __getitem__(self, field: str) -> Any:
        """A field of the first answer."""
        return self.page()[field]


class AsyncPage(_Page[T, A]):
    """One page of a list: `items`, `next_cursor`, and `await next()` for the page after it."""

    def __init__(self, answer: Any, listed: Listed, cursor: Optional[str], fetch: Callable[[Optional[str]], Awaitable[AsyncPage[T, A]]]) -> None:
        super().__init__(answer, listed, cursor)
        self._fetch = fetch

    async def next(self) -> Optional[AsyncPage[T, A]]:
        """Fetches the next page; None at the end."""
        return None if self.next_cursor is None else await self._fetch(self.next_cursor)


class AsyncPages(Generic[T, A]):
    """A list. `async for` goes over all elements and holds one page; stopping early sends no further request.

    `await` gives the first page.
    """

    def __init__(self, fetch: Callable[[Optional[str]], Awaitable[Any]], listed: Listed) -> None:
        async def page(cursor: Optional[str]) -> AsyncPage[T, A]:
            return AsyncPage(await fetch(cursor), listed, cursor, page)

        self._page = page

    async def __aiter__(self) -> AsyncIterator[T]:
        page: Optional[AsyncPage[T, A]] = await self._page(None)
        while page is not None:
            for one in page.items:
                yield one
            page = await page.next()

    def __await__(self) -> Generator[Any, Any, AsyncPage[T, A]]:
        return self._page(None).__await__()

    async def page(self) -> AsyncPage[T, A]:
        """The first page."""
        return await self._page(None)
