"""What the SDK does when servers and networks fail; the table in README.md says the same."""

import asyncio
import gzip
import threading
import time
import unittest
from email.utils import formatdate
from unittest import mock

import namewharf
from namewharf import AsyncNamewharf, Namewharf, NamewharfError

from support import Front, price, run
from test_client import failure

JSON = {"content_type": "application/json"}


GROWS = gzip.compress(b" " * (64 << 20), 1)


def stall(request, text=b""):
    if text:
        request.raw(text)
    request.wait()


# What the server does to the first requests, and the code of the error that this is in the end.
PASSING = {
    "a connection that is cut before the answer": (lambda r: r.cut(), "connection_error"),
    "a connection that is cut in the middle of the answer": (lambda r: r.raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"tld":', True), "connection_error"),
    "a connection that is cut in the head": (lambda r: r.raw("HTTP/1.1 200 OK\r\ncontent-ty", True), "connection_error"),
    "a chunked answer that ends early": (lambda r: r.raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n7\r\n{"tld":', True), "connection_error"),
    "chunks with a wrong length": (lambda r: r.raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}", True), "connection_error"),
    "what is not HTTP": (lambda r: r.raw("SSH-2.0-OpenSSH\r\n\r\n", True), "connection_error"),
    "a 429 with seconds": (lambda r: r.json(429, {"error": {"code": "rate_limited", "message": "wait"}}, retry_after="0"), "rate_limited"),
    "a 429 with a date": (lambda r: r.json(429, {"error": {"code": "rate_limited", "message": "wait"}}, retry_after=formatdate(usegmt=True)), "rate_limited"),
    "a 502 of a proxy": (lambda r: r.reply(502, "<h1>bad gateway", content_type="text/html"), "http_error"),
    "a 503": (lambda r: r.json(503, {"error": {"code": "unavailable", "message": "starting"}}), "unavailable"),
    "a 504": (lambda r: r.reply(504), "http_error"),
    "an endless length": (lambda r: r.raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " + "9" * 5000 + "\r\n\r\n{}", True), "connection_error"),
    "a slow head": (lambda r: stall(r), "timeout"),
    "a slow body": (lambda r: stall(r, b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"), "timeout"),
}  # fmt: skip

# What is an error at once.
FINAL = {
    "junk instead of JSON": (lambda r: r.reply(200, '{"tld": nope', **JSON), "invalid_response"),
    "what only some take for JSON": (lambda r: r.reply(200, "NaN", **JSON), "invalid_response"),
    "deep JSON": (lambda r: r.reply(200, "[" * 500_000, **JSON), "invalid_response"),
    "bytes that are no text": (lambda r: r.reply(200, b"\xff\xfe\x00", **JSON), "invalid_response"),
    "an empty answer": (lambda r: r.reply(200, **JSON), "invalid_response"),
    "another content type": (lambda r: r.reply(200, "<p>Log in to the network", content_type="text/html"), "invalid_response"),
    "no content type": (lambda r: r.reply(200, "{}"), "invalid_response"),
    "a length over 16 MiB": (lambda r: r.raw(f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {17 << 20}\r\n\r\n{{"), "response_too_large"),
    "more than 16 MiB": (lambda r: r.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + b" " * (17 << 20), True), "response_too_large"),
    "little that grows to more than 16 MiB": (lambda r: r.reply(200, GROWS, content_encoding="gzip", **JSON), "response_too_large"),
    "a 500": (lambda r: r.json(500, {"error": {"code": "internal_error", "message": "sorry", "request_id": "req_1"}}), "internal_error"),
    "a 404 without JSON": (lambda r: r.reply(404, "no", content_type="text/plain"), "http_error"),
    "an error of another shape": (lambda r: r.json(418, ["x"]), "http_error"),
    "a redirect to another origin": (lambda r: r.reply(307, location="http://127.0.0.1:9/"), "redirect_refused"),
    "a redirect to the same port of another name": (lambda r: r.reply(307, location=f"http://localhost:{r.headers['host'].partition(':')[2]}/"), "redirect_refused"),
    "a redirect with a user": (lambda r: r.reply(308, location=f"http://user:secret@{r.headers['host']}/"), "redirect_refused"),
    "a redirect nowhere": (lambda r: r.reply(302), "redirect_refused"),
    "a redirect to no URL": (lambda r: r.reply(302, location="http://["), "redirect_refused"),
    "redirects without end": (lambda r: r.reply(307, location=f"{r.url}1"), "redirect_refused"),
}  # fmt: skip


class Faults(unittest.TestCase):
    def setUp(self):
        shorter = mock.patch("namewharf._transport.FIRST_WAIT", 0.01)  # seconds before the second attempt
        shorter.start()
        self.addCleanup(shorter.stop)

    def front(self, answer=None):
        front = Front(answer)
        self.addCleanup(front.close)
        return front

    def both(self, front, **options):
        """A call by each client, as functions of which each ends with the answer."""

        def blocking():
            with Namewharf(front.url, **options) as nw:
                return nw.price("com")

        def with_asyncio():
            async def main():
                async with AsyncNamewharf(front.url, **options) as nw:
                    return await nw.price("com")

            return run(main())

        return blocking, with_asyncio

    def test_tried_again(self):
        for name, (fault, _) in PASSING.items():
            for at in (0, 1):
                with self.subTest(name, at=at):
                    front = self.front(lambda request, number: fault(request) if number == 1 else request.json(200, price))
                    slow = name.startswith("a slow")
                    self.assertEqual(self.both(front, retries=9 if slow else 1, timeout=0.3 if slow else 15)[at](), price)
                    self.assertTrue(len(front.seen) == 2 or slow, "a busy machine may be slow once more")

    def test_an_error_in_the_end(self):
        kinds = {"connection_error": (namewharf.ConnectionError, ConnectionError), "timeout": (namewharf.TimeoutError, TimeoutError)}
        for name, (fault, code) in PASSING.items():
            for at in (0, 1):
                with self.subTest(name, at=at):
                    front = self.front(lambda request: fault(request))
                    error = failure(self.both(front, retries=1, timeout=0.3 if name.startswith("a slow") else 15)[at])
                    self.assertEqual(error.code, code)
                    for kind in kinds.get(code, ()):
                        self.assertIsInstance(error, kind)
                    self.assertEqual(len(front.seen), 2)

    def test_a_write_without_a_key_is_not_repeated(self):
        for name, (fault, _) in PASSING.items():
            with self.subTest(name):
                front = self.front(lambda request: fault(request))
                failure(Namewharf(front.url, retries=1, token="nw_at_x", timeout=0.3 if name.startswith("a slow") else 15).add_domain, "a.com")
                self.assertEqual(len(front.seen), 1)

    def test_a_write_with_a_key_is_repeated_with_it(self):
        front = self.front(lambda request, number: request.cut() if number == 1 else request.json(201, {"domain": "a.com"}))
        Namewharf(front.url, token="nw_at_x").add_domain("a.com", idempotency_key="mine")
        self.assertEqual([r.headers["idempotency-key"] for r in front.seen], ["mine", "mine"])

    def test_at_once(self):
        for name, (fault, code) in FINAL.items():
            for at in (0, 1):
                with self.subTest(name, at=at):
                    front = self.front(lambda request: fault(request))
                    error = failure(self.both(front, token="nw_at_hush")[at])
                    self.assertEqual(error.code, code)
                    self.assertEqual(len(front.seen), 6 if name == "redirects without end" else 1)
                    self.assertNotIn("hush", f"{error!r}{error}{error.__dict__}")

    def test_retry_after_is_waited_for_and_given_up_at_once_when_it_is_too_long(self):
        date = "Thu, 01 Jan 2026 12:00:00 GMT"  # the clock of the server decides
        for at, headers in enumerate(({"retry_after": "1"}, {"retry_after": "Thu, 01 Jan 2026 12:00:01 GMT", "date": date})):
            front = self.front(lambda request, number: request.json(429, {}, **headers) if number == 1 else request.json(200, price))
            began = time.monotonic()
            self.both(front)[at]()
            self.assertGreaterEqual(time.monotonic() - began, 0.99)
        for value in ("61", formatdate(time.time() + 120, usegmt=True), "9" * 400):
            front = self.front(lambda request: request.json(503, {}, retry_after=value))
            error = failure(Namewharf(front.url).price, "com")
            self.assertGreaterEqual(error.retry_after, 61)
            self.assertEqual(len(front.seen), 1)
        for seconds in ("-5", "NaN", "-Infinity", "true", '"9"', "null"):  # of a body, what is no number of seconds
            body = '{"error":{"code":"rate_limited","message":"wait","retry_after_s":%s}}' % seconds
            front = self.front(lambda request, number: request.reply(429, body, **JSON) if number == 1 else request.json(200, price))
            self.assertEqual(Namewharf(front.url).price("com"), price, seconds)
        front = self.front(lambda request: request.reply(429, '{"error":{"retry_after_s":1e999}}', **JSON))
        self.assertEqual(failure(Namewharf(front.url).price, "com").retry_after, float("inf"))
        front = self.front(lambda request, number: request.json(429, {}, retry_after="1") if number == 1 else request.json(200, price))
        self.assertEqual(Namewharf(front.url, max_retry_after_s=float("inf")).price("com"), price)
        front = self.front(lambda request, number: request.json(429, {}, retry_after="soon, I hope") if number == 1 else request.json(200, price))
        self.assertEqual(Namewharf(front.url).price("com"), price)

    def test_waits_between_attempts_are_random_and_double(self):
        from namewharf._transport import LONGEST_WAIT

        waits = []
        front = self.front(lambda request: request.json(503, {}))
        with mock.patch("namewharf._transport.FIRST_WAIT", 0.25), mock.patch("namewharf._io.time.sleep", waits.append), mock.patch("random.random", lambda: 0.5):
            failure(Namewharf(front.url, retries=8).price, "com")
        self.assertEqual(waits, [min(LONGEST_WAIT, 0.25 * 2**at) / 2 for at in range(8)])

    def test_answers_of_other_forms_are_read(self):
        body = b'{"tld":"com"}'
        chunked = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\n" + body[:5] + b"\r\n8\r\n" + body[5:] + b"\r\n0\r\nTrailer: x\r\n\r\n"
        for answer in (
            lambda r: r.raw(chunked), lambda r: [r.raw(chunked[at : at + 1]) for at in range(len(chunked))],
            lambda r: r.reply(200, gzip.compress(body), content_encoding="gzip", **JSON), lambda r: r.reply(200, body, content_type="application/problem+json; charset=utf-8"),
            lambda r: r.raw(b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + body, True),
            lambda r: r.raw(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n" + body),
        ):  # fmt: skip
            front = self.front(lambda request: answer(request) and None)
            for call in self.both(front, retries=0):
                self.assertEqual(call(), {"tld": "com"})
            with Namewharf(front.url, retries=0) as nw:
                self.assertEqual((nw.price("com"), nw.price("com")), ({"tld": "com"},) * 2)

    def test_what_a_server_sends_without_being_asked_is_no_answer(self):
        late = b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
        sent = threading.Event()

        def answer(request, number):
            request.json(200, price)
            if number == 1:
                sent.wait(20)
                time.sleep(0.05)  # the client has read its answer; the connection is idle
                request.raw(late, True)
                sent.clear()

        with_asyncio = self.front(answer)

        async def main():
            async with AsyncNamewharf(with_asyncio.url, retries=0) as nw:
                await nw.price("com")
                sent.set()
                while sent.is_set():
                    await asyncio.sleep(0.02)
                await asyncio.sleep(0.1)
                self.assertEqual(await nw.price("com"), price)

        run(main())
        blocking = self.front(answer)
        with Namewharf(blocking.url, retries=0) as nw:
            nw.price("com")
            sent.set()
            while sent.is_set():
                time.sleep(0.02)
            time.sleep(0.1)
            self.assertEqual(nw.price("com"), price)

    def test_a_redirect_within_the_origin_is_followed(self):
        front = self.front(lambda r: r.reply(307, location=f"/moved{r.url}") if r.path.startswith("/api") else r.reply(200, r.body, **JSON))
        self.assertEqual(Namewharf(front.url, token="nw_at_x").search("a.com"), {"q": "a.com"})
        self.assertEqual((front.seen[1].headers["authorization"], front.seen[1].method), ("Bearer nw_at_x", "POST"))
        changed = self.front(lambda r: r.reply(302, location="/elsewhere"))
        self.assertEqual(failure(Namewharf(changed.url).search, "a.com").code, "redirect_refused", "a POST does not become a GET")

    def test_a_token_never_goes_to_another_origin(self):
        other = self.front(lambda r: r.json(200, price))
        front = self.front(lambda r: r.reply(307, location=f"{other.url}/api/pricing/tld"))
        failure(Namewharf(front.url, token="nw_at_x").price, "com")
        self.assertEqual(other.seen, [])

    def test_a_base_url_with_a_path(self):
        front = self.front(lambda r: r.json(200, {"at": r.url}))
        self.assertEqual(Namewharf(f"{front.url}/names/").price("com"), {"at": "/names/api/pricing/tld?tld=com"})

    def test_no_server(self):
        for call in self.both(type("Nowhere", (), {"url": "http://127.0.0.1:9"}), retries=0):
            error = failure(call)
            self.assertIsInstance(error, namewharf.ConnectionError)
            self.assertRegex(str(error), r"^http://127\.0\.0\.1:9 could not be reached")
        self.assertEqual(failure(Namewharf("http://no.such.host.invalid", retries=0).price, "com").code, "connection_error")

    def test_cancellation_stops_at_once_and_leaves_nothing_running(self):
        async def main():
            loop = asyncio.get_running_loop()
            reached = threading.Event()
            front = self.front(lambda request: (reached.set(), request.wait()) and None)
            async with AsyncNamewharf(front.url) as nw:
                call = asyncio.ensure_future(nw.price("com"))
                await loop.run_in_executor(None, reached.wait)
                call.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await call
                self.assertTrue(await loop.run_in_executor(None, front.closed.wait, 20))
            busy = self.front(lambda request: request.json(503, {}, retry_after="30"))  # between two attempts
            async with AsyncNamewharf(busy.url) as nw:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(nw.whois("a.com"), 0.3)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(nw.check(["a.com"] * 500), 0.3)
            self.assertLessEqual(len(asyncio.all_tasks()), 2)

        run(main())

    def test_streams(self):
        result = 'event: result\r\ndata: {"domain":\r\ndata: "a.com"}\r\n\r\n'
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
        seen = []

        def read(front, **options):
            for r in Namewharf(front.url, **options).search_stream("a"):
                seen.append(r["domain"])

        def read_async(front, **options):
            async def main():
                async with AsyncNamewharf(front.url, **options) as nw:
                    async for r in nw.search_stream("a"):
                        seen.append(r["domain"])

            run(main())

        for read in (read, read_async):
            for answer, code, options, results in [
                (lambda r: r.raw(head + result, True), "connection_error", {}, 1),
                (lambda r: stall(r, (head + result).encode()), "timeout", {"timeout": 0.3}, 1),
                (lambda r: r.json(200, {}), "invalid_response", {}, 0),
                (lambda r: r.raw(head + 'event: error\ndata: {"error":{"code":"unavailable","message":"no"}}\n\n', True), "unavailable", {}, 0),
                (lambda r: r.raw(head + "event: result\ndata: {\n\n", True), "invalid_response", {}, 0),
            ]:
                seen.clear()
                front = self.front(lambda request: answer(request) and None)
                self.assertEqual(failure(read, front, **options).code, code)
                self.assertEqual((len(seen), len(front.seen)), (results, 1))
            seen.clear()
            late = self.front(lambda r, number: r.json(503, {}) if number == 1 else r.raw(head + f": hello\n\n{result}event: done\ndata: {{}}\n\n", True))
            read(late)
            self.assertEqual(seen, ["a.com"])
        endless = self.front(lambda request: stall(request, (head + result).encode()))
        stream = Namewharf(endless.url).search_stream("a")
        next(stream)
        stream.close()
        self.assertTrue(endless.closed.wait(20), "the connection ends with the loop")

    def test_lines_of_a_stream_may_be_cut_anywhere(self):
        from namewharf._transport import EventLines

        text = "event: result\r\ndata: a\rdata: b\n\r\n: comment\n\ndata:ö\n\nevent: x\n\n".encode()
        want = [("result", "a\nb"), ("message", "ö")]
        for size in range(1, len(text)):
            lines = EventLines()
            self.assertEqual([tuple(e) for at in range(0, len(text), size) for e in lines.push(text[at : at + size])], want, size)

    def test_a_page_that_leads_to_itself_ends_the_list(self):
        front = self.front(lambda request: request.json(200, {"listings": [{}], "page": {"next_cursor": "same"}}))
        self.assertEqual(failure(lambda: list(Namewharf(front.url).listings())).code, "invalid_response")
        front = self.front(lambda request: request.json(200, {"listings": {}}))
        self.assertEqual(failure(lambda: list(Namewharf(front.url).listings())).code, "invalid_response")


if __name__ == "__main__":
    unittest.main()
