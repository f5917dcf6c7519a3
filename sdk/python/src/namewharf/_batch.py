"""Calls of Namewharf that share requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Iterable, List, Mapping, Optional, Tuple, Type, TypeVar, cast

from ._core import BATCH_SIZE, Core, Entry, names, parts
from ._generated import operations
from ._operation import prepare
from ._wire import run
from .errors import NamewharfError

if TYPE_CHECKING:
    from typing import Literal

    from . import types
    from ._operation import Operation, Prepared

T = TypeVar("T")


class Deferred(Generic[T]):
    """The answer of a call that goes out in a batch."""

    def __init__(self) -> None:
        self._answer: Any = None
        self._failure: Optional[Exception] = NamewharfError("unsupported", "the batch has not been sent yet", hint="Ask for the result after the with block.")

    def result(self) -> T:
        """The answer; raises the error of this call alone."""
        if self._failure is not None:
            raise self._failure
        return cast(T, self._answer)

    def _resolve(self, answer: Any) -> None:
        self._answer, self._failure = answer, None

    def _reject(self, failure: Exception) -> None:
        self._failure = failure


class _Collected(Entry):
    __slots__ = ("_deferred",)

    def __init__(self, operation: Operation, prepared: Prepared, deferred: Deferred[Any]) -> None:
        super().__init__(operation, prepared)
        self._deferred = deferred

    def resolve(self, answer: Any) -> None:
        self._deferred._resolve(answer)

    def reject(self, failure: Exception) -> None:
        self._deferred._reject(failure)


class Batch:
    """Collects calls, and sends them at the end of its `with` block. Each method gives a Deferred."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._entries: List[_Collected] = []

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        if kind is None:
            self.send()

    def send(self) -> None:
        """Sends what has been collected. The end of the `with` block does so too."""
        entries, self._entries = self._entries, []
        run(self._send(entries))

    async def _send(self, entries: List[_Collected]) -> None:
        if len(entries) == 1:
            return await self._core.send_alone(entries[0])
        while entries:
            again = [one for part in parts(entries, BATCH_SIZE) for one in await self._core.send_entries(part)]
            if again:
                await self._core.transport.io.sleep(max(wait for _, wait in again))
            entries = [entry for entry, _ in again]

    def search(
        self,
        q: str,
        *,
        tlds: Optional[List[str]] = None,
        require_real_prices: Optional[bool] = None,
    ) -> Deferred[types.SearchDomainAnswer]:
        """As Namewharf.search."""
        return self._add(operations.search_domain, (), {"q": q, "tlds": tlds, "require_real_prices": require_real_prices})

    def check(self, domains: Iterable[str]) -> Deferred[types.CheckDomainsAnswer]:
        """The answer of one check, of at most 200 names."""
        return self._add(operations.check_domains, (), {"domains": names(domains)})

    def suggest(
        self,
        q: str,
        *,
        tlds: Optional[List[str]] = None,
        limit: Optional[int] = None,
        max_length: Optional[int] = None,
        styles: Optional[List[Literal["short", "compound", "prefix", "suffix", "blend", "synonym", "hack"]]] = None,
    ) -> Deferred[types.SuggestDomainsAnswer]:
        """As Namewharf.suggest."""
        return self._add(operations.suggest_domains, (), {"q": q, "tlds": tlds, "limit": limit, "max_length": max_length, "styles": styles})

    def whois(self, domain: str, *, include_raw: Optional[bool] = None) -> Deferred[types.WhoisLookupAnswer]:
        """As Namewharf.whois."""
        return self._add(operations.whois_lookup, (), {"domain": domain, "include_raw": include_raw})

    def price(
        self,
        tld: str,
        op: Optional[Literal["register", "renew", "transfer", "restore"]] = None,
    ) -> Deferred[types.TldRegistrationPriceAnswer]:
        """As Namewharf.price."""
        return self._add(operations.tld_registration_price, (), {"tld": tld, "op": op})

    def compare(self, tlds: Iterable[str], years: Optional[int] = None) -> Deferred[types.CompareTldPricesAnswer]:
        """As Namewharf.compare."""
        return self._add(operations.compare_tld_prices, (), {"tlds": names(tlds, "tlds"), "years": years})

    def tld(self, tld: str) -> Deferred[types.TldMetadataAnswer]:
        """As Namewharf.tld."""
        return self._add(operations.tld_metadata, (tld,), {})

    def tlds(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Deferred[types.ListTldsAnswer]:
        """One page of TLDs."""
        return self._add(operations.list_tlds, (), {"limit": limit, "cursor": cursor})

    def listings(
        self,
        *,
        q: Optional[str] = None,
        tld: Optional[str] = None,
        sort: Optional[Literal["newest", "name", "length", "price", "relevance"]] = None,
        min_price_cents: Optional[int] = None,
        max_price_cents: Optional[int] = None,
        require_real_prices: Optional[bool] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        offset: Optional[int] = None,
    ) -> Deferred[types.MarketListingsAnswer]:
        """One page of listings."""
        return self._add(operations.market_listings, (), {"q": q, "tld": tld, "sort": sort, "min_price_cents": min_price_cents, "max_price_cents": max_price_cents, "require_real_prices": require_real_prices, "limit": limit, "cursor": cursor, "offset": offset})

    def _add(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any]) -> Deferred[Any]:
        deferred: Deferred[Any] = Deferred()
        self._entries.append(_Collected(operation, prepare(operation, path, given), deferred))
        return deferred
