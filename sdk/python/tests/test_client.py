"""The public clients against the demo of the built server."""

import asyncio
import copy
import inspect
import itertools
import json
import os
import pickle
import re
import sys
import threading
import unittest
from unittest import mock

import namewharf
from namewharf import AsyncNamewharf, Namewharf, NamewharfError

from support import Front, demo, price, run


def failure(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except NamewharfError as error:
        return error
    raise AssertionError("it succeeded")


class Blocking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.nw = Namewharf(demo().url)
        cls.addClassCleanup(cls.nw.close)

    def front(self, answer=None):
        front = Front(answer)
        self.addCleanup(front.close)
        return front

    def test_answers_as_the_wire_has_them(self):
        nw = self.nw
        found = nw.search("brewhaven.com", tlds=["com", "net"])
        self.assertEqual(found["results"][0]["domain"], "brewhaven.com")
        self.assertTrue(found["prices_masked"])
        self.assertEqual(nw.price("com", "renew")["op"], "renew")
        self.assertEqual(nw.tld("us")["tld"], "us")
        self.assertTrue(nw.whois("cobaltpine.com")["registered"])
        self.assertIn("raw", nw.whois("cobaltpine.com", include_raw=True))
        self.assertGreaterEqual(len(nw.batch_catalogue()["operations"]), 5)

    def test_suggests_names(self):
        nw = self.nw
        given = {"tlds": ["com"], "limit": 3, "max_length": 12, "styles": ["short", "compound"]}
        found = nw.suggest("coffee shop in Berlin", **given)["suggestions"]
        self.assertGreaterEqual(len(found), 3)
        self.assertTrue(all(s["tld"] == "com" and len(s["label"]) <= 12 and s["style"] in given["styles"] for s in found))
        streamed = nw.suggest_stream("coffee shop in Berlin", **given)
        self.assertEqual(sorted(s["domain"] for s in streamed), sorted(s["domain"] for s in found))
        self.assertEqual(len(list(itertools.islice(nw.suggest_stream("coffee shop"), 1))), 1)
        self.assertEqual(failure(nw.suggest, "coffee", limit=99).details[0]["field"], "limit")
        self.assertEqual(failure(lambda: list(nw.suggest_stream("coffee", styles=["nothing"]))).code, "validation_error")

    def test_compares_tlds_in_one_parameter(self):
        front = self.front()
        nw = Namewharf(front.url)
        answer = nw.compare((tld for tld in ("com", "net", "nosuchsuffix")), 5)
        self.assertEqual(([r["tld"] for r in answer["results"]], answer["years"], answer["unknown"]), (["com", "net"], 5, ["nosuchsuffix"]))
        self.assertEqual(front.seen[0].url, "/api/pricing/compare?tlds=com%2Cnet%2Cnosuchsuffix&years=5")
        self.assertEqual(nw.compare(["com"])["years"], 1)
        self.assertEqual(failure(nw.compare, ["com"], 11).details[0]["field"], "years")
        self.assertEqual(failure(nw.compare, []).code, "validation_error")
        self.assertTrue(nw.listings_page(q="coffee", sort="relevance").items)

    def test_streams_results_and_stops_when_the_loop_does(self):
        nw = self.nw
        self.assertEqual(sorted(r["tld"] for r in nw.search_stream("brewhaven", tlds=["com", "net", "org"])), ["com", "net", "org"])
        self.assertEqual(len(list(itertools.islice(nw.search_stream("brewhaven"), 1))), 1)
        self.assertEqual(len(list(nw.check_stream(["cobaltpine.com", "brewhaven.com"]))), 2)
        self.assertEqual(failure(lambda: list(nw.search_stream(""))).code, "validation_error")
        self.assertEqual(failure(lambda: list(nw.search_stream("brewhaven.com", require_real_prices=True))).code, "authentication_required")

    def test_checks_any_number_of_names_in_the_order_asked(self):
        names = [f"name-{at}.com" for at in range(450)]
        self.assertEqual([r["domain"] for r in self.nw.check(names)], names)
        self.assertEqual(self.nw.check([]), [])
        self.assertEqual([r["status"] for r in self.nw.check(n for n in ["cobaltpine.com", "not a name"])], ["registered", "invalid"])

    def test_runs_any_number_of_operations_each_of_which_fails_alone(self):
        requests = [{"op": "nothing"} if at % 10 == 3 else {"op": "tld_registration_price", "params": {"tld": "com"}} for at in range(45)]
        results = self.nw.batch(requests)
        self.assertEqual([r["ok"] for r in results], [at % 10 != 3 for at in range(45)])
        self.assertEqual([r["id"] for r in results], [str(at) for at in range(45)])
        self.assertEqual(results[3]["error"]["code"], "validation_error")
        self.assertEqual(self.nw.batch([{"id": "mine", "op": "whois_lookup", "params": {"domain": "cobaltpine.com"}}])[0]["id"], "mine")
        self.assertEqual(self.nw.batch([]), [])
        self.assertEqual(failure(self.nw.batch, [{"id": "a", "op": "x"}, {"id": "a", "op": "x"}]).code, "validation_error")

    def test_a_batch_of_which_one_request_fails_keeps_the_others(self):
        front = self.front(lambda request, number: request.forward() if number == 1 else request.json(500, {"error": {"code": "internal_error", "message": "sorry"}}))
        nw = Namewharf(front.url)
        results = nw.batch([{"op": "tld_registration_price", "params": {"tld": "com"}}] * 25)
        self.assertEqual([r["ok"] for r in results], [True] * 20 + [False] * 5)
        self.assertEqual(results[24]["error"]["code"], "internal_error")
        self.assertEqual(failure(nw.batch, [{"op": "x"}]).code, "internal_error")

    def test_batching(self):
        front = self.front()
        nw = Namewharf(front.url)
        with nw.batching() as b:
            whois, cost, wrong, bad = b.whois("cobaltpine.com"), b.price("com"), b.price("nosuchsuffix"), b.whois("a b")
            others = [b.tld("us"), b.search("brewhaven.com", tlds=["com"]), b.listings(limit=1), b.tlds(limit=1), b.check(["a.com"]), b.suggest("coffee", max_length=9), b.compare(["com", "net"], 2)]
            self.assertEqual(failure(cost.result).code, "unsupported")
        self.assertEqual([r.path for r in front.seen], ["/api/batch"])
        self.assertTrue(whois.result()["registered"])
        self.assertEqual(cost.result()["tld"], "com")
        self.assertEqual((failure(wrong.result).code, failure(wrong.result).status), ("not_found", 404))
        self.assertEqual(failure(bad.result).code, "validation_error")
        self.assertTrue(all(other.result() for other in others))
        front.seen.clear()
        with nw.batching() as b:
            lone = b.price("net")
        self.assertEqual([r.url for r in front.seen], ["/api/pricing/tld?tld=net"])
        self.assertEqual(lone.result()["tld"], "net")
        front.seen.clear()
        with nw.batching() as b:
            many = [b.price("com") for _ in range(45)]
        self.assertEqual([len(json.loads(r.body)["operations"]) for r in front.seen], [20, 20, 5])
        self.assertEqual(len([d.result() for d in many]), 45)
        with self.assertRaises(ZeroDivisionError), nw.batching() as b:
            b.price("com")
            1 / 0
        self.assertEqual(len(front.seen), 3, "nothing is sent after an exception")
        with nw.batching() as b:
            good, large = b.price("com"), b.search("x" * 300_000)
        self.assertEqual(good.result()["tld"], "com", "a batch that is refused as a whole is sent call by call")
        self.assertEqual(failure(large.result).status, 413)

    def test_batching_tries_an_operation_again_that_failed_for_now(self):
        def answer(request, number):
            if number > 1:
                return request.forward()
            limited = {"ok": False, "status": 429, "error": {"code": "rate_limited", "message": "wait", "retry_after_s": 0}}
            items = json.loads(request.body)["operations"]
            request.json(200, {"results": [{**item, **(limited if item["id"] == "1" else {"ok": True, "status": 200, "result": price})} for item in items]})

        front = self.front(answer)
        with Namewharf(front.url).batching() as b:
            first, second = b.price("com"), b.price("net")
        self.assertEqual((first.result()["tld"], second.result()["tld"]), ("com", "net"))
        self.assertEqual(len(front.seen), 2)

    def test_pages_has_one_page_in_memory_and_continues_at_a_cursor(self):
        counted = self.front()
        nw = Namewharf(counted.url)
        everything = list(nw.listings(limit=100))
        self.assertEqual(len({l["domain"] for l in everything}), len(everything))
        counted.seen.clear()
        list(itertools.islice(nw.listings(limit=2), 3))
        self.assertEqual(len(counted.seen), 2, "three elements are on two pages")
        page = nw.listings_page(limit=3)
        self.assertEqual(page.items, page["listings"])
        self.assertEqual(page.items, everything[:3])
        self.assertEqual(page.next().items, everything[3:6])
        self.assertEqual(list(nw.listings(limit=100, cursor=page.next_cursor)), everything[3:])
        self.assertEqual(list(nw.listings(limit=100, offset=2)), everything[2:])
        last = nw.listings_page(limit=100)
        while last.next_cursor:
            last = last.next()
        self.assertIsNone(last.next())
        self.assertEqual(nw.listings(limit=1).items, everything[:1])
        self.assertEqual(len(list(itertools.islice(nw.tlds(limit=100), 250))), 250)
        self.assertEqual(len(nw.tlds_page(limit=5)), 5)
        self.assertEqual(failure(lambda: nw.listings_page(cursor="x")).code, "validation_error")
        self.assertEqual(failure(nw.domains_page).code, "authentication_required")

    def test_refuses_bad_input_before_a_request_goes_out(self):
        nw = Namewharf("http://127.0.0.1:9", retries=0)
        for call, field in [
            (lambda: nw.search(""), "q"), (lambda: nw.whois(None), "domain"), (lambda: nw.tld(".."), "tld"), (lambda: nw.tld(""), "tld"),
            (lambda: nw.check("a.com"), "domains"), (lambda: nw.check(["a.com", 3]), "domains[1]"), (lambda: nw.check(None), "domains"),
            (lambda: nw.suggest(""), "q"), (lambda: list(nw.suggest_stream("")), "q"), (lambda: nw.compare("com"), "tlds"), (lambda: nw.compare(["com", ""]), "tlds[1]"),
            (lambda: nw.batch([{}]), "operations[0].op"), (lambda: nw.batch("x"), "operations"), (lambda: nw.add_domain(""), "domain"),
            (lambda: nw.bulk("list", "a.com"), "domains"), (lambda: nw.price("com", timeout=-1), "timeout"), (lambda: nw.price("com", token="a\nb"), "token"),
            (lambda: nw.price("com", headers={"x-a": "secret\n"}), "headers"), (lambda: nw.price("com", headers={"x a": "b"}), "headers"),
            (lambda: nw.price("com", headers={"Host": "evil.example"}), "headers"), (lambda: nw.add_domain("a.com", headers={"Content-Length": "0"}), "headers"),
            (lambda: nw.add_domain("a.com", idempotency_key=""), "idempotency_key"), (lambda: nw.price("com", timeout=float("nan")), "timeout"),
        ]:  # fmt: skip
            error = failure(call)
            self.assertEqual((error.code, error.details[0]["field"]), ("validation_error", field))
            self.assertNotIn("secret", f"{error!r}{error}")
        for call in (lambda: nw.search("\ud800"), lambda: nw.price("\ud800"), lambda: nw.search("a", tlds=[object()])):
            self.assertEqual(failure(call).code, "validation_error")
        for arguments in [{"base_url": "nowhere"}, {"base_url": "ftp://a"}, {"base_url": "http://u:p@a"}, {"base_url": "http://a?b"}, {"base_url": "http://a:x"},
                          {"base_url": "http://a", "token": "a b"}, {"base_url": "http://a", "retries": -1}, {"base_url": ""}]:  # fmt: skip
            self.assertEqual(failure(Namewharf, **arguments).code, "validation_error")
        error = failure(self.nw.whois, "a b")
        self.assertEqual((error.code, error.status, error.details[0]["field"]), ("validation_error", 400, "domain"), "the rest is the server's to say")
        self.assertTrue(error.request_id)

    def test_takes_its_base_url_from_the_environment(self):
        with mock.patch.dict(os.environ, {"NAMEWHARF_BASE_URL": f"{demo().url}/"}), Namewharf() as nw:
            self.assertEqual(nw.price("com")["tld"], "com")
        with mock.patch.dict(os.environ):
            os.environ.pop("NAMEWHARF_BASE_URL", None)
            self.assertEqual(failure(Namewharf).details[0]["field"], "base_url")

    def test_says_who_it_is_and_sends_no_further_header(self):
        front = self.front(lambda request: request.json(200, price))
        Namewharf(front.url, token="nw_at_x", headers={"X-Mine": "a"}).price("com", headers={"X-Yours": "b"})
        headers = front.seen[0].headers
        self.assertRegex(headers["user-agent"], rf"^namewharf-python/\d+\.\d+\.\d+ \(python {sys.version_info[0]}\.{sys.version_info[1]}\)$")
        self.assertEqual((headers["x-mine"], headers["x-yours"], headers["authorization"]), ("a", "b", "Bearer nw_at_x"))
        self.assertEqual(set(headers), {"accept", "accept-encoding", "authorization", "host", "user-agent", "x-mine", "x-yours"})

    def test_keeps_connections_and_survives_their_end(self):
        ports = []

        def answer(request, number):
            ports.append(request._handler.client_address[1])
            request.json(200, price)
            if number == 3:
                request.cut()

        front = self.front(answer)
        with Namewharf(front.url, retries=0) as nw:
            for _ in range(6):
                nw.price("com")
        self.assertEqual([ports.index(port) for port in ports][:3], [0, 0, 0])
        self.assertEqual(len(set(ports)), 2)
        self.assertEqual(nw.price("com"), price, "a closed client begins anew")

    def test_threads_share_a_client(self):
        found = []
        threads = [threading.Thread(target=lambda: found.extend(self.nw.price("com")["tld"] for _ in range(5))) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, ["com"] * 50)

    def test_shows_no_token(self):
        nw = Namewharf(demo().url, token="nw_at_hush")
        error = failure(nw.search, "brewhaven.com")
        self.assertEqual(error.code, "invalid_token")
        self.assertNotIn("hush", f"{nw!r}{nw}{error!r}{error}{error.__dict__}")

    def test_errors_can_be_copied_and_pickled(self):
        for error in (failure(self.nw.whois, "a b"), namewharf.ConnectionError("c"), namewharf.TimeoutError("t")):
            for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
                self.assertEqual((type(other), other.__dict__, str(other)), (type(error), error.__dict__, str(error)))
        self.assertIsInstance(namewharf.ConnectionError("c"), ConnectionError)
        self.assertIsInstance(namewharf.TimeoutError("t"), TimeoutError)


class Methods(unittest.TestCase):
    def test_both_clients_have_the_same_methods(self):
        from namewharf import AsyncPartner, Partner

        for blocking, other in ((Namewharf, AsyncNamewharf), (Partner, AsyncPartner)):
            public = {name: value for name, value in inspect.getmembers(blocking, callable) if not name.startswith("_") and name not in ("close", "batching")}
            self.assertEqual(set(public), {name for name, _ in inspect.getmembers(other, callable) if not name.startswith("_") and name != "aclose"})
            for name, method in public.items():
                self.assertEqual(list(inspect.signature(method).parameters), list(inspect.signature(getattr(other, name)).parameters), name)
                self.assertTrue(method.__doc__, name)

    def test_every_operation_has_a_method(self):
        with open(os.path.join(os.path.dirname(namewharf.__file__), "_generated/operations.py")) as file:
            operations = re.findall(r"^(\w+) = Operation\(", file.read(), re.M)
        self.assertGreater(len(operations), 20)
        for module in ("_client", "_async_client"):
            with open(os.path.join(os.path.dirname(namewharf.__file__), f"{module}.py")) as file, open(os.path.join(os.path.dirname(namewharf.__file__), "_core.py")) as core:
                source = file.read() + core.read()
            for operation in operations:
                if not operation.startswith("partner_"):
                    self.assertRegex(source, rf"\boperations\.{operation}\b", "write a method, with an example in README.md")

    def test_every_name_can_be_imported(self):
        for name in namewharf.__all__:
            self.assertTrue(getattr(namewharf, name))
        self.assertIn("WhoisLookupAnswer", namewharf.types.__all__)
        self.assertIn("Namewharf", dir(namewharf))
        with self.assertRaises(AttributeError):
            namewharf.nothing


class Async(unittest.TestCase):
    def front(self, answer=None):
        front = Front(answer)
        self.addCleanup(front.close)
        return front

    def test_answers_as_the_wire_has_them(self):
        async def main():
            async with AsyncNamewharf(demo().url) as nw:
                self.assertEqual((await nw.search("brewhaven.com", tlds=["com"]))["results"][0]["domain"], "brewhaven.com")
                self.assertEqual((await nw.tld("us"))["tld"], "us")
                names = [f"name-{at}.com" for at in range(450)]
                self.assertEqual([r["domain"] for r in await nw.check(names)], names)
                results = await nw.batch([{"op": "whois_lookup", "params": {"domain": "cobaltpine.com"}}, {"op": "nothing"}] * 12)
                self.assertEqual([r["ok"] for r in results], [True, False] * 12)
                self.assertEqual(sorted([r["tld"] async for r in nw.search_stream("brewhaven", tlds=["com", "net"])]), ["com", "net"])
                self.assertEqual([r["status"] async for r in nw.check_stream(["cobaltpine.com"])], ["registered"])
                given = {"tlds": ["com"], "limit": 3, "max_length": 12, "styles": ["short", "compound"]}
                found = [s["domain"] for s in (await nw.suggest("coffee shop", **given))["suggestions"]]
                self.assertGreaterEqual(len(found), 3)
                self.assertEqual(sorted([s["domain"] async for s in nw.suggest_stream("coffee shop", **given)]), sorted(found))
                self.assertEqual([r["tld"] for r in (await nw.compare(iter(["com", "net"]), 5))["results"]], ["com", "net"])
                self.assertTrue((await nw.listings_page(q="coffee", sort="relevance")).items)
                everything = [l async for l in nw.listings(limit=100)]
                page = await nw.listings_page(limit=3)
                self.assertEqual((await page.next()).items, everything[3:6])
                self.assertEqual((await nw.listings(limit=3)).items, page.items)
                self.assertEqual([l async for l in nw.listings(limit=100, cursor=page.next_cursor)], everything[3:])
                self.assertEqual(len(await nw.tlds_page(limit=5)), 5)
                self.assertGreaterEqual(len((await nw.batch_catalogue())["operations"]), 5)
                with self.assertRaises(NamewharfError):
                    await nw.domains_page()

        run(main())

    def test_calls_of_one_turn_go_out_together_a_lone_one_alone(self):
        front = self.front()

        async def main():
            async with AsyncNamewharf(front.url) as nw:
                await asyncio.gather(nw.price("com"), nw.price("net"), nw.tld("de"), nw.whois("cobaltpine.com"))
                self.assertEqual([f"{r.method} {r.path}" for r in front.seen], ["POST /api/batch"])
                front.seen.clear()
                compared, suggested = await asyncio.gather(nw.compare(["com", "net"], 2), nw.suggest("coffee", max_length=9))
                self.assertEqual([r.path for r in front.seen], ["/api/batch"])
                self.assertEqual((len(compared["results"]), compared["years"]), (2, 2))
                self.assertTrue(all(len(s["label"]) <= 9 for s in suggested["suggestions"]))
                front.seen.clear()
                await nw.price("com")
                self.assertEqual([f"{r.method} {r.url}" for r in front.seen], ["GET /api/pricing/tld?tld=com"])
                front.seen.clear()
                await asyncio.gather(*(nw.price("com") for _ in range(45)))
                self.assertEqual(sorted(len(json.loads(r.body)["operations"]) for r in front.seen), [5, 20, 20])
                front.seen.clear()
                await asyncio.gather(nw.price("com", token="nw_at_x"), nw.price("com", timeout=5), nw.price("com", headers={"a": "b"}), return_exceptions=True)
                self.assertNotIn("/api/batch", [r.path for r in front.seen])
            front.seen.clear()
            async with AsyncNamewharf(front.url, batching=False) as nw:
                await asyncio.gather(nw.price("com"), nw.price("net"))
            self.assertEqual(len(front.seen), 2)
            front.seen.clear()
            async with AsyncNamewharf(front.url, batch_window_ms=100) as nw:
                first = asyncio.ensure_future(nw.price("com"))
                await asyncio.sleep(0.005)
                await asyncio.gather(first, nw.price("net"))
            self.assertEqual([r.path for r in front.seen], ["/api/batch"])

        run(main())

    def test_one_failure_rejects_one_call(self):
        async def main():
            async with AsyncNamewharf(demo().url) as nw:
                results = await asyncio.gather(nw.price("com"), nw.price("nosuchsuffix"), nw.whois("a b"), nw.whois("cobaltpine.com"), return_exceptions=True)
                self.assertEqual([getattr(r, "code", "fine") for r in results], ["fine", "not_found", "validation_error", "fine"])
                results = await asyncio.gather(nw.price("com"), nw.search("x" * 300_000), return_exceptions=True)
                self.assertEqual((results[0]["tld"], results[1].status), ("com", 413))
                results = await asyncio.gather(nw.price("com"), nw.search("a", tlds=[object()]), return_exceptions=True)
                self.assertEqual((results[0]["tld"], results[1].code), ("com", "validation_error"))

        run(main())

    def test_an_operation_that_failed_for_now_is_tried_again(self):
        def answer(request, number):
            if number > 1:
                return request.forward()
            limited = {"ok": False, "status": 429, "error": {"code": "rate_limited", "message": "wait", "retry_after_s": 0}}
            items = json.loads(request.body)["operations"]
            request.json(200, {"results": [{**item, **(limited if item["id"] == "1" else {"ok": True, "status": 200, "result": price})} for item in items]})

        front = self.front(answer)

        async def main():
            async with AsyncNamewharf(front.url) as nw:
                self.assertEqual([p["tld"] for p in await asyncio.gather(nw.price("com"), nw.price("net"))], ["com", "net"])

        run(main())
        self.assertEqual([r.path for r in front.seen], ["/api/batch", "/api/pricing/tld"])

    def test_a_junk_batch_fails_its_calls(self):
        front = self.front(lambda request: request.json(200, {"results": [{"id": "0", "ok": True, "result": price}]}))

        async def main():
            async with AsyncNamewharf(front.url) as nw:
                results = await asyncio.gather(nw.price("com"), nw.price("net"), return_exceptions=True)
                self.assertEqual((results[0], results[1].code), (price, "invalid_response"))
                front.answer = lambda request: request.json(200, [1])
                results = await asyncio.gather(nw.price("com"), nw.price("net"), return_exceptions=True)
                self.assertEqual([r.code for r in results], ["invalid_response"] * 2)

        run(main())

    def test_a_call_that_is_cancelled_leaves_its_batch_and_all_of_them_end_it(self):
        reached = threading.Event()
        go = threading.Event()

        def answer(request):
            reached.set()
            if len(json.loads(request.body)["operations"]) == 3:
                go.wait(30)
                request.forward()
            else:
                request.wait()

        front = self.front(answer)

        async def main():
            loop = asyncio.get_running_loop()
            async with AsyncNamewharf(front.url) as nw:
                calls = [asyncio.ensure_future(nw.price(tld)) for tld in ("com", "net", "org")]
                await loop.run_in_executor(None, reached.wait)
                calls[1].cancel()
                await asyncio.sleep(0)
                go.set()
                results = await asyncio.gather(*calls, return_exceptions=True)
                self.assertEqual([results[0]["tld"], type(results[1]), results[2]["tld"]], ["com", asyncio.CancelledError, "org"])
                reached.clear()
                calls = [asyncio.ensure_future(nw.price(tld)) for tld in ("com", "net")]
                await loop.run_in_executor(None, reached.wait)
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
                self.assertTrue(await loop.run_in_executor(None, front.closed.wait, 20))
                self.assertLessEqual(len(asyncio.all_tasks()), 2, "this one, and the one that limits it")

        run(main())

    def test_a_client_works_in_one_event_loop_after_another(self):
        nw = AsyncNamewharf(demo().url)

        async def main():
            return [p["tld"] for p in await asyncio.gather(nw.price("com"), nw.price("net"))]

        for _ in range(3):
            self.assertEqual(run(main()), ["com", "net"])


if __name__ == "__main__":
    unittest.main()
