"""One chat completion over HTTP, for OpenRouter and any OpenAI-compatible server.

    client = OpenRouter("https://openrouter.ai/api/v1", key)
    client.preflight(["openai/gpt-5-nano"])
    exchange = client.complete(request)      # never raises on what a server or network does

`requests` is imported when the first client is made, so that everything offline runs without it.
Connections are kept alive and shared. A call has a total deadline with its own clock: a server
that sends one byte a second resets every socket timeout, so a watchdog shuts the socket.
"""

import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import NamedTuple
from urllib.parse import urlsplit

from common import VERSION, wire
from common.cli import KEY_VARIABLE
from common.exits import Incomplete, ProviderRefused, UsageError
from common.wire import Exchange, Model, Request, read, read_balance, read_catalogue

# --- Who can be asked, by the scheme of the address: one row a provider ---

OPENROUTER = "https://openrouter.ai/api/v1"  # where a key without an address leads


class Catalogue(NamedTuple):
    """What a provider says of itself before the first call; `models` empty and `limit_remaining`
    None where unknown. A problem ends the run, a note is shown."""

    models: dict[str, Model]
    limit_remaining: float | None
    dialect: str
    problems: list[str]
    notes: list[str]
    unreachable: str = ""


def _http() -> ModuleType:
    return sys.modules[__name__]


# Imported where it is asked: offline nobody needs it.
PROVIDERS: dict[str, Callable[[], ModuleType]] = {"https": _http, "http": _http}


def provider_of(address: str) -> ModuleType:
    """The provider at an address; that of the web, which names its fault, where none has it."""
    return PROVIDERS.get(address.partition(":")[0].lower(), _http)()


SHORTEST_KEY = 6  # a shorter one is a placeholder, and stands in ordinary text


def redacted(text: str, key: str) -> str:
    """`text` with [key] in the place of `key`, also where JSON, Python or an address spells some of
    its characters in another way. A server may echo it; it must reach no file and no line."""
    if len(key) < SHORTEST_KEY:
        return text
    text = text.replace(key, "[key]")
    return _spelled(key).sub("[key]", text) if "\\" in text or "%" in text else text


@cache
def _spelled(key: str) -> re.Pattern[str]:
    return re.compile("".join(
        rf"(?:\\{{0,4}}{re.escape(c)}|\\{{1,4}}(?:u00|x){ord(c):02x}|%{ord(c):02x})" for c in key),
        re.IGNORECASE)


def refuse(catalogue: Catalogue) -> None:
    """Nothing was asked yet: all problems in one line, as ProviderRefused (Incomplete where the
    provider just can't be reached)."""
    if catalogue.unreachable:
        raise Incomplete(f"the server can't be reached: {catalogue.unreachable}; "
                         "start it or check --base-url, then give the same command")
    if catalogue.problems:
        raise ProviderRefused("before the first call: " + "; ".join(catalogue.problems))


NAME = "openrouter"
CONNECT_S = 10.0
DEADLINE_S = 60.0
SIDE_DEADLINE_S = 15.0
MAX_BODY = 32 * 1024 * 1024
KEPT_HEADERS = ("retry-after", "x-openrouter-cache-status", "content-type")
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def check_base_url(url: str) -> str:
    """`url` without its last slash; UsageError where it can't be one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError(f"--base-url: {url!r} is no http(s) address; give one such as "
                         f"{OPENROUTER}")
    if parts.username or parts.password or parts.query:
        raise UsageError("--base-url: leave user, password and query out; the key goes into "
                         f"{KEY_VARIABLE}")
    return url.rstrip("/")


def public_address(url: str) -> str:
    """The address as a run's identity: a loopback server is the same one on another port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://loopback{parts.path}" if parts.hostname in LOOPBACK else url


class OpenRouter:
    """A client; safe to use from many threads. `blocking`: calls wait, so they want threads."""

    blocking = True
    simulated = False

    def __init__(self, base_url: str = OPENROUTER, key: str = "", connections: int = 8,
                 deadline_s: float = DEADLINE_S, prices: Mapping[str, Model] | None = None,
                 routing: Mapping | None = None) -> None:
        self.base_url = check_base_url(base_url)
        host = urlsplit(self.base_url).hostname
        self.is_openrouter = host == "openrouter.ai" or host.endswith(".openrouter.ai")
        self.dialect = ("openrouter" if self.is_openrouter else
                        "openai" if host == "api.openai.com" else "compatible")
        self.key = key.strip()
        self.sends_key = bool(self.key) and (
            self.base_url.startswith("https:") or host in LOOPBACK)
        self.deadline_s, self.routing = deadline_s, routing
        self.prices, self.models = dict(prices or {}), dict(prices or {})
        self._wire = _Wire(connections, self.base_url)

    # -- asking ---------------------------------------------------------------------------------

    def model(self, name: str) -> Model:
        return self.models.get(name, Model())

    def body(self, request: Request) -> dict:
        """The JSON body that `complete` sends for `request`."""
        return wire.body(request, self.model(request.model), self.dialect, self.routing)

    def complete(self, request: Request) -> Exchange:
        """One attempt; what went wrong is in the Exchange."""
        return self._ask("POST", "/chat/completions", self.deadline_s, self.body(request))

    def _ask(self, method: str, path: str, deadline_s: float,
             json_body: dict | None = None) -> Exchange:
        headers = {"Accept-Encoding": "identity", "X-OpenRouter-Cache": "false",
                   "X-Title": "cirrus-bench", "User-Agent": f"cirrus-bench/{VERSION}"}
        if self.sends_key:
            headers["Authorization"] = f"Bearer {self.key}"
        exchange = self._wire.send(method, self.base_url + path, headers, json_body, deadline_s)
        return exchange._replace(
            body=self._hide(exchange.body), error=self._hide(exchange.error),
            headers={k: self._hide(v) for k, v in exchange.headers.items()})

    def _hide(self, text: str) -> str:
        return redacted(text, self.key)

    # -- before the first paid call -------------------------------------------------------------

    def preflight(self, models: list[str], needs: tuple[str, ...] = ()) -> Catalogue:
        """Ask for catalogue and balance at once; learn prices, parameters and dialect.

        Every problem found is in `problems` (nothing may be asked), every doubt in `notes`.
        """
        with ThreadPoolExecutor(2) as pool:
            listing = pool.submit(self._ask, "GET", "/models", SIDE_DEADLINE_S)
            account = pool.submit(self._ask, "GET", "/key", SIDE_DEADLINE_S)
            listed, account = listing.result(), account.result()
        problems, notes = [], []
        if listed.status is None and account.status is None:
            return Catalogue({}, None, self.dialect, [], [], listed.error)
        if self.is_openrouter and not self.key:
            problems.append(f"no key: set {KEY_VARIABLE} (or put it into .env)")
        if self.key and not self.sends_key:
            notes.append("the key is not sent: the address is neither https nor this machine")
        known = self._learn(listed, problems, notes)
        remaining = self._balance(account, problems)
        self._check_models(models, known, needs, problems, notes)
        return Catalogue(known, remaining, self.dialect, problems, notes)

    def _learn(self, listed: Exchange, problems: list[str], notes: list[str]) -> dict[str, Model]:
        if listed.status in (401, 402, 403):
            problems.append(f"/models: {read(listed).reply.message}")
            return {}
        known = read_catalogue(listed.body) if listed.status == 200 else {}
        if not known:
            notes.append("the server has no usable list of models: prices and limits unknown")
        if self.dialect == "compatible" and any(m.parameters is not None for m in known.values()):
            self.dialect = "openrouter"
        for name, model in known.items():
            price = self.prices.get(name)
            if price and not model.priced:
                model = model._replace(prompt=price.prompt, completion=price.completion,
                                       request=price.request, price_from=price.price_from)
            self.models[name] = model
        return known

    def _balance(self, account: Exchange, problems: list[str]) -> float | None:
        if account.status in (401, 402, 403):
            problems.append(f"/key: {read(account).reply.message}")
        if account.status != 200:
            return None
        return read_balance(account.body)

    def _check_models(self, models, known, needs, problems, notes) -> None:
        for name in models:
            if known and name not in known:
                line = f"model {name!r} is not in the server's list"
                # Elsewhere a proxy may serve what it does not list; the server will say.
                (problems if self.is_openrouter else notes).append(line)
            lacking = [n for n in needs if not wire.supports(self.model(name), n)]
            if lacking:
                notes.append(f"{name}: no {' and no '.join(lacking)}; not sent, and recorded")
            if not self.model(name).priced:
                notes.append(f"{name}: no price known; the budget reserves at the assumed price")


connect = OpenRouter


class _Wire:
    """HTTP with a deadline on the whole call."""

    def __init__(self, connections: int, base_url: str) -> None:
        try:
            import requests
        except ImportError:
            raise UsageError("live calls need the package `requests`: "
                             "python3 -m pip install -r requirements.txt") from None
        self.errors = requests.exceptions
        self.adapter = _adapter(connections)
        # Looked up once: with trust_env each call would read the environment and ~/.netrc anew,
        # and a netrc entry would replace our own Authorization header.
        # A proxy can't reach this machine's own loopback, and must not be shown the key.
        local = urlsplit(base_url).hostname in LOOPBACK
        self.proxies = {} if local else requests.utils.get_environ_proxies(base_url)
        self.verify = (os.environ.get("REQUESTS_CA_BUNDLE")
                       or os.environ.get("CURL_CA_BUNDLE") or True)
        self.watched: dict[int, tuple[float, object]] = {}
        self.prepare = requests.Request
        self.templates: dict[tuple[str, str], object] = {}
        threading.Thread(target=self._patrol, daemon=True, name="watchdog").start()

    def _prepared(self, method: str, url: str, headers: dict, json_body: dict | None):
        """A request ready to send, from a template: a session would parse address and headers
        anew for each call, which costs as much as the call itself."""
        key = method, url
        if key not in self.templates:
            self.templates[key] = self.prepare(method, url, headers=headers).prepare()
        request = self.templates[key].copy()
        if json_body is not None:
            request.body = json.dumps(json_body).encode()
            request.headers["Content-Type"] = "application/json"
            request.headers["Content-Length"] = str(len(request.body))
        return request

    def send(self, method, url, headers, json_body, deadline_s) -> Exchange:
        """One attempt, no redirect followed; errors of the network come back in the Exchange.

        `headers` must be the same at every call to one address.
        """
        start = time.monotonic()
        ends = start + deadline_s
        status, kept, body, error, sent = None, {}, b"", "", True
        with _Deadline(self, ends):
            try:
                reply = self.adapter.send(
                    self._prepared(method, url, headers, json_body), stream=True,
                    timeout=(min(CONNECT_S, deadline_s), deadline_s),
                    verify=self.verify, proxies=self.proxies)
                with reply:
                    status = reply.status_code
                    kept = {k: reply.headers[k] for k in KEPT_HEADERS if k in reply.headers}
                    body, error = _drain(reply.raw)
            except (self.errors.RequestException, OSError, ValueError) as problem:
                error = _words(problem)
                sent = not isinstance(problem, self.errors.ConnectTimeout) and not _refused(problem)
            except Exception as problem:  # urllib3's own while the body is read
                if not type(problem).__module__.startswith("urllib3"):
                    raise
                error = _words(problem)
        if error and time.monotonic() >= ends:
            error = f"no complete answer within {deadline_s:g} s"
        return Exchange(status, kept, body.decode("utf-8", "replace"), error,
                        time.monotonic() - start, sent)

    def watch(self, ends: float) -> None:
        _CALL.connection = None
        self.watched[threading.get_ident()] = (ends, _CALL.holder())

    def _patrol(self) -> None:
        while True:
            time.sleep(0.25)
            for ends, holder in list(self.watched.values()):
                if time.monotonic() >= ends:
                    _shut(holder.get("connection"))


class _Deadline:
    def __init__(self, wire_: _Wire, ends: float) -> None:
        self.wire, self.ends = wire_, ends

    def __enter__(self) -> None:
        self.wire.watch(self.ends)

    def __exit__(self, *_) -> None:
        self.wire.watched.pop(threading.get_ident(), None)


class _Call(threading.local):
    """The connection that this thread's call is using, for the watchdog to find."""

    def holder(self) -> dict:
        return self.__dict__


_CALL = _Call()


def _shut(connection) -> None:
    with suppress(AttributeError, OSError):  # not connected yet, or gone already
        connection.sock.shutdown(socket.SHUT_RDWR)


def _drain(raw) -> tuple[bytes, str]:
    parts, size = [], 0
    while chunk := raw.read(65536, decode_content=True):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_BODY:
            return b"", f"answer longer than {MAX_BODY} bytes"
    return b"".join(parts), ""


def _root(problem: BaseException) -> BaseException:
    """The first of a chain of errors."""
    while problem.__cause__ or problem.__context__:
        problem = problem.__cause__ or problem.__context__
    return problem


def _refused(problem: BaseException) -> bool:
    """Whether no connection was made at all: nobody there, or no such name."""
    return isinstance(_root(problem), (ConnectionRefusedError, socket.gaierror))


def _words(problem: BaseException) -> str:
    """The root of a chain of network errors, in a line without addresses of memory."""
    root = _root(problem)
    return " ".join(f"{type(root).__name__}: {root}".split())[:200]


def _adapter(connections: int):
    """An adapter whose connections tell the watchdog which socket a thread is using."""
    from requests.adapters import HTTPAdapter
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    def telling(base):
        class Telling(base):
            def request(self, *args, **kwargs):
                _CALL.connection = self
                return super().request(*args, **kwargs)
        return Telling

    pools = {}
    for scheme, pool, connection in (("http", HTTPConnectionPool, HTTPConnection),
                                     ("https", HTTPSConnectionPool, HTTPSConnection)):
        pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": telling(connection)})

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *args, **kwargs):
            super().init_poolmanager(*args, **kwargs)
            self.poolmanager.pool_classes_by_scheme = pools

    return Adapter(pool_maxsize=max(8, connections))
