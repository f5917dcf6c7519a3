"""Signing in at the demo: a person without scripts in their browser allows it."""

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock
from urllib.parse import parse_qs, urlencode, urlsplit

from namewharf import AsyncNamewharf, FileStore, Namewharf, NamewharfError

from support import Demo, Front, MemoryStore, demo, here, run, send
from test_client import failure

FOR_SALE = "brewhaven.com"


def no_browser(url):
    raise AssertionError("a browser was opened")


def masked(nw):
    return nw.search(FOR_SALE, tlds=["com"])["prices_masked"]


def program(name, *arguments):
    return subprocess.Popen([sys.executable, os.path.join(here, name), *arguments], stdout=subprocess.PIPE, text=True)


class SignIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A demo that people reach through a server that counts, and that can fail.
        cls.counting = Front(None)
        cls.addClassCleanup(cls.counting.close)
        cls.behind = Demo("-rate-limits", "off", "-base-url", cls.counting.url)
        cls.counting.behind = cls.behind.url

    def setUp(self):
        self.counted()

    def counted(self):
        self.counting.answer = None
        self.counting.seen.clear()

    def tokens(self):
        return [r for r in self.counting.seen if r.path == "/api/oauth/token"]

    def allowed(self, url):
        return self.behind.person.allow(url)

    def signed_in(self, store=None, **change):
        """A store with a sign-in at the counted demo."""
        store = store or MemoryStore()
        with Namewharf(self.counting.url) as nw:
            nw.sign_in(open_browser=self.allowed, store=store)
        if change:
            store.edit(**change)
        self.counted()
        return store

    def test_shows_real_prices_and_the_account_its_names(self):
        nw = Namewharf(demo().url)
        store = MemoryStore()
        self.assertTrue(masked(nw))
        session = nw.sign_in(open_browser=demo().person.allow, store=store, scopes=["pricing:read", "domains:write"], client_name="A test")
        self.assertEqual(session.scopes, ["pricing:read", "domains:write"])
        found = nw.search(FOR_SALE, tlds=["com"], require_real_prices=True)
        self.assertGreater(found["results"][0]["listing"]["price"]["priceCents"], 0)
        self.assertTrue(all(l["price"]["priceCents"] > 0 for l in nw.listings_page(sort="price", limit=3, min_price_cents=1)))
        self.assertEqual(nw.add_domain("mine.com")["proof"]["type"], "TXT")
        self.assertEqual(nw.bulk("set_price", ["mine.com", "yours.com"], params={"priceCents": 250000}, dry_run=True)["failed"], 2)
        self.assertIn("mine.com", [d["domain"] for d in nw.domains()])
        self.assertEqual(len(nw.domains_page(limit=1)), 1)
        self.assertNotIn("nw_at_", f"{nw!r}{session!r}")
        self.assertTrue(session.token().startswith("nw_at_"))
        with nw.batching() as b:
            listings, other = b.listings(limit=1), b.price("com")
        self.assertFalse(listings.result()["prices_masked"])
        session.sign_out()
        self.assertIsNone(store.value)
        self.assertTrue(masked(nw), "the client goes on without a sign-in")

    def test_a_later_process_goes_on_without_a_browser(self):
        store = MemoryStore()
        Namewharf(demo().url).sign_in(open_browser=demo().person.allow, store=store)
        self.assertEqual(store.saves, 1)
        later = Namewharf(demo().url)
        later.sign_in(open_browser=no_browser, store=store)
        self.assertFalse(masked(later))
        later.sign_in(open_browser=demo().person.allow, store=store, scopes=["pricing:read", "domains:write"])  # a wider scope needs the person
        self.assertIsInstance(later.domains_page().items, list)
        for value in ("junk", "{}", "[]", json.dumps({**json.loads(store.value), "base": "http://127.0.0.1:9"})):
            with self.assertRaisesRegex(AssertionError, "a browser was opened"):
                later.sign_in(open_browser=no_browser, store=MemoryStore(value))

    def test_50_calls_at_once_with_a_token_that_ended_one_refresh(self):
        for change in ({"access_token": "nw_at_ended"}, {"expires_at": 1}):
            with self.subTest("threads", **change):
                store = self.signed_in(**change)
                nw = Namewharf(self.counting.url)
                nw.sign_in(open_browser=no_browser, store=store)
                with ThreadPoolExecutor(50) as pool:
                    self.assertEqual(list(pool.map(lambda _: masked(nw), range(50))), [False] * 50)
                self.assertEqual((len(self.tokens()), store.saves), (1, 2))
            with self.subTest("asyncio", **change):
                store = self.signed_in(**change)

                async def main():
                    async with AsyncNamewharf(self.counting.url, batching=False) as nw:
                        await nw.sign_in(open_browser=no_browser, store=store)
                        found = await asyncio.gather(*(nw.search(FOR_SALE, tlds=["com"]) for _ in range(50)))
                        self.assertEqual([f["prices_masked"] for f in found], [False] * 50)

                run(main())
                self.assertEqual((len(self.tokens()), store.saves), (1, 2))

    def test_asyncio(self):
        async def main():
            store = MemoryStore()

            class Awaited:
                async def load(self):
                    await asyncio.sleep(0)
                    return store.load()

                async def save(self, value):
                    store.save(value)

                async def clear(self):
                    store.clear()

            async with AsyncNamewharf(demo().url) as nw:
                loop = asyncio.get_running_loop()

                async def browse(url):
                    await loop.run_in_executor(None, demo().person.allow, url)

                session = await nw.sign_in(open_browser=browse, store=Awaited())
                self.assertEqual(session.scopes, ["pricing:read"])
                self.assertFalse((await nw.search(FOR_SALE, tlds=["com"]))["prices_masked"])
                self.assertTrue((await session.token()).startswith("nw_at_"))
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(nw.sign_in(open_browser=lambda _: None, store=MemoryStore()), 0.5)
                await session.sign_out()
                self.assertIsNone(store.value)
            self.assertEqual(failure(Namewharf(demo().url).sign_in, store=Awaited()).code, "unsupported")

        run(main())

    def test_works_through_a_proxy_on_loopback_whose_port_the_service_does_not_know(self):
        proxy = Front(None)
        self.addCleanup(proxy.close)
        store = MemoryStore()
        Namewharf(proxy.url).sign_in(open_browser=demo().person.allow, store=store)
        store.edit(expires_at=1)
        nw = Namewharf(proxy.url)
        nw.sign_in(open_browser=no_browser, store=store)
        self.assertFalse(masked(nw))

    def test_a_rotated_refresh_token_is_stored_before_it_is_used(self):
        store = self.signed_in(access_token="nw_at_ended")
        nw = Namewharf(self.counting.url)
        nw.sign_in(open_browser=no_browser, store=store)
        with mock.patch.object(store, "save", side_effect=OSError("disk full")), self.assertRaisesRegex(OSError, "disk full"):
            masked(nw)
        self.assertEqual([r.path for r in self.counting.seen], ["/api/domain/search", "/api/oauth/token"])
        self.assertFalse(masked(nw), "the next call stores it")
        self.assertEqual(len(self.tokens()), 1)

    def test_a_call_that_is_cancelled_leaves_the_refresh_to_its_end(self):
        # A refresh token works once: a refresh that stops in its middle would end the sign-in.
        refreshed, go = threading.Event(), threading.Event()

        def answer(request):
            if request.path != "/api/oauth/token":
                return request.forward()
            status, headers, body = send(self.behind.url, "POST", request.url, {**request.headers, "host": urlsplit(self.counting.url).netloc}, request.body)
            refreshed.set()
            go.wait(30)
            request.reply(status, body, content_type="application/json")

        async def main():
            loop = asyncio.get_running_loop()
            async with AsyncNamewharf(self.counting.url, batching=False) as nw:
                await nw.sign_in(open_browser=no_browser, store=store)
                self.counting.answer = answer
                calls = [asyncio.ensure_future(nw.search(FOR_SALE, tlds=["com"])) for _ in range(3)]
                await loop.run_in_executor(None, refreshed.wait)
                for call in calls:
                    call.cancel()
                results = await asyncio.gather(*calls, return_exceptions=True)
                self.assertEqual([type(r) for r in results], [asyncio.CancelledError] * 3)
                go.set()  # the end of the client waits for the refresh
            self.assertEqual(store.saves, 2)
            async with AsyncNamewharf(self.counting.url) as later:
                await later.sign_in(open_browser=no_browser, store=store)
                self.assertFalse((await later.search(FOR_SALE, tlds=["com"]))["prices_masked"])
            self.assertLessEqual(len(asyncio.all_tasks()), 2)

        store = self.signed_in(access_token="nw_at_ended")
        run(main())
        self.assertEqual(len(self.tokens()), 1)

    def test_a_sign_in_works_in_one_event_loop_after_another(self):
        store = self.signed_in()
        nw = AsyncNamewharf(self.counting.url, batching=False)

        async def main():
            session = await nw.sign_in(open_browser=no_browser, store=store) if nw._core.session is None else None
            nw._core.session.grant = nw._core.session.grant._replace(expires_at=1)
            found = await asyncio.gather(*(nw.search(FOR_SALE, tlds=["com"]) for _ in range(5)))
            self.assertEqual([f["prices_masked"] for f in found], [False] * 5)
            await nw.aclose()
            return session

        for _ in range(3):
            run(main())
        self.assertEqual(len(self.tokens()), 3)

    def test_a_sign_out_waits_for_a_refresh(self):
        store = self.signed_in(access_token="nw_at_ended")
        refreshing, go = threading.Event(), threading.Event()

        def answer(request):
            if request.path == "/api/oauth/token":
                refreshing.set()
                go.wait(30)
            request.forward()

        nw = Namewharf(self.counting.url)
        session = nw.sign_in(open_browser=no_browser, store=store)
        self.counting.answer = answer
        with ThreadPoolExecutor(2) as pool:
            call = pool.submit(masked, nw)
            refreshing.wait(30)
            leaving = pool.submit(session.sign_out)
            go.set()
            leaving.result(30)
            call.exception(30)
        self.assertIsNone(store.value)
        self.assertTrue(masked(nw))

    def test_a_dead_grant_clears_the_store_and_says_so(self):
        store = MemoryStore()
        session = Namewharf(demo().url).sign_in(open_browser=demo().person.allow, store=store)
        saved = store.value
        session.sign_out()
        store.value = saved
        later = Namewharf(demo().url)
        later.sign_in(open_browser=no_browser, store=store)
        for _ in range(2):
            error = failure(later.search, FOR_SALE)
            self.assertEqual((error.code, error.hint), ("signed_out", "Call sign_in() again: it opens the browser."))
        self.assertIsNone(store.value)
        later.sign_in(open_browser=demo().person.allow, store=store)
        self.assertFalse(masked(later))

    def test_a_refresh_that_fails_for_now_loses_nothing(self):
        store = self.signed_in(access_token="nw_at_ended")
        nw = Namewharf(self.counting.url, retries=0)
        nw.sign_in(open_browser=no_browser, store=store)
        self.counting.answer = lambda r: r.json(503, {}) if r.path == "/api/oauth/token" else r.forward()
        self.assertEqual(failure(masked, nw).status, 503)
        self.counted()
        self.assertFalse(masked(nw))

    def test_refuses_answers_that_are_not_those_of_its_request(self):
        nw = Namewharf(demo().url)
        for change, message in [
            ({"iss": "https://evil.example"}, "another authorization server"), ({"iss": None}, "another authorization server"),
            ({"code": None, "error": "access_denied"}, "did not allow it"), ({"code": None, "error": "server_error"}, "refused"),
        ]:  # fmt: skip

            def forged(url):
                asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
                self.assertRegex(asked["redirect_uri"], r"^http://127\.0\.0\.1:\d+/callback$")
                self.assertEqual(asked["code_challenge_method"], "S256")
                back = {"code": "nw_ac_x", "iss": demo().url, "state": "wrong"}  # as a page that guesses would
                for answer, status in ((back, 404), ({**back, "state": asked["state"], **change}, 200)):
                    query = urlencode({name: value for name, value in answer.items() if value is not None})
                    self.assertEqual(send(asked["redirect_uri"], "GET", f"/callback?{query}")[0], status)

            error = failure(nw.sign_in, open_browser=forged, store=MemoryStore())
            self.assertEqual(error.code, "sign_in_failed")
            self.assertIn(message, error.message)
        self.assertIn("in time", failure(nw.sign_in, open_browser=lambda _: None, store=MemoryStore(), timeout=0.05).message)
        self.assertEqual(failure(nw.sign_in, open_browser=demo().person.allow, store=MemoryStore(), scopes=["everything"]).code, "sign_in_failed")
        self.assertFalse([t for t in threading.enumerate() if "serve_forever" in t.name and "namewharf" in repr(t)])

    def test_refuses_a_service_that_sends_people_elsewhere(self):
        for change in [
            {"resource": "https://names.example/api"}, {"authorization_servers": ["https://127.0.0.1:9"]}, {"authorization_servers": ["http://names.example"]},
            {"authorization_servers": []}, {"issuer": "https://evil.example"}, {"token_endpoint": "http://evil.example/token"},
            {"authorization_endpoint": "javascript:alert(1)"}, {"code_challenge_methods_supported": ["plain"]},
        ]:  # fmt: skip
            with self.subTest(**change):

                def answer(request):
                    status, _, body = send(demo().url, "GET", request.path, {"Host": urlsplit(demo().url).netloc})
                    served = {**json.loads(body), "issuer": front.url} if b'"issuer"' in body else {**json.loads(body), "authorization_servers": [front.url]}
                    request.json(status, {**served, **{name: value for name, value in change.items() if name in served}})

                front = Front(answer)
                self.addCleanup(front.close)
                error = failure(Namewharf(front.url, retries=0).sign_in, open_browser=no_browser, store=MemoryStore())
                self.assertIn(error.code, ("sign_in_failed", "connection_error"))

    def test_the_default_store_is_a_file_that_only_its_user_can_read(self):
        with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, {"XDG_CONFIG_HOME": home}):
            Namewharf(demo().url).sign_in(open_browser=demo().person.allow)
            folder = os.path.join(home, "namewharf", "sdk")
            (file,) = os.listdir(folder)
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, file)).st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
            later = Namewharf(demo().url)
            later.sign_in(open_browser=no_browser)
            self.assertFalse(masked(later))

    def test_killed_between_the_refresh_and_the_store_the_next_start_says_to_sign_in_again(self):
        with tempfile.TemporaryDirectory() as home:
            file, other = os.path.join(home, "mine.json"), os.path.join(home, "other.json")
            with open(other, "w") as to:
                to.write("of another service")
            store = FileStore(file)
            Namewharf(demo().url).sign_in(open_browser=demo().person.allow, store=store)
            store.save(json.dumps({**json.loads(store.load()), "access_token": "nw_at_ended"}))
            killed = program("killed.py", demo().url, file)
            out, _ = killed.communicate(timeout=30)
            self.assertEqual((killed.returncode, out), (-9, ""))
            following = Namewharf(demo().url)
            following.sign_in(open_browser=no_browser, store=store)
            self.assertEqual(failure(masked, following).code, "signed_out")
            following.sign_in(open_browser=demo().person.allow, store=store)
            self.assertFalse(masked(following))
            with open(other) as of:
                self.assertEqual(of.read(), "of another service")

    def test_processes_that_share_a_sign_in_renew_it_once(self):
        with tempfile.TemporaryDirectory() as home:
            file = os.path.join(home, "mine.json")
            store = self.signed_in(FileStore(file))
            store.save(json.dumps({**json.loads(store.load()), "expires_at": 1}))
            programs = [program("refreshes.py", self.counting.url, file) for _ in range(4)]
            self.assertEqual([p.communicate(timeout=30)[0] for p in programs], ["False\n"] * 4)
            self.assertEqual(len(self.tokens()), 1)
            self.assertEqual(os.listdir(home), ["mine.json"])


if __name__ == "__main__":
    unittest.main()
