"""The partner clients against the demo's sandbox; webhooks come from the server's own dispatcher."""

import base64
import hashlib
import hmac
import json
import os
import queue
import time
import unittest

import namewharf
from namewharf import AsyncPartner, NamewharfError, Partner

from support import Demo, Front, repository, run
from test_client import failure

_own = None


def own():
    global _own
    _own = _own or Demo("-rate-limits", "off")  # the tests sell names
    return _own


def partner(kind=Partner, url=None):
    return kind(url or own().url, own().key_id, own().secret)


class Signatures(unittest.TestCase):
    def test_vectors(self):
        with open(os.path.join(repository, "docs/signing-vectors.json"), encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        self.assertGreater(len(cases), 10)
        for v in cases:
            with self.subTest(v["name"]):
                request = (v["method"], v["path"], v["query"], v["body"], v["timestamp"], v["nonce"])
                self.assertEqual(namewharf.canonical_string(*request), v["canonical"])
                self.assertEqual(namewharf.sign(v["secret"], *request), v["signature"])

    def test_a_query_that_is_no_text_is_refused(self):
        for query in ("q=%zz", "q=%", "q=%f", "q=%ff", "q=%+1"):
            self.assertEqual(failure(namewharf.canonical_query, query).code, "validation_error", query)


class Sandbox(unittest.TestCase):
    def front(self, answer=None, behind=True):
        front = Front(answer)
        front.behind = own().url
        self.addCleanup(front.close)
        return front

    def test_sells_a_name(self):
        with partner() as p:
            found = p.search_domains("brew haven")
            self.assertEqual(found["results"][0]["domain"], "brewhaven.example")
            self.assertTrue(p.availability(domain="brewhaven.example")["available"])
            self.assertEqual(p.pricing("brewhaven.example")["buy_now_cents"], 9900)
            self.assertEqual(p.get_domain("brewhaven.example")["metadata"]["length"], 9)
            quote = p.create_quote("brewhaven.example")
            given = {"quote_id": quote["quote_id"], "buyer": {"email": "ada@buyer.example", "country": "DE"}, "external_payment_ref": "pay-1", "return_url": "https://partner.example/back"}
            self.assertEqual(p.create_order(**given, dry_run=True)["status"], "EXTERNALLY_PAID")
            order = p.create_order(**given, idempotency_key="order-1")
            self.assertEqual(p.create_order(**given, idempotency_key="order-1"), order)
            self.assertEqual(failure(p.create_order, **{**given, "external_payment_ref": "other"}, idempotency_key="order-1").code, "conflict")
            p.play_order(order["public_id"], "advance")
            self.assertEqual(p.get_order(order["public_id"])["status"], "TRANSFER_IN_PROGRESS")
            other = p.create_order(domain="brewpath.example", expected_price=14900)
            self.assertEqual(p.create_refund(other["public_id"], reason="changed their mind")["order"]["status"], "REFUNDED")
            self.assertEqual(len(p.list_orders(limit=1).items), 1)
            self.assertEqual(len(list(p.orders(limit=1, domain="brewhaven.example"))), 1)
            self.assertEqual(len(list(p.orders(from_="2020-01-01"))), 2)
            events = list(p.events(limit=2))
            self.assertEqual([e["type"] for e in events[:2]], ["order.recorded", "order.transfer_started"])
            self.assertEqual(list(p.events(after_id=events[0]["id"], limit=1)), events[1:])
            self.assertEqual(p.list_events(limit=1).next_cursor, events[0]["id"])
            self.assertTrue(p.advance_clock(1)["now"])
            sales = p.list_transactions(payment_model="partner_collected", limit=1)
            self.assertEqual((len(sales.items), sales["totals"][0]["count"]), (1, 2))
            self.assertEqual(len(list(p.transactions(limit=1))), 2)
            self.assertEqual((p.list_settlements().items, list(p.settlements()), p.list_payouts().items), ([], [], []))
            self.assertEqual(failure(lambda: p.get_settlement("stl_nothing").items).code, "not_found")

    def test_sends_a_buyer_to_the_checkout(self):
        with partner() as p:
            given = {"return_url": "https://partner.example/thanks", "cancel_url": "https://partner.example/cart", "domain": "brewroast.example", "external_ref": "cart-1", "idempotency_key": "cart-1"}
            session = p.create_checkout(**given)
            self.assertEqual(p.create_checkout(**given), session)
            self.assertTrue(session["checkout_url"].startswith(f"{own().url}/checkout"))
            self.assertEqual(p.get_checkout(session["session_id"])["status"], "open")
            self.assertEqual(failure(p.create_checkout, "", "https://partner.example/cart").details[0]["field"], "return_url")

    def test_async(self):
        async def main():
            async with partner(AsyncPartner) as p:
                self.assertTrue((await p.search_domains("amber"))["results"])
                self.assertTrue((await p.create_quote("brewpath.example"))["quote_id"])
                self.assertIsInstance([o async for o in p.orders()], list)
                session = await p.create_checkout("https://partner.example/thanks", "https://partner.example/cart", domain="brewpath.example")
                self.assertEqual((await p.get_checkout(session["session_id"]))["status"], "open")
                self.assertIsInstance((await p.list_transactions())["totals"], list)
                self.assertEqual([s async for s in p.settlements()], [])
                with self.assertRaises(NamewharfError):
                    await p.get_settlement("stl_nothing")
                self.assertIsInstance((await p.list_events(limit=1)).items, list)
                self.assertIn("orders", await p.request("GET", "/orders", query={"limit": 1}))

        run(main())

    def test_sends_any_other_request(self):
        p = partner()
        self.assertEqual(p.request("get", "/domains/search", query={"q": "it's (new)! *"})["query"], "it's (new)! *")
        self.assertEqual(p.request("GET", "/api/partner/v1/domains/search", query="q=caf%c3%a9+bar")["query"], "café bar")
        self.assertTrue(p.request("POST", "/quotes", body={"domain": "brewpath.example"})["quote_id"])
        self.assertTrue(p.request("POST", "/quotes", body='{"domain": "brewpath.example"}')["quote_id"])
        self.assertIn("orders", p.request("GET", "/orders", query=[("limit", 1)]))
        for path in ("orders", "/orders?limit=1", "/a/../b", "/a//b", "/a#b", "/./a", "/a b", "/a\r\n", None):
            self.assertEqual(failure(p.request, "GET", path).code, "validation_error", path)

    def test_signs_each_attempt_anew_and_keeps_the_key_of_a_write(self):
        for call in (lambda p: p.create_quote("brewpath.example"), lambda p: p.request("POST", "/quotes", body={"domain": "brewpath.example"})):
            front = self.front(lambda request, number: request.json(503, {}) if number < 3 else request.forward())
            call(partner(url=front.url))
            self.assertEqual(len({r.headers["x-service-nonce"] for r in front.seen}), 3)
            self.assertEqual(len({r.headers["idempotency-key"] for r in front.seen}), 1)
            self.assertRegex(front.seen[0].headers["idempotency-key"], "^[0-9a-f-]{36}$")
        front = self.front(lambda request: request.json(503, {}))
        failure(partner(url=front.url).delete_webhook)
        self.assertEqual(len(front.seen), 1, "a write without a key is not repeated")

    def test_signs_again_after_a_redirect_and_never_for_another_origin(self):
        def answer(request):
            if request.path.endswith("/pricing"):
                return request.reply(307, location="/api/partner/v1/availability?domain=brewpath.example")
            request.forward()

        self.assertIn("available", partner(url=self.front(answer).url).pricing("brewpath.example"))
        other = self.front(lambda request: request.json(200, {}))
        away = self.front(lambda request: request.reply(307, location=other.url))
        self.assertEqual(failure(partner(url=away.url).get_webhook).code, "redirect_refused")
        self.assertEqual(other.seen, [])

    def test_says_what_is_wrong(self):
        hush = Partner(own().url, own().key_id, "sk_wrong_hush")
        error = failure(hush.availability, "a.example")
        self.assertEqual(error.code, "invalid_signature")
        self.assertTrue(error.hint.startswith("The server expected this to be signed:\nGET\n/api/partner/v1/availability\ndomain=a.example\n"))
        self.assertNotIn("hush", f"{hush!r}{error!r}{error}{error.__dict__}")
        for arguments in ((), ("a",), ("a", ""), ("a b", "c"), (None, "c")):
            self.assertEqual(failure(Partner, own().url, *arguments).code, "validation_error")
        p = partner()
        for call in (lambda: p.get_order(""), lambda: p.get_order(".."), lambda: p.create_quote(""), lambda: p.create_refund(None, reason="x"), lambda: p.create_order(domain=object())):
            self.assertEqual(failure(call).code, "validation_error")

    def test_verifies_the_webhooks_of_the_server(self):
        seen = queue.Queue()
        receiver = self.front(lambda request: (request.reply(200), seen.put(request)) and None)
        hook = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        p = partner()
        p.put_webhook(f"{receiver.url}/", hook)
        self.assertTrue(p.get_webhook()["active"])
        p.test_webhook()
        came = seen.get(timeout=20)
        event = Partner.verify_webhook(came.headers, came.body, hook)
        self.assertEqual(event["type"], "webhook.test")
        self.assertEqual(AsyncPartner.verify_webhook(came.headers, came.body.decode(), ["another secret", hook]), event)
        self.assertEqual(Partner.verify_webhook([(name.upper().encode(), value.encode()) for name, value in came.headers.items()], bytearray(came.body), hook), event)
        self.assertEqual(Partner.verify_webhook({"HTTP_" + name.upper().replace("-", "_"): value for name, value in came.headers.items()}, came.body, hook), event)
        delivery = p.list_deliveries(limit=1).items[0]
        p.redeliver(delivery["delivery_id"])
        came = seen.get(timeout=20)
        self.assertEqual(Partner.verify_webhook(came.headers, came.body, hook)["id"], event["id"])
        self.assertIsInstance(list(p.deliveries(status="delivered")), list)
        p.put_webhook(f"{receiver.url}/", "a plain secret of mine")
        p.test_webhook()
        came = seen.get(timeout=20)
        self.assertEqual(Partner.verify_webhook(came.headers, came.body, ["a plain secret of mine", hook])["type"], "webhook.test")
        self.assertTrue(p.delete_webhook()["url"].startswith("http:"))


class ForgedWebhooks(unittest.TestCase):
    hook = "a secret of sixteen or more"
    body = '{"id":"evt_1","type":"order.recorded","created_at":"2026-01-01T00:00:00Z","partner_id":"prt_1","data":{}}'

    def signed(self, text=None, at=None, key=None, **change):
        raw = (self.body if text is None else text).encode()
        at = int(time.time()) if at is None else at
        key = (key or self.hook).encode()
        headers = {
            "webhook-id": "evt_1", "webhook-timestamp": str(at),
            "webhook-signature": "v1," + base64.b64encode(hmac.new(key, f"evt_1.{at}.".encode() + raw, hashlib.sha256).digest()).decode(),
            "x-service-signature": hmac.new(key, raw, hashlib.sha256).hexdigest(),
        }  # fmt: skip
        headers.update({name.replace("_", "-"): value for name, value in change.items()})
        return headers

    def test_a_good_one_passes(self):
        for headers in (self.signed(), self.signed(webhook_signature=f"v2,x v1,AAAA {self.signed()['webhook-signature']}"), self.signed(at=int(time.time()) - 290)):
            self.assertEqual(Partner.verify_webhook(headers, self.body, self.hook)["id"], "evt_1")

    def test_a_bad_one_does_not(self):
        now = int(time.time())
        for name, headers, text in [
            ("no headers", {}, None), ("None", None, None), ("no mapping", 3, None),
            ("the old header alone", {"x-service-signature": self.signed()["x-service-signature"]}, None),
            ("without the old header", self.signed(x_service_signature=None), None), ("an empty old header", self.signed(x_service_signature=""), None),
            ("the other secret", self.signed(key="b secret of sixteen or more"), None), ("another body", self.signed(), self.body + " "),
            ("too old", self.signed(at=now - 310), None), ("too new", self.signed(at=now + 310), None),
            ("a time that is none", self.signed(webhook_timestamp="now"), None), ("a time of another", self.signed(webhook_timestamp=str(now - 5)), None),
            ("other digits", self.signed(webhook_timestamp="١٢٣"), None), ("an endless time", self.signed(webhook_timestamp="9" * 400), None),
            ("another id", self.signed(webhook_id="evt_2"), None),
            ("any bytes", self.signed(webhook_signature="\x00\xff\ud800 \U0001f600", x_service_signature=b"\xff\x00"), None),
            ("long signatures", self.signed(webhook_signature="v1," * 5000, x_service_signature="a" * 1_000_000), None),
            ("upper case", self.signed(x_service_signature=self.signed()["x-service-signature"].upper()), None),
            ("no JSON", self.signed("hello"), "hello"), ("no event", self.signed('{"id":1}'), '{"id":1}'), ("deep", self.signed("[" * 200_000), "[" * 200_000),
        ]:  # fmt: skip
            with self.subTest(name):
                self.assertEqual(failure(Partner.verify_webhook, headers, self.body if text is None else text, self.hook).code, "invalid_webhook")

    def test_what_is_no_body_or_no_secret_is_said(self):
        for arguments in ((json.loads(self.body), self.hook), (self.body, ""), (self.body, None), (self.body, [])):
            self.assertEqual(failure(Partner.verify_webhook, self.signed(), *arguments).code, "validation_error")


if __name__ == "__main__":
    unittest.main()
