"""One chat completion over HTTP, for OpenRouter and any OpenAI-compatible server.

    client = OpenRouter("https://openrouter.ai/api/v1", key)
    client.preflight(["openai/gpt-5-nano"])
    exchange = client.complete(request)      # never raises on what a server or network does

`requests` is imported when the first client is made, so that everything offline runs without it.
Connections are kept alive and shared. A call has a total deadline with its own clock: a server
that sends one byte a second resets every socket timeout, so nobody waits for it any longer.
"""

import errno
import json
import math
import os
import queue
import re
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from urllib.parse import quote, urlsplit

from common import KEY_VARIABLE, VERSION, UsageError, wire
from common.preflight import (
    Catalogue,
    Terms,
    check,
    learn,
    pin,
)
from common.reading import epoch, read, read_balance, read_bill, read_catalogue, read_endpoints
from common.wire import Exchange, Model, Request

OPENROUTER = "https://openrouter.ai/api/v1"  # where a key without an address leads
CONNECT_S = 10.0
DEADLINE_S = 60.0
SIDE_DEADLINE_S = 15.0
MAX_BODY = 32 * 1024 * 1024
KEPT_HEADERS = ("retry-after", "x-ratelimit-reset", "x-openrouter-cache-status",
                "x-generation-id", "content-type", "date")
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
SHORTEST_KEY = 6  # a shorter one is a placeholder, and stands in ordinary text


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


# --- what must reach no file and no line -------------------------------------------------------

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


ACCOUNT = re.compile(r'(\\*"user_id\\*"\s*:\s*)(\\*"(?:(?!\\*").)*\\*"|[^\s,}\]]+)')


def without_account(body: str, failed: bool) -> str:
    """A body without `user_id`, which names the account: wherever it stands in an error, at top
    level of an answer. What a model wrote stays as it is."""
    if "user_id" not in body and not (failed and "\\u" in body):
        return body
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ACCOUNT.sub(r"\1null", body)
    if failed or not isinstance(data, dict) or "choices" not in data:
        return json.dumps(_nameless(data))
    return json.dumps({key: value if key == "choices" else _nameless(value)
                       for key, value in data.items() if key != "user_id"})


def _nameless(value):
    if isinstance(value, dict):
        return {key: _nameless(item) for key, item in value.items() if key != "user_id"}
    if isinstance(value, list):
        return [_nameless(item) for item in value]
    return ACCOUNT.sub(r"\1null", value) if isinstance(value, str) else value


# --- the client --------------------------------------------------------------------------------

class OpenRouter:
    """A client; safe to use from many threads. `blocking`: calls wait, so they want threads."""

    blocking = True
    simulated = False

    def __init__(self, base_url: str = OPENROUTER, key: str = "", connections: int = 8,
                 deadline_s: float = DEADLINE_S, prices: Mapping[str, Model] | None = None,
                 routing: Mapping | None = None) -> None:
        self.base_url = check_base_url(base_url)
        self.host = urlsplit(self.base_url).hostname
        self.is_openrouter = self.host == "openrouter.ai" or self.host.endswith(".openrouter.ai")
        self.dialect = ("openrouter" if self.is_openrouter else
                        "openai" if self.host == "api.openai.com" else "compatible")
        self.key = key.strip()
        self.sends_key = bool(self.key) and (
            self.base_url.startswith("https:") or self.host in LOOPBACK)
        self.deadline_s, self.routing = deadline_s, routing
        self.prices, self.models = dict(prices or {}), dict(prices or {})
        self._http = _Http(connections, self.base_url)

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
        if self.dialect == "openrouter":
            headers["X-OpenRouter-Metadata"] = "enabled"
        if self.sends_key:
            headers["Authorization"] = f"Bearer {self.key}"
        exchange = self._http.send(method, self.base_url + path, headers, json_body, deadline_s)
        body = without_account(exchange.body, (exchange.status or 0) >= 300)
        return exchange._replace(
            body=self._hide(body), error=self._hide(exchange.error),
            headers={k: self._hide(v) for k, v in exchange.headers.items()})

    def _hide(self, text: str) -> str:
        return redacted(text, self.key)

    def _get(self, path: str) -> Exchange:
        return self._ask("GET", path, SIDE_DEADLINE_S)

    # -- before the first paid call, and after the last -----------------------------------------

    def preflight(self, models: list[str], needs: tuple[str, ...] = (),
                  terms: Terms | None = None) -> Catalogue:
        """Ask for catalogue, upstreams and balance; learn prices, parameters and dialect.

        Every problem found is told (nothing may be asked then), and every doubt.
        """
        terms = terms or Terms()
        with ThreadPoolExecutor(max(2, min(8, len(models)))) as pool:
            listed, account = pool.map(self._get, ("/models", "/key"))
            if listed.status is None and account.status is None:
                return Catalogue(dialect=self.dialect, unreachable=self._nobody(listed.error))
            known = self._learn(listed)
            paths = [f"/models/{quote(name)}/endpoints" for name in models]
            endpoints = (pool.map(self._get, paths) if self.dialect == "openrouter" and known
                         else [Exchange(404, {}, "")] * len(models))
            upstreams = dict(zip(models, map(_endpoints, endpoints), strict=True))
        catalogue = Catalogue(known, self._balance(account), self.dialect,
                              day=_day(listed.headers.get("date")))
        if self.is_openrouter and not self.key:
            catalogue.problems.append(f"no key: set {KEY_VARIABLE} (or put it into .env)")
        for path, answer in (("/models", listed), ("/key", account)):
            if answer.status in (401, 402, 403):
                catalogue.problems.append(f"{path}: {read(answer).reply.message}")
        if self.key and not self.sends_key:
            catalogue.notes.append("the key is not sent: the address is neither https nor this "
                                   "machine")
        for name in models:
            self.models[name] = pin(name, self.model(name), upstreams[name], needs, terms,
                                    catalogue)
        check(models, self.models, needs, terms, catalogue,
              complete=self.is_openrouter or self.dialect != "compatible")
        return catalogue

    def _nobody(self, error: str) -> str:
        """Who can't be reached, and what to do."""
        port = urlsplit(self.base_url).port
        where = f"{self.host}:{port}" if port else self.host
        advice = ("start it or check --base-url" if self.host in LOOPBACK else
                  "check the network" if self.is_openrouter else
                  "check the network and --base-url")
        return (f"the server at {where} can't be reached: {error}; {advice}, then give the same "
                "command")

    def _learn(self, listed: Exchange) -> dict[str, Model]:
        known = read_catalogue(listed.body) if listed.status == 200 else {}
        if self.dialect == "compatible" and any(m.parameters is not None for m in known.values()):
            self.dialect = "openrouter"
        self.models |= {name: learn(model, self.prices.get(name)) for name, model in known.items()}
        return known

    def _balance(self, account: Exchange) -> float | None:
        return read_balance(account.body) if account.status == 200 else None

    def audit(self, charged: Mapping[str, float]) -> dict | None:
        """What the service has booked for calls, {generation id: dollars charged}, beside what was
        charged for them here; None where it tells of none of them."""
        if self.dialect != "openrouter" or not charged:
            return None
        with ThreadPoolExecutor(len(charged)) as pool:
            answers = pool.map(self._get, (f"/generation?id={quote(name)}" for name in charged))
            bills = {name: read_bill(answer.body) for name, answer in
                     zip(charged, answers, strict=True) if answer.status == 200}
        booked = {name: usd for name, usd in bills.items() if usd is not None}
        return {"calls": len(booked), "booked_usd": math.fsum(booked.values()),
                "charged_usd": math.fsum(charged[name] for name in booked)} if booked else None


def _day(said: str | None) -> str:
    """YYYY-MM-DD by the server's clock, since this machine's may be wrong."""
    return time.strftime("%Y-%m-%d", time.gmtime(epoch(said, time.time())))


def _endpoints(answer: Exchange) -> list[Model]:
    return read_endpoints(answer.body) if answer.status == 200 else []


# --- HTTP --------------------------------------------------------------------------------------

class _Http:
    """A session of `requests`, with a deadline on the whole call."""

    def __init__(self, connections: int, base_url: str) -> None:
        try:
            import requests
        except ImportError:
            raise UsageError(
                "live calls need the package `requests`: `make pilot` (or tournament, urrp) "
                f"brings it, as does `uv run {Path(sys.argv[0]).name} …`") from None
        self.session, self.request = requests.Session(), requests.Request
        # With trust_env each call would read the environment and ~/.netrc anew, and a netrc entry
        # would replace our own Authorization header.
        self.session.trust_env = False
        self.session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        host = urlsplit(base_url).hostname
        # A proxy can't reach this machine's own loopback, and must not be shown the key.
        if host not in LOOPBACK and not urllib.request.proxy_bypass(host):
            self.session.proxies = urllib.request.getproxies()
        self.session.verify = (os.environ.get("REQUESTS_CA_BUNDLE")
                               or os.environ.get("CURL_CA_BUNDLE") or True)
        adapter = requests.adapters.HTTPAdapter(pool_maxsize=max(8, connections))
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, adapter)

    def send(self, method, url, headers, json_body, deadline_s) -> Exchange:
        """One attempt, no redirect followed; errors of the network come back in the Exchange.

        The call has a thread of its own, so that no server can keep the caller past the deadline.
        """
        answer, start = queue.SimpleQueue(), time.monotonic()

        def call() -> None:
            try:
                answer.put(self._exchange(method, url, headers, json_body, start + deadline_s))
            except BaseException as fault:  # of ours: must reach the caller
                answer.put(fault)
        try:
            threading.Thread(target=call, daemon=True, name="http").start()
            exchange = answer.get(timeout=deadline_s)
        except RuntimeError as problem:
            exchange = Exchange(None, {}, "", f"no thread left: {problem}", sent=False)
        except queue.Empty:
            exchange = Exchange(None, {}, "", "no time left")
        if isinstance(exchange, BaseException):
            raise exchange
        latency = time.monotonic() - start
        if exchange.error and latency >= deadline_s:
            exchange = exchange._replace(error=f"no complete answer within {deadline_s:g} s")
        return exchange._replace(latency_s=latency)

    def _exchange(self, method, url, headers, json_body, ends: float) -> Exchange:
        left = ends - time.monotonic()
        status, kept, body, error, sent = None, {}, b"", "", True
        try:
            prepared = self.session.prepare_request(
                self.request(method, url, headers=headers, json=json_body))
            with self.session.send(prepared, stream=True, allow_redirects=False,
                                   timeout=(min(CONNECT_S, left), left)) as reply:
                status = reply.status_code
                kept = {k: reply.headers[k] for k in KEPT_HEADERS if k in reply.headers}
                body, error = _drain(reply, ends)
        except (OSError, ValueError) as problem:  # all of `requests`' own are OSErrors
            error, sent = _words(problem), status is not None or _left(problem)
        return Exchange(status, kept, body.decode("utf-8", "replace"), error, sent=sent)


def _drain(reply, ends: float) -> tuple[bytes, str]:
    parts, size = [], 0
    for chunk in reply.iter_content(65536):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_BODY:
            return b"", f"answer longer than {MAX_BODY} bytes"
        if time.monotonic() > ends:
            return b"", "no time left"
    return b"".join(parts), ""


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


def _left(problem: BaseException) -> bool:
    """Whether the question may have left this machine: nothing has before there is a connection."""
    from requests.exceptions import ConnectTimeout, ProxyError, SSLError
    from urllib3.exceptions import NewConnectionError
    no_connection = ConnectTimeout, ProxyError, SSLError, NewConnectionError
    return not any(isinstance(each, no_connection)
                   or (isinstance(each, OSError) and each.errno in (errno.EMFILE, errno.ENFILE))
                   for each in _chain(problem))


def _words(problem: BaseException) -> str:
    """The root of a chain of network errors, in a line without addresses of memory."""
    *_, root = _chain(problem)
    return " ".join(f"{type(root).__name__}: {root}".split())[:200]
