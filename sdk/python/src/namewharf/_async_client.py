"""The public API, for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, List, Mapping, Optional, Tuple

from ._batcher import Batcher
from ._core import Core, names
from ._generated import operations
from ._io import AsyncIO
from ._operation import no_options, prepare
from ._paging import AsyncPage, AsyncPages

if TYPE_CHECKING:
    from typing import Callable, Literal, Union

    from . import types
    from ._operation import CallOptions, Operation
    from ._signin import AsyncSession
    from .store import TokenStore


class AsyncNamewharf:
    """The public API, for asyncio. Without a token or a sign-in prices of the market are masked; everything else is the same.

    Every method takes `timeout` (seconds, for each attempt), `token`, `idempotency_key` and `headers`. Calls that are made together share requests; each fails alone. Failures
    that may pass are waited for and tried again. Errors are NamewharfError. A client is of one event loop at a time.

    base_url: where the service is, such as `https://names.example`; `NAMEWHARF_BASE_URL` of the environment when left out.
    token: an access token, in place of signing in.
    timeout: for each attempt, in seconds; None or 0: no limit.
    retries: how often a call is repeated after a failure that may pass.
    max_retry_after_s: a longer `Retry-After` ends the call with its error, in seconds.
    headers: further headers of every request.
    batching: whether calls that are made together go out as batches.
    batch_window_ms: how long a call waits for others to share a batch with, in milliseconds; 0: the same turn of the event loop.
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
        batching: bool = True,
        batch_window_ms: float = 0,
    ) -> None:
        self._io = AsyncIO()
        self._core = Core(self._io, base_url, token, timeout, retries, max_retry_after_s, headers)
        self._batcher = Batcher(self._core, batch_window_ms) if batching else None

    async def __aenter__(self) -> AsyncNamewharf:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<AsyncNamewharf {self._core.transport.base}>"

    async def aclose(self) -> None:
        """Closes idle connections, after a refresh that is under way. The client can be used again."""
        await self._io.finished()
        self._io.close()

    async def search(
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
        answer: types.SearchDomainAnswer = await self._call(operations.search_domain, (), {"q": q, "tlds": tlds, "require_real_prices": require_real_prices}, (timeout, token, idempotency_key, headers))
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
    ) -> AsyncIterator[types.Result]:
        """Searches as `search` does, and yields each result as soon as it is known."""
        return self._core.stream(operations.search_domain, {"q": q, "tlds": tlds, "require_real_prices": require_real_prices}, (timeout, token, idempotency_key, headers))

    async def check(
        self,
        domains: Iterable[str],
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> List[types.Result]:
        """Says of any number of names whether they can be registered, in the order asked."""
        return await self._core.check(domains, (timeout, token, idempotency_key, headers))

    def check_stream(
        self,
        domains: Iterable[str],
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncIterator[types.Result]:
        """Checks any number of names, and yields each result as soon as it is known."""
        return self._core.check_stream(domains, (timeout, token, idempotency_key, headers))

    async def suggest(
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
        answer: types.SuggestDomainsAnswer = await self._call(operations.suggest_domains, (), {"q": q, "tlds": tlds, "limit": limit, "max_length": max_length, "styles": styles}, (timeout, token, idempotency_key, headers))
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
    ) -> AsyncIterator[types.Suggestion]:
        """Suggests as `suggest` does, and yields each suggestion as soon as it is known."""
        return self._core.stream(operations.suggest_domains, {"q": q, "tlds": tlds, "limit": limit, "max_length": max_length, "styles": styles}, (timeout, token, idempotency_key, headers))

    async def whois(
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
        answer: types.WhoisLookupAnswer = await self._call(operations.whois_lookup, (), {"domain": domain, "include_raw": include_raw}, (timeout, token, idempotency_key, headers))
        return answer

    async def price(
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
        answer: types.TldRegistrationPriceAnswer = await self._call(operations.tld_registration_price, (), {"tld": tld, "op": op}, (timeout, token, idempotency_key, headers))
        return answer

    async def compare(
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
        answer: types.CompareTldPricesAnswer = await self._call(operations.compare_tld_prices, (), {"tlds": names(tlds, "tlds"), "years": years}, (timeout, token, idempotency_key, headers))
        return answer

    async def tld(
        self,
        tld: str,
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.TldMetadataAnswer:
        """Who may register under a TLD and how. Facts that the service does not know are listed in `unknown`."""
        answer: types.TldMetadataAnswer = await self._call(operations.tld_metadata, (tld,), {}, (timeout, token, idempotency_key, headers))
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
    ) -> AsyncPages[types.Tld, types.ListTldsAnswer]:
        """Every TLD with its registration prices."""
        return self._pages(operations.list_tlds, {"limit": limit, "cursor": cursor}, (timeout, token, idempotency_key, headers))

    async def tlds_page(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncPage[types.Tld, types.ListTldsAnswer]:
        """One page of `tlds`."""
        return await self.tlds(limit=limit, cursor=cursor, timeout=timeout, token=token, idempotency_key=idempotency_key, headers=headers)

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
    ) -> AsyncPages[types.MarketListingsListing, types.MarketListingsAnswer]:
        """Names that their owners sell here: the newest first, or with `q` those that fit it best.

        Sorting and filtering by price needs a sign-in or a token.
        """
        return self._pages(operations.market_listings, {"q": q, "tld": tld, "sort": sort, "min_price_cents": min_price_cents, "max_price_cents": max_price_cents, "require_real_prices": require_real_prices, "limit": limit, "cursor": cursor, "offset": offset}, (timeout, token, idempotency_key, headers))

    async def listings_page(
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
    ) -> AsyncPage[types.MarketListingsListing, types.MarketListingsAnswer]:
        """One page of `listings`."""
        return await self.listings(q=q, tld=tld, sort=sort, min_price_cents=min_price_cents, max_price_cents=max_price_cents, require_real_prices=require_real_prices, limit=limit, cursor=cursor, offset=offset, timeout=timeout, token=token, idempotency_key=idempotency_key, headers=headers)

    async def batch(
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
        return await self._core.batch(operations, require_real_prices, (timeout, token, idempotency_key, headers))

    async def batch_catalogue(
        self,
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.BatchCatalogueAnswer:
        """The operations that a batch may hold, with the JSON Schemas of their params and results."""
        answer: types.BatchCatalogueAnswer = await self._call(operations.batch_catalogue, (), {}, (timeout, token, idempotency_key, headers))
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
    ) -> AsyncPages[types.Domain, types.ListDomainsAnswer]:
        """The names of the signed-in account."""
        return self._pages(operations.list_domains, {"limit": limit, "cursor": cursor}, (timeout, token, idempotency_key, headers))

    async def domains_page(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncPage[types.Domain, types.ListDomainsAnswer]:
        """One page of `domains`."""
        return await self.domains(limit=limit, cursor=cursor, timeout=timeout, token=token, idempotency_key=idempotency_key, headers=headers)

    async def add_domain(
        self,
        domain: str,
        *,
        timeout: Optional[float] = None,
        token: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> types.AddDomainAnswer:
        """Adds a name to the signed-in account, and says which DNS record proves that it is yours."""
        answer: types.AddDomainAnswer = await self._call(operations.add_domain, (), {"domain": domain}, (timeout, token, idempotency_key, headers))
        return answer

    async def bulk(
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
        answer: types.BulkDomainsAnswer = await self._call(operations.bulk_domains, (op,), {"domains": names(domains), "params": params, "dry_run": dry_run}, (timeout, token, idempotency_key, headers))
        return answer

    async def sign_in(
        self,
        *,
        scopes: Optional[List[str]] = None,
        open_browser: Union[bool, Callable[[str], Any]] = True,
        store: Optional[TokenStore] = None,
        client_name: Optional[str] = None,
        timeout: float = 300.0,
    ) -> AsyncSession:
        """Signs a person in: they allow it in their browser, and calls carry their token from then on.

        The token is renewed by itself. With a `store` that holds an earlier sign-in no browser is opened.

        scopes: what to ask for; `["pricing:read"]` when left out. `domains:write` is for the account's own names.
        open_browser: takes the person to an address: a function that is given it (it runs in a thread, and may be a coroutine function), True for the
            system's browser, False to print the address on standard error.
        store: where the sign-in is stored; a file of mode 0600 in the user's configuration directory when left out.
        client_name: what the consent page calls this program; the file name of the program when left out.
        timeout: how long to wait for the person, in seconds.
        """
        from ._signin import AsyncSession

        return AsyncSession(await self._core.sign_in(scopes, open_browser, store, client_name, timeout))

    async def _call(self, operation: Operation, path: Tuple[Any, ...], given: Mapping[str, Any], options: CallOptions) -> Any:
        prepared = prepare(operation, path, given)
        if self._batcher is not None and operation.batch and options == no_options:
            return await self._batcher.call(operation, prepared)
        return await self._core.transport.json(self._core.request(operation, prepared, options))

    def _pages(self, operation: Operation, given: Mapping[str, Any], options: CallOptions) -> AsyncPages[Any, Any]:
        assert operation.listed is not None
        return AsyncPages(lambda cursor: self._core.page(operation, given, options, cursor), operation.listed)
