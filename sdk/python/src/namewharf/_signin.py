"""Signs a person in by OAuth: discovery, registration, PKCE, a loopback redirect, and refresh tokens that work once."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import sys
import threading
import time
from concurrent.futures import Future
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Union
from urllib.parse import parse_qsl, urlencode, urlsplit

from ._io import IO, Expired
from ._transport import Authorization, Outgoing, Transport, bearer
from ._wire import run
from .errors import NamewharfError
from .store import FileStore, TokenStore, default_path

LEEWAY = 5.0  # seconds before its end that an access token counts as ended
REGISTRATION_LIFE = 6 * 24 * 3600  # the service deletes one without a live grant after seven days
LOCK_TIME = 40.0  # seconds to wait for other processes
LOCK_POLL = 0.05


class Grant(NamedTuple):
    """What is stored of a sign-in."""

    base: str  # of the service, as the client knows it
    resource: str  # as the service calls its API
    client_id: str
    token_endpoint: str
    revocation_endpoint: Optional[str]
    access_token: str
    refresh_token: str
    expires_at: float  # milliseconds since 1970
    scope: str

    def text(self) -> str:
        return json.dumps({name: value for name, value in self._asdict().items() if value is not None})


async def settle(value: Any) -> Any:
    """What a method of a store returns, which may be a coroutine."""
    return await value if hasattr(value, "__await__") else value


class SessionCore:
    """A sign-in."""

    def __init__(self, transport: Transport, store: TokenStore, grant: Grant, left: Callable[[], None]) -> None:
        self.transport = transport
        self.store = store
        self.grant: Optional[Grant] = grant
        self._left = left
        self._unsaved: Optional[Grant] = None
        self._lock = transport.io.lock()

    @property
    def scopes(self) -> List[str]:
        return self.grant.scope.split() if self.grant else []

    async def token(self) -> str:
        grant = self.grant
        if grant is not None and time.time() * 1000 > grant.expires_at - LEEWAY * 1000:
            await self.renew(grant.access_token)
        if self.grant is None:
            raise signed_out()
        return self.grant.access_token

    async def sign_out(self) -> None:
        await self._lock.acquire()  # a refresh that is under way would store its tokens again
        try:
            grant, self.grant = self.grant, None
            self._left()
            await settle(self.store.clear())
        finally:
            self._lock.release()
        if grant is not None and grant.revocation_endpoint:
            try:
                await post(self.transport, grant.revocation_endpoint, {"token": grant.refresh_token, "client_id": grant.client_id}, True)
            except NamewharfError as error:
                if error.code != "invalid_response":  # an empty answer says that it is done
                    raise

    async def renew(self, refused: str) -> bool:
        """Replaces an access token that was refused. However many calls ask, one request goes out.

        It goes on when the call that asked is cancelled: a refresh token works once, and the next one must be stored.
        """
        await self._lock.acquire()
        return await self.transport.io.finish(self._renew_and_release(refused))

    async def _renew_and_release(self, refused: str) -> bool:
        try:
            before = self.grant
            if before is None:
                raise signed_out()
            if before.access_token != refused:
                return True
            unlock = await self._file_lock()
            try:
                return await self._renew(before)
            finally:
                if unlock is not None:
                    await settle(unlock())
        finally:
            self._lock.release()

    async def _file_lock(self) -> Any:
        try_lock = getattr(self.store, "try_lock", None)
        if try_lock is None:
            return None
        until = time.monotonic() + LOCK_TIME
        while True:
            unlock = await settle(try_lock())
            if unlock is not None:
                return unlock
            if time.monotonic() > until:
                raise failed("another program has locked the sign-in: remove its lock file if none runs")
            await self.transport.io.sleep(LOCK_POLL)

    async def _renew(self, grant: Grant) -> bool:
        if self._unsaved is not None:
            return await self._save(self._unsaved)
        stored = parse(await settle(self.store.load()), grant.base)
        if stored is not None and stored.refresh_token != grant.refresh_token:  # another process was first
            self.grant = grant = stored
            if time.time() * 1000 < stored.expires_at - LEEWAY * 1000:
                return True
        form = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token, "client_id": grant.client_id, "resource": grant.resource}
        try:
            tokens = await post(self.transport, grant.token_endpoint, form, True)
        except NamewharfError as error:
            if error.code not in ("invalid_grant", "invalid_client"):
                raise
            self.grant = None
            await settle(self.store.clear())
            raise signed_out() from error
        return await self._save(granted(grant, tokens))

    async def _save(self, grant: Grant) -> bool:
        """Stores a grant before it is used: a refresh token works once. If that fails, the next call tries it again."""
        self._unsaved = grant
        await settle(self.store.save(grant.text()))
        self._unsaved = None
        self.grant = grant
        return True


class SessionAuthorization(Authorization):
    """The token of a sign-in, for one call."""

    def __init__(self, session: SessionCore) -> None:
        self._session = session
        self._used = ""

    async def headers(self, method: str, target: str, body: Optional[bytes]) -> Mapping[str, str]:
        self._used = await self._session.token()
        return bearer(self._used)

    async def renew(self) -> bool:
        return await self._session.renew(self._used)


class Session:
    """A sign-in, which Namewharf uses for its calls. Tokens are renewed by themselves."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    @property
    def scopes(self) -> List[str]:
        """What the person allowed."""
        return self._core.scopes

    def token(self) -> str:
        """The access token, for requests of your own. It is renewed first if it has ended."""
        return run(self._core.token())

    def sign_out(self) -> None:
        """Revokes the sign-in and clears its store. The client goes on without one."""
        run(self._core.sign_out())


class AsyncSession:
    """A sign-in, which AsyncNamewharf uses for its calls. Tokens are renewed by themselves."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    @property
    def scopes(self) -> List[str]:
        """What the person allowed."""
        return self._core.scopes

    async def token(self) -> str:
        """The access token, for requests of your own. It is renewed first if it has ended."""
        return await self._core.token()

    async def sign_out(self) -> None:
        """Revokes the sign-in and clears its store. The client goes on without one."""
        await self._core.sign_out()


async def sign_in(
    transport: Transport,
    scopes: Optional[List[str]],
    open_browser: Union[bool, Callable[[str], Any]],
    store: Optional[TokenStore],
    client_name: Optional[str],
    timeout: float,
    *,
    left: Callable[[], None],
) -> SessionCore:
    """Signs in, or goes on with what the store has."""
    asked = ["pricing:read"] if scopes is None else list(scopes)
    if store is None:
        store = FileStore(default_path(transport.origin.name))
    stored = parse(await settle(store.load()), transport.base)
    if stored is not None and set(asked) <= set(stored.scope.split()):
        session = SessionCore(transport, store, stored, left)
        await session.token()  # says so when the sign-in has ended
        return session
    server = await discover(transport)
    state = secrets.token_urlsafe(32)
    verifier = secrets.token_urlsafe(32)
    loopback = Loopback(state)
    try:
        if stored is not None and stored.token_endpoint == server["token_endpoint"] and time.time() - stored.expires_at / 1000 < REGISTRATION_LIFE:
            client_id = stored.client_id
        else:
            client_id = await register(transport, server, client_name or program_name())
        query = {
            "response_type": "code", "client_id": client_id, "redirect_uri": loopback.redirect_uri, "scope": " ".join(asked), "state": state,
            "resource": server["resource"], "code_challenge": challenge(verifier), "code_challenge_method": "S256",
        }  # fmt: skip
        endpoint = server["authorization_endpoint"]
        await show(transport.io, endpoint + ("&" if "?" in endpoint else "?") + urlencode(query), open_browser)
        try:
            answer = await transport.io.result(loopback.answer, timeout)
        except Expired:
            raise failed("no answer came in time") from None
    finally:
        loopback.close()
    if answer.get("iss") != server["issuer"]:
        raise failed("the answer is of another authorization server")
    code = answer.get("code")
    if not code:
        raise failed("the person did not allow it" if answer.get("error") == "access_denied" else "the authorization server refused", answer.get("error"))
    form = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": loopback.redirect_uri, "client_id": client_id,
        "code_verifier": verifier, "resource": server["resource"],
    }  # fmt: skip
    tokens = await post(transport, server["token_endpoint"], form, False)
    revocation = server.get("revocation_endpoint")
    empty = Grant(transport.base, server["resource"], client_id, server["token_endpoint"], revocation, "", "", 0, " ".join(asked))
    grant = granted(empty, tokens)
    await settle(store.save(grant.text()))
    return SessionCore(transport, store, grant, left)


def challenge(verifier: str) -> str:
    """The S256 code challenge (RFC 7636, section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


async def discover(transport: Transport) -> Dict[str, Any]:
    """Finds the authorization server of the API (RFC 9728, RFC 8414)."""
    resource = f"{transport.base}/api"
    about = await get(transport, well_known(resource, "oauth-protected-resource"))
    named = about.get("resource")
    # A proxy on loopback, as developers use them, may have another port than the service names.
    if not isinstance(named, str) or (named != resource and not (loopback_host(named) and loopback_host(resource))):
        raise failed(f"the service calls itself {str(named)[:200]}: give the base URL that belongs to it")
    servers = about.get("authorization_servers")
    issuer = servers[0] if isinstance(servers, list) and servers else ""
    server = await get(transport, well_known(issuer, "oauth-authorization-server"))
    if server.get("issuer") != issuer:
        raise failed("the authorization server calls itself otherwise")
    for endpoint in ("authorization_endpoint", "token_endpoint", "registration_endpoint"):
        well_known(server.get(endpoint), "")
    if "S256" not in (server.get("code_challenge_methods_supported") or []):
        raise failed("the authorization server does not know PKCE with S256")
    return {**server, "resource": named}


def well_known(of: Any, document: str) -> str:
    """The metadata address of an https URL, or an http one on loopback."""
    parts = urlsplit(of) if isinstance(of, str) else None
    if parts is None or not parts.scheme or not parts.hostname or not re.fullmatch(r"[\x21-\x7e]+", of):
        raise failed("the service names no address of its authorization server")
    if parts.scheme != "https" and not loopback_host(of):
        raise failed(f"{parts.scheme}://{parts.hostname} is not safe to sign in at: it needs https")
    return f"{parts.scheme}://{parts.netloc}/.well-known/{document}{parts.path.rstrip('/')}"


def loopback_host(address: str) -> bool:
    """Whether a URL leads to this machine."""
    return bool(re.match(r"https?://(127(\.\d+){3}|localhost|\[::1\])(:\d+)?(/|$)", address))


async def register(transport: Transport, server: Mapping[str, Any], name: str) -> str:
    """Registers this program (RFC 7591). A loopback redirect is good for any port (RFC 8252, section 7.3)."""
    body = {
        "client_name": name, "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
    }  # fmt: skip
    answer = await transport.json(Outgoing("POST", server["registration_endpoint"], json.dumps(body).encode(), True))
    client_id = answer.get("client_id") if isinstance(answer, dict) else None
    if not isinstance(client_id, str) or not client_id:
        raise failed("the authorization server gave no client id")
    return client_id


async def get(transport: Transport, target: str) -> Dict[str, Any]:
    answer = await transport.json(Outgoing("GET", target, repeatable=True))
    if not isinstance(answer, dict):
        raise failed("the service does not describe its authorization server")
    return answer


async def post(transport: Transport, target: str, form: Mapping[str, str], repeatable: bool) -> Any:
    body = urlencode(form).encode()
    return await transport.json(Outgoing("POST", target, body, repeatable, content_type="application/x-www-form-urlencoded"))


def granted(grant: Grant, tokens: Any) -> Grant:
    """The grant with the tokens that an answer gives."""
    if not isinstance(tokens, dict) or not isinstance(tokens.get("access_token"), str) or not tokens["access_token"]:
        raise failed("the authorization server gave no token")
    seconds = tokens.get("expires_in", 1800)
    return grant._replace(
        access_token=tokens["access_token"],
        refresh_token=tokens.get("refresh_token") or grant.refresh_token,
        expires_at=int((time.time() + (seconds if isinstance(seconds, (int, float)) else 1800)) * 1000),
        scope=tokens.get("scope") or grant.scope,
    )


def parse(value: Any, base: str) -> Optional[Grant]:
    """Reads the value of a store; None if it is of another service."""
    try:
        found = json.loads(value) if isinstance(value, (str, bytes)) else value
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("base") != base:
        return None
    texts = ("resource", "client_id", "token_endpoint", "access_token", "refresh_token", "scope")
    if not all(isinstance(found.get(name), str) for name in texts):
        return None
    expires_at = found.get("expires_at")
    fields: Dict[str, Any] = {name: found.get(name) for name in Grant._fields}
    fields["expires_at"] = expires_at if isinstance(expires_at, (int, float)) else 0
    return Grant(**fields)


async def show(io: IO, url: str, open_browser: Union[bool, Callable[[str], Any]]) -> None:
    """Takes the person to an address."""
    if callable(open_browser):
        await io.call(open_browser, url)
        return
    if open_browser:
        import webbrowser

        if await io.call(webbrowser.open, url):
            return
    print(f"To sign in, open {url}", file=sys.stderr)


def program_name() -> str:
    """The file name of the program, as the consent page calls it."""
    name = re.sub(r"\.py\w?$", "", os.path.basename(sys.argv[0] if sys.argv else ""))
    return name[:100] if name and name not in ("-c", "-m") and name.lower() != "namewharf" else "python"


class Loopback:
    """Listens on 127.0.0.1 for the answer of the authorization server (RFC 8252, section 7.3)."""

    def __init__(self, state: str) -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        answer: Future[Dict[str, str]] = Future()
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                query = dict(parse_qsl(url.query))
                good = url.path == "/callback" and secrets.compare_digest(query.get("state", "").encode(), state.encode())
                said = "There is nothing here."
                if good:
                    said = f"You are {'' if 'code' in query else 'not '}signed in. You can close this page."
                page = f"<!doctype html><title>Sign-in</title><p>{said}".encode()
                self.send_response(200 if good else 404)
                for name, value in (
                    ("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(page))), ("Content-Security-Policy", "default-src 'none'"),
                    ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"), ("Connection", "close"),
                ):  # fmt: skip
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(page)
                self.wfile.flush()
                if good:
                    with lock:
                        if not answer.done():
                            answer.set_result(query)

            def log_message(self, *_: Any) -> None:
                pass

        self.answer = answer
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.redirect_uri = f"http://127.0.0.1:{self._server.server_address[1]}/callback"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops to listen."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def failed(why: str, hint: Optional[str] = None) -> NamewharfError:
    return NamewharfError("sign_in_failed", why, hint=hint)


def signed_out() -> NamewharfError:
    return NamewharfError("signed_out", "the sign-in has ended", hint="Call sign_in() again: it opens the browser.")
