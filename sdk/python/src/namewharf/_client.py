"""The public API, for programs that block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, Iterator, List, Mapping, Optional, Tuple, TypeVar

from ._core import Core, names
from ._generated import operations
from ._io import BlockingIO
from ._paging import Page, Pages
from ._wire import run

if TYPE_CHECKING:
    from typing import Callable, Literal, Union

    from . import types
    from ._batch import Batch
    from ._operation import CallOptions, Operation
    from ._signin import Session
    from .store import TokenStore

T = TypeVar("T")


def _each(items: AsyncIterator[T]) -> Iterator[T]:
    """Loops over what does not suspend."""
    try:
        while True:
            try:
                yield run(items.__anext__())  # type: ignore[arg-type]
            except StopAsyncIteration:
                return
    finally:
        run(items.aclose())  # type: ignore[attr-defined]


class Namewharf:
    """The public API. Without a token or a sign-in prices of the market are masked; everything else is the same.

    Every method takes `timeout` (seconds, for each attempt), `token`, `idempotency_key` and `headers`. Failures
    that may pass are waited for and tried again. Errors are NamewharfError. Threads may share a client.

    base_url: where the service is, such as `https://names.example`; `NAMEWHARF_BASE_URL` of the environment when left out.
    token: an access token, in place of signing in.
    timeout: for each attempt, in seconds; None or 0: no limit.
    retries: how often a call is repeated after a failure that may pass.
    max_retry_after_s: a longer `Retry-After` ends the call with its error, in seconds.
    headers: further headers of every request.
    """

    def __init__(
        self,
        base_url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        timeout: Optional[float] = 15.0,
        retries: int = 3,
        max_retry_after_s: float = 60.0,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._core = Core(BlockingIO(), base_url, token, timeout, retries, max_retry_after_s, headers)

    def __enter__(self) -> Namewharf:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Namewharf {self._core.transport.base}>"

    def close(self) -> None:
        """Closes idle connections. The client can be used again."""
        self._core.transport.io.close()

    def search(
        self,
        q: str,
        *,
        tlds: Optional[List[str]] = None,
        require_real_prices: Optional[bool] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.SearchDomainAnswer:
        """Says whether a name can be registered, and the same label under other TLDs, with prices and listings.

        `q` is a domain, a label, a phrase or a URL. Only the status `available` is certain.
        """
        answer: types.SearchDomainAnswer = self._call(operations.search_domain, (), {"q": q, "tlds": tlds, "require_real_prices": require_real_prices}, (timeout, token, idempotency_key, headers))
        return answer

    def search_stream(
        self,
        q: str,
        *,
        tlds: Optional[List[str]] = None,
        require_real_prices: Optional[bool] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Iterator[types.Result]:
        """Searches as `search` does, and yields each result as soon as it is known."""
        return _each(self._core.stream(operations.search_domain, {"q": q, "tlds": tlds, "require_real_prices": require_real_prices}, (timeout, token, idempotency_key, headers)))

    def check(
        self,
        domains: Iterable[str],
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> List[types.Result]:
        """Says of any number of names whether they can be registered, in the order asked."""
        return run(self._core.check(domains, (timeout, token, idempotency_key, headers)))

    def check_stream(
        self,
        domains: Iterable[str],
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Iterator[types.Result]:
        """Checks any number of names, and yields each result as soon as it is known."""
        return _each(self._core.check_stream(domains, (timeout, token, idempotency_key, headers)))

    def suggest(
        self,
        q: str,
        *,
        tlds: Optional[List[str]] = None,
        limit: Optional[int] = None,
        max_length: Optional[int] = None,
        styles: Optional[List[Literal["short", "compound", "prefix", "suffix", "blend", "synonym", "hack"]]] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.SuggestDomainsAnswer:
        """Makes names for an idea, and answers with those that are free or for sale here.

        `q` is a phrase, a label or a domain. Only the status `available` is certain.
        """
        answer: types.SuggestDomainsAnswer = self._call(operations.suggest_domains, (), {"q": q, "tlds": tlds, "limit": limit, "max_length": max_length, "styles": styles}, (timeout, token, idempotency_key, headers))
        return answer

    def suggest_stream(
        self,
        q: str,
        *,
        tlds: Optional[List[str]] = None,
        limit: Optional[int] = None,
        max_length: Optional[int] = None,
        styles: Optional[List[Literal["short", "compound", "prefix", "suffix", "blend", "synonym", "hack"]]] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Iterator[types.Suggestion]:
        """Suggests as `suggest` does, and yields each suggestion as soon as it is known."""
        return _each(self._core.stream(operations.suggest_domains, {"q": q, "tlds": tlds, "limit": limit, "max_length": max_length, "styles": styles}, (timeout, token, idempotency_key, headers)))

    def whois(
        self,
        domain: str,
        *,
        include_raw: Optional[bool] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.WhoisLookupAnswer:
        """Registrar, dates, status codes and nameservers of a domain. A free name has `registered: False`."""
        answer: types.WhoisLookupAnswer = self._call(operations.whois_lookup, (), {"domain": domain, "include_raw": include_raw}, (timeout, token, idempotency_key, headers))
        return answer

    def price(
        self,
        tld: str,
        op: Optional[Literal["register", "renew", "transfer", "restore"]] = None,
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.TldRegistrationPriceAnswer:
        """What it costs to register, renew, transfer or restore a name under a TLD: `register` when left out."""
        answer: types.TldRegistrationPriceAnswer = self._call(operations.tld_registration_price, (), {"tld": tld, "op": op}, (timeout, token, idempotency_key, headers))
        return answer

    def compare(
        self,
        tlds: Iterable[str],
        years: Optional[int] = None,
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.CompareTldPricesAnswer:
        """What a name costs under at most 30 TLDs over some years (one when left out), renewals included, the cheapest first."""
        answer: types.CompareTldPricesAnswer = self._call(operations.compare_tld_prices, (), {"tlds": names(tlds, "tlds"), "years": years}, (timeout, token, idempotency_key, headers))
        return answer

    def tld(
        self,
        tld: str,
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.TldMetadataAnswer:
        """Who may register under a TLD and how. Facts that the service does not know are listed in `unknown`."""
        answer: types.TldMetadataAnswer = self._call(operations.tld_metadata, (tld,), {}, (timeout, token, idempotency_key, headers))
        return answer

    def tlds(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Pages[types.Tld, types.ListTldsAnswer]:
        """Every TLD with its registration prices."""
        return self._pages(operations.list_tlds, {"limit": limit, "cursor": cursor}, (timeout, token, idempotency_key, headers))

    def tlds_page(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Page[types.Tld, types.ListTldsAnswer]:
        """One page of `tlds`."""
        return self.tlds(limit=limit, cursor=cursor, timeout=timeout, token=token, idempotency_key=idempotency_key, headers=headers).page()

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
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Pages[types.MarketListingsListing, types.MarketListingsAnswer]:
        """Names that their owners sell here: the newest first, or with `q` those that fit it best.

        Sorting and filtering by price needs a sign-in or a token.
        """
        return self._pages(operations.market_listings, {"q": q, "tld": tld, "sort": sort, "min_price_cents": min_price_cents, "max_price_cents": max_price_cents, "require_real_prices": require_real_prices, "limit": limit, "cursor": cursor, "offset": offset}, (timeout, token, idempotency_key, headers))

    def listings_page(
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
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Page[types.MarketListingsListing, types.MarketListingsAnswer]:
        """One page of `listings`."""
        return self.listings(q=q, tld=tld, sort=sort, min_price_cents=min_price_cents, max_price_cents=max_price_cents, require_real_prices=require_real_prices, limit=limit, cursor=cursor, offset=offset, timeout=timeout, token=token, idempotency_key=idempotency_key, headers=headers).page()

    def batch(
        self,
        operations: Iterable[Mapping[str, Any]],
        *,
        require_real_prices: Optional[bool] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> List[types.BatchLookupResult]:
        """Runs any number of look-ups, twenty a request; each is `{"op": …, "params": …}`, with an `id` if you like.

        Each succeeds or fails alone, and results come in the order asked. If no request gets an answer, it raises why.
        """
        return run(self._core.batch(operations, require_real_prices, (timeout, token, idempotency_key, headers)))

    def batch_catalogue(
        self,
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.BatchCatalogueAnswer:
        """The operations that a batch may hold, with the JSON Schemas of their params and results."""
        answer: types.BatchCatalogueAnswer = self._call(operations.batch_catalogue, (), {}, (timeout, token, idempotency_key, headers))
        return answer

    def domains(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Pages[types.Domain, types.ListDomainsAnswer]:
        """The names of the signed-in account."""
        return self._pages(operations.list_domains, {"limit": limit, "cursor": cursor}, (timeout, token, idempotency_key, headers))

    def domains_page(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Page[types.Domain, types.ListDomainsAnswer]:
        """One page of `domains`."""
        return self.domains(limit=limit, cursor=cursor, timeout=timeout, token=token, idempotency_key=idempotency_key, headers=headers).page()

    def add_domain(
        self,
        domain: str,
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.AddDomainAnswer:
        """Adds a name to the signed-in account, and says which DNS record proves that it is yours."""
        answer: types.AddDomainAnswer = self._call(operations.add_domain, (), {"domain": domain}, (timeout, token, idempotency_key, headers))
        return answer

    def bulk(
        self,
        op: Literal["list", "set_price", "unlist", "verify", "refresh", "remove"],
        domains: Iterable[str],
        *,
        params: Optional[types.Params] = None,
        dry_run: Optional[bool] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.BulkDomainsAnswer:
        """Does something to at most 1000 names of the signed-in account; each succeeds or fails alone. Do a dry run first.

        `params` is as on the wire: `list` and `set_price` take `{"priceCents": 250000}`.
        """
        answer: types.BulkDomainsAnswer = self._call(operations.bulk_domains, (op,), {"domains": names(domains), "params": params, "dry_run": dry_run}, (timeout, token, idempotency_key, headers))
        return answer

    def sign_in(
        self,
        *,
        scopes: Optional[List[str]] = None,
        open_browser: Union[bool, Callable[[str], Any]] = True,
        store: Optional[TokenStore] = None,
        client_name: Optional[str] = None,
        timeout: float = 300.0,
    ) -> Session:
        """Signs a person in: they allow it in their browser, and calls carry their token from then on.

        The token is renewed by itself. With a `store` that holds an earlier sign-in no browser is opened.

        scopes: what to ask for; `["pricing:read"]` when left out. `domains:write` is for the account's own names.
        open_browser: takes the person to an address: a function that is given it, True for the
            system's browser, False to print the address on standard error.
        store: where the sign-in is stored; a file of mode 0600 in the user's configuration directory when left out.
        client_name: what the consent page calls this program; the file name of the program when left out.
        timeout: how long to wait for the person, in seconds.
        """
        from ._signin import Session

        return Session(run(self._core.sign_in(scopes, open_browser, store, client_name, timeout)))

    def batching(self) -> Batch:
        """Calls that are made within `with nw.batching() as b` go out together at its end, as `POST /api/batch`, twenty a request."""
        from ._batch import Batch

        return Batch(self._core)

    def _call(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        return run(self._core.call(operation, path, given, options))

    def _pages(self, operation: Operation, given: Mapping[str, Any], options: CallOptions) -> Pages[Any, Any]:
        assert operation.listed is not None
        return Pages(lambda cursor: run(self._core.page(operation, given, options, cursor)), operation.listed)
