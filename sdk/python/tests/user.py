"""A user's program, which mypy --strict checks against the installed package. An ignored error must be one."""

import asyncio
from typing import Dict, List, Optional

import namewharf
from namewharf import AsyncNamewharf, AsyncPartner, FileStore, Namewharf, NamewharfError, Page, Pages, Partner, Session, TokenStore
from namewharf.types import MarketListingsAnswer, MarketListingsListing, PartnerEvent, Result, Suggestion, WhoisLookupAnswer


class Memory:
    def load(self) -> Optional[str]:
        return None

    def save(self, value: str) -> None:
        pass

    def clear(self) -> None:
        pass


store: TokenStore = Memory()


def blocking() -> int:
    with Namewharf("http://127.0.0.1:8080", token=None, timeout=15.0, retries=3) as nw:
        found = nw.search("brewhaven.com", tlds=["com"], timeout=5, headers={"a": "b"})
        first: Result = found["results"][0]
        name: str = first["domain"]
        found["pricesMasked"]  # type: ignore[typeddict-item]
        nw.price("com", "buy")  # type: ignore[arg-type]
        nw.price(3)  # type: ignore[arg-type]
        names: List[Suggestion] = nw.suggest("coffee shop", tlds=["com"], limit=5, max_length=12, styles=["short", "blend"])["suggestions"]
        names += nw.suggest_stream("coffee shop")
        nw.suggest("coffee", styles=["long"])  # type: ignore[list-item]
        nw.listings(q="coffee", sort="relevance")
        five: int = nw.compare(("com", "net"), 5)["results"][0]["total"]["priceCents"]
        cents: int = nw.price("com", "renew")["priceCents"]
        checked: List[Result] = nw.check(name for name in ("a.com", "b.net"))
        for result in nw.search_stream("brewhaven"):
            result["domain"].upper()
        pages: Pages[MarketListingsListing, MarketListingsAnswer] = nw.listings(q="coffee", min_price_cents=1)
        for listing in pages:
            listing["price"]["masked"]
        page: Page[MarketListingsListing, MarketListingsAnswer] = nw.listings_page(limit=20)
        following = page.next()
        cursor: Optional[str] = None if following is None else following.next_cursor
        masked: bool = page.answer["prices_masked"]
        for one in nw.batch([{"op": "whois_lookup", "params": {"domain": "a.com"}}]):
            one["ok"]
        with nw.batching() as b:
            a, p = b.whois("a.com"), b.price("com")
            s, c = b.suggest("coffee", max_length=9), b.compare(["com"], 2)
        record: WhoisLookupAnswer = a.result()
        p.result()["priceCents"] + s.result()["checked"] + c.result()["years"]
        nw.bulk("set_price", ["a.com"], params={"priceCents": 1}, dry_run=True)
        session: Session = nw.sign_in(scopes=["pricing:read"], store=store, open_browser=lambda url: None)
        nw.sign_in(store=FileStore("x"), open_browser=False)
        nw.sign_in(store=3)  # type: ignore[arg-type]
        token: str = session.token()
        session.sign_out()
        try:
            nw.tld("x")
        except namewharf.TimeoutError as error:
            print(error.hint)
        except NamewharfError as error:
            wait: Optional[float] = error.retry_after
            print(error.code, error.status, wait)
    return len(checked) + len(names) + five + cents + len(name + token) + len(cursor or "") + masked + record["registered"]


def partner(headers: Dict[str, str], body: bytes) -> str:
    with Partner("http://127.0.0.1", "a", "b") as p:
        quote = p.create_quote("a.example")
        order = p.create_order(quote_id=quote["quote_id"], buyer={"email": "a@b.example"}, idempotency_key="x")
        p.play_order(order["public_id"], "advance")
        for event in p.events(after_id="evt_1"):
            event["type"]
        p.request("GET", "/orders", query={"limit": 1})
    sent: PartnerEvent = Partner.verify_webhook(headers, body, ["a", "b"])
    return sent["id"]


async def with_asyncio() -> None:
    async with AsyncNamewharf("http://127.0.0.1:8080", batch_window_ms=1) as nw, AsyncPartner("http://127.0.0.1", "a", "b") as p:
        records: List[WhoisLookupAnswer] = list(await asyncio.gather(*(nw.whois(name) for name in ("a.com", "b.com"))))
        suggested: List[Suggestion] = [s async for s in nw.suggest_stream("coffee", styles=["hack"])]
        suggested += (await nw.suggest("coffee"))["suggestions"]
        compared: int = (await nw.compare(["com"], 5))["years"]
        async for listing in nw.listings(q="coffee", sort="relevance"):
            listing["domain"]
        page = await nw.listings(limit=2)
        following = await page.next()
        async for result in nw.check_stream(["a.com"]):
            result["status"]
        session = await nw.sign_in(open_browser=print)
        token: str = await session.token()
        async for event in p.events():
            event["id"]
        print(records, following, token, suggested, compared, (await p.create_quote("a.example"))["price_cents"])
