"""What the tests share: the demo of the built server, small servers in front of it that fail, and a person with a browser."""

import asyncio
import atexit
import html
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode, urljoin, urlsplit

here = os.path.dirname(os.path.abspath(__file__))
repository = os.path.normpath(os.path.join(here, "../../.."))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers end with this process
server = os.environ.get("SERVER", os.path.join(repository, "bin/publicapi"))
price = {"tld": "com", "op": "register", "priceCents": 1088, "currency": "USD", "term_years": 1, "as_of": "2026-01-01"}


class Demo:
    """The built server, until this process ends."""

    def __init__(self, *flags):
        process = subprocess.Popen([server, "-demo", "-addr", "127.0.0.1:0", *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        atexit.register(self._end, process)
        self.url = self.email = self.key_id = None
        for line in process.stdout:
            if found := re.match(r"listening on (http:\S+)$", line):
                self.url = self.url or found[1]
            if found := re.search(r" e-mail (\S+) +password (\S+)$", line):
                self.email, self.password = found[1], found[2]
            if found := re.search(r" key (\S+) +secret (\S+)$", line):
                self.key_id, self.secret = found[1], found[2]
            if self.key_id and (found := re.search(r" -data (\S+) ", line)):
                self.data = found[1]
                break
        else:
            raise RuntimeError(f"{server} ended")
        self.person = Person(self.email, self.password)
        threading.Thread(target=process.stdout.read, daemon=True).start()

    @staticmethod
    def _end(process):
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_demo = None


def demo():
    """The server that tests share; it has no rate limits."""
    global _demo
    if _demo is None:
        _demo = Demo("-rate-limits", "off")
    return _demo


def send(url, method, target, headers=None, body=None):
    """Sends a request; returns status, headers and body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.request(method, target, body, headers or {})
        response = connection.getresponse()
        return response.status, response.getheaders(), response.read()
    finally:
        connection.close()


class Request:
    """A request that came to a Front, and its answer."""

    def __init__(self, handler, front):
        self._handler = handler
        self._front = front
        self.method = handler.command
        self.url = handler.path
        self.path = handler.path.partition("?")[0]
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = handler.rfile.read(int(self.headers.get("content-length", 0)))

    def raw(self, text, cut=False):
        """Sends bytes."""
        self._handler.wfile.write(text if isinstance(text, bytes) else text.encode())
        self._handler.wfile.flush()
        if cut:
            self.cut()

    def cut(self):
        """Ends the connection."""
        self._handler.close_connection = True

    def reply(self, status, body=b"", **headers):
        """Answers."""
        body = body.encode() if isinstance(body, str) else body
        lines = [f"HTTP/1.1 {status} X"] + [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if "content_length" not in headers:
            lines.append(f"content-length: {len(body)}")
        self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def json(self, status, value, **headers):
        """Answers as the service does."""
        self.reply(status, json.dumps(value), content_type="application/json", **headers)

    def forward(self):
        """Lets the demo answer."""
        to = self._front.behind or demo().url
        headers = {name: value for name, value in self.headers.items() if name != "connection"}
        if self._front.behind is None:
            headers["host"] = urlsplit(to).netloc
        status, answered, body = send(to, self.method, self.url, headers, self.body)
        self.reply(status, body, **{name: value for name, value in answered if name.lower() not in ("transfer-encoding", "content-length")})

    def wait(self, seconds=30):
        """Waits until the other side closes the connection."""
        self._handler.connection.settimeout(seconds)
        try:
            while self._handler.connection.recv(1000):
                pass
            self._front.closed.set()
        except ConnectionError:
            self._front.closed.set()
        except OSError:
            pass
        self.cut()


class Front:
    """A server whose answers are those of a function: it gets each request, and how many came."""

    def __init__(self, answer):
        self.seen = []
        self.closed = threading.Event()
        self.behind = None  # another demo, that knows itself by the address of this server
        lock = threading.Lock()
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def handle_any(self):
                request = Request(self, front)
                with lock:
                    front.seen.append(request)
                    number = len(front.seen)
                try:
                    (front.answer or Request.forward)(request) if front.answer is None or front.answer.__code__.co_argcount == 1 else front.answer(request, number)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 200

            def handle_error(self, *_):
                pass

        self.answer = answer
        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Person:
    """A person whose browser has no scripts: it sends cookies back, follows redirects, fills in forms and presses buttons."""

    def __init__(self, email, password):
        self.email, self.password = email, password
        self.cookies = {}

    def allow(self, url):
        """Goes where a program sends people, signs in if need be and allows what is asked."""
        return self.answer(url, "allow")

    def answer(self, url, button):
        origin = urlsplit(url).netloc
        at, text = self.visit(url)
        for _ in range(4):
            if urlsplit(at).netloc != origin:
                return at
            form = re.search(r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', text, re.S)
            if not form:
                break
            fields = {name: html.unescape(value) for name, value in re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form[2])}
            if 'name="password"' in form[2]:
                fields.update(email=self.email, password=self.password)
            else:
                fields["answer"] = button
            at, text = self.visit(urljoin(at, html.unescape(form[1])), fields)
        raise AssertionError(f"nothing to allow at {at}: {text[:300]}")

    def visit(self, url, form=None):
        for _ in range(10):
            parts = urlsplit(url)
            headers = {"Accept": "text/html", "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
            if form is not None:
                headers.update({"Origin": "null", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"})
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            status, answered, body = send(url, "GET" if form is None else "POST", target, headers, None if form is None else urlencode(form))
            for name, value in answered:
                if name.lower() == "set-cookie":
                    for cookie in SimpleCookie(value).values():
                        self.cookies[cookie.key] = cookie.value
            if status != 303:
                return url, body.decode()
            url = urljoin(url, dict((name.lower(), value) for name, value in answered)["location"])
            form = None
        raise AssertionError("too many redirects")


class MemoryStore:
    """Stores a sign-in in memory, and counts."""

    def __init__(self, value=None):
        self.value, self.saves, self.clears = value, 0, 0

    def load(self):
        return self.value

    def save(self, value):
        self.value, self.saves = value, self.saves + 1

    def clear(self):
        self.value, self.clears = None, self.clears + 1

    def edit(self, **change):
        self.value = json.dumps({**json.loads(self.value), **change})


def run(coroutine):
    """Runs a coroutine in an event loop of its own, with a limit."""
    return asyncio.run(asyncio.wait_for(coroutine, 60))
