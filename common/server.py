"""Ask for chat completions over HTTP, from OpenRouter or any OpenAI-compatible server.

Connections are kept alive and shared. Each call has a thread of its own: a server that
sends one byte a second resets every socket timeout, and must not delay other calls, so
the caller has a clock. Secrets are hidden here, before any text is stored or cut.
"""

import asyncio
import base64
import html
import json
import os
import re
import sys
import threading
import time
import urllib.request
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any
from urllib.parse import urlsplit

from common import KEY_VARIABLE, VERSION, Incomplete, ProviderRefused, UsageError, wire
from common.reading import epoch, read, read_balance, read_catalogue
from common.shape import nearest
from common.wire import Adapted, Exchange, Model, Request

OPENROUTER = "https://openrouter.ai/api/v1"  # where a key without an address leads
CONNECT_S = 10.0
DEADLINE_S = 60.0
SIDE_DEADLINE_S = 15.0
MAX_BODY = 8 << 20
RECORDED_HEADERS = (
    "retry-after",
    "x-ratelimit-reset",
    "x-openrouter-cache-status",
    "x-generation-id",
    "content-type",
    "date",
)
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
LONGEST_ERROR = 200  # characters of a network's words
FREE_OF_CHARGE = Model(prompt=0.0, completion=0.0, price_from="loopback")


# --- addresses ---------------------------------------------------------------------------------


def check_base_url(url: str) -> str:
    """Return `url` without its last slash. Raise UsageError if it can't be an address,
    or if it holds a secret, which would be stored with the run. The message does not
    repeat the address, because it may hold a key."""
    name = "--base-url (or OPENROUTER_BASE_URL)"
    if re.search(r"[@?#;]", url):
        raise UsageError(
            f"{name}: leave user, password, query, '#' and ';' out of the address; the key "
            f"goes into {KEY_VARIABLE}"
        )
    try:
        parts = urlsplit(url)
        host = parts.hostname
        parts.port  # noqa: B018 - raises where it is none
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError(f"{name}: no http(s) address; give one such as {OPENROUTER}")
    return url.rstrip("/")


SECRET_PART = re.compile(r"(?=[^/]*\d)(?=[^/]*[A-Za-z])[\w.~%+=-]{20,}", re.A)


def public_address(url: str) -> str:
    """Return the address as files and messages show it. A part of its path that looks
    like a key is hidden. A server of this machine is called "loopback", without its
    port, so that it stays the same one on another port."""
    parts = urlsplit(url)
    path = "/".join(SECRET_PART.sub("[hidden]", part) for part in parts.path.split("/"))
    if parts.hostname in LOOPBACK:
        return f"{parts.scheme}://loopback{path}"
    return f"{parts.scheme}://{parts.netloc}{path}"


# --- what must reach no file and no line -------------------------------------------------------

SHORTEST_KEY = 6  # a shorter one is a placeholder, and stands in ordinary text
PIECE = 12  # characters of a key in a row that are hidden too
DEEPEST = 9  # kinds of escapes in one another
LOWER = str.maketrans(ascii_uppercase + "-_", ascii_lowercase + "+/")
# Matches an escape of JSON, Python, addresses or HTML, however often it was escaped again, or
# characters that no key can hold.
ESCAPE = re.compile(
    r"\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|[nrt])?"
    r"|%(?:25)*([0-9a-f]{2})|&(?:amp;)*(#?\w{1,16};)|[^ -~]+",
    re.I | re.A,
)


def redacted(text: str, key: str) -> str:
    """Return `text` with [key] in place of `key`, or of any PIECE characters of it in a
    row, however a server spells them. Code that cuts a text must call this first."""
    if len(key) < SHORTEST_KEY:
        return text
    plain, starts, ends = _unescaped(text)
    parts: list[str] = []
    at = 0
    for left, right in sorted(_pieces(plain, key)):
        if starts[left] >= at:
            parts += text[at : starts[left]], "[key]"
        at = max(at, ends[right - 1])
    return "".join([*parts, text[at:]])


def _pieces(text: str, key: str) -> Iterator[tuple[int, int]]:
    """Yield where pieces of a key begin and end in a text without escapes. They may
    overlap."""
    for form in _forms(key):
        size = min(len(form), PIECE * len(form) // len(key))
        for at in range(len(form) - size + 1):
            piece = form[at : at + size]
            here = text.find(piece)
            while here >= 0:
                yield here, here + size
                here = text.find(piece, here + 1)


@cache
def _forms(key: str) -> list[str]:
    """Return the key as `_unescaped` leaves it, and in hexadecimal and base64."""
    plain, _, _ = _unescaped(key)
    data = key.encode()
    forms = [plain, data.hex()]
    # Base64 codes three bytes at a time, so a key has three forms in it: one for each number of
    # bytes (0, 1, 2) that precede it in its group.
    for shift in range(3):
        code = base64.b64encode(bytes(shift) + data).decode()
        whole = code[-(-8 * shift // 6) : 8 * (shift + len(data)) // 6]
        forms.append(whole.translate(LOWER))
    return forms


def _meaning(escape: re.Match[str]) -> str:
    short, byte, percent, entity = escape.groups()
    if entity:
        return html.unescape(f"&{entity}")
    code = short or byte or percent
    return chr(int(code, 16)) if code else ""


def _unescaped(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return a text with all escapes resolved, in small letters, and where each of its
    characters begins and ends in `text`. Backslashes, control characters and everything
    outside ASCII are left out."""
    starts: Sequence[int] = range(len(text))
    ends: Sequence[int] = range(1, len(text) + 1)
    for _ in range(DEEPEST):
        if not ESCAPE.search(text):
            break
        text, starts, ends = _unescaped_once(text, starts, ends)
    return text.translate(LOWER), starts, ends


def _unescaped_once(
    text: str, starts: Sequence[int], ends: Sequence[int]
) -> tuple[str, "array[int]", "array[int]"]:
    parts: list[str] = []
    new_starts, new_ends = array("L"), array("L")
    at = 0
    for escape in ESCAPE.finditer(text):
        here, there = escape.span()
        meaning = _meaning(escape)
        parts += text[at:here], meaning
        new_starts.extend(starts[at:here])
        new_starts.extend([starts[here]] * len(meaning))
        new_ends.extend(ends[at:here])
        new_ends.extend([ends[there - 1]] * len(meaning))
        at = there
    new_starts.extend(starts[at:])
    new_ends.extend(ends[at:])
    return "".join([*parts, text[at:]]), new_starts, new_ends


ACCOUNT = re.compile(r'(\\*"user_id\\*"\s*:\s*)(\\*"(?:(?!\\*").)*\\*"|[^\s,}\]]+)')


def without_account(body: str, failed: bool) -> str:
    """Return a body without `user_id`, which names the account. What a model wrote is
    not changed."""
    if "user_id" not in body and not (failed and "\\u" in body):
        return body
    try:
        data = json.loads(body, object_pairs_hook=_nameless)
        if not failed and isinstance(data, dict) and "choices" in data:
            data["choices"] = json.loads(body)["choices"]
    except (ValueError, RecursionError):
        return ACCOUNT.sub(r"\1null", body)
    return json.dumps(data)


def _nameless(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object without `user_id`, also if a string in it quotes one."""
    out = {}
    for key, value in pairs:
        if key == "user_id":
            continue
        out[key] = ACCOUNT.sub(r"\1null", value) if isinstance(value, str) else value
    return out


# --- the client --------------------------------------------------------------------------------


@dataclass
class Catalogue:
    """What a provider says before the first call. `faults` is {model: why it is set
    aside}. `problems` end the run; `facts` and `notes` are shown to the user."""

    models: dict[str, Model] = field(default_factory=dict)
    limit_remaining: float | None = None
    day: str = ""  # the date there, YYYY-MM-DD
    faults: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Server:
    """A client of one server. `models` is {name: what is known of the model}."""

    answers_later = True

    def __init__(
        self,
        base_url: str = OPENROUTER,
        key: str = "",
        connections: int = 8,
        deadline_s: float = DEADLINE_S,
        prices: Mapping[str, Model] | None = None,
        upstream: str | None = None,
    ) -> None:
        self.base_url = check_base_url(base_url)
        self.host = urlsplit(self.base_url).hostname or ""
        self.is_openrouter = ("." + self.host).endswith(".openrouter.ai")
        self.dialect = "chat"
        if self.is_openrouter:
            self.dialect = "openrouter"
        elif self.host == "api.openai.com":
            self.dialect = "openai"
        self.key = key.strip()
        private = self.base_url.startswith("https:") or self.host in LOOPBACK
        self.sends_key = bool(self.key) and private
        self.deadline_s, self.upstream = deadline_s, upstream
        self.prices, self.models = dict(prices or {}), dict(prices or {})
        self.session = _session(self.host, connections)

    def model(self, name: str) -> Model:
        """Return what is known of a model. A server of this machine that names no price
        counts as free."""
        known = self.models.get(name, Model())
        if known.priced or self.host not in LOOPBACK:
            return known
        return known._replace(prompt=0.0, completion=0.0, price_from="loopback")

    def body(self, request: Request, adapted: Adapted = wire.PLAIN) -> dict[str, Any]:
        """Return the JSON body that is sent for `request`."""
        model = self.model(request.model)
        return wire.body(request, model, self.dialect, adapted, self.upstream)

    def send(
        self,
        body: Mapping[str, Any] | None,
        seconds: float,
        method: str = "POST",
        path: str = "/chat/completions",
    ) -> asyncio.Future[Exchange]:
        """Start one attempt and return the future of its Exchange.

        It runs for `seconds` at most, in a thread of its own, which may outlive the
        wait. The Exchange tells what went wrong on the way; an error in this program is
        raised.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Exchange] = loop.create_future()

        def land(exchange: Exchange | BaseException) -> None:
            if future.done():
                return  # nobody waits any more
            if isinstance(exchange, BaseException):
                future.set_exception(exchange)
            else:
                future.set_result(exchange)

        def call() -> None:
            try:
                exchange: Exchange | BaseException = self._exchange(
                    method, path, seconds, body
                )
            except (
                BaseException
            ) as fault:  # an error in this program: the waiting call raises it
                exchange = fault
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(land, exchange)

        try:
            threading.Thread(target=call, daemon=True, name="call").start()
        except RuntimeError as problem:
            land(Exchange(None, {}, "", f"no thread left: {problem}", sent=False))
        return future

    def _headers(self) -> dict[str, str]:
        headers = {
            "Accept-Encoding": "identity",
            "X-OpenRouter-Cache": "false",
            "X-Title": "cirrus-bench",
            "User-Agent": f"cirrus-bench/{VERSION}",
        }
        if self.dialect == "openrouter":
            headers["X-OpenRouter-Metadata"] = "enabled"
        if self.sends_key:
            headers["Authorization"] = f"Bearer {self.key}"
        return headers

    def _exchange(
        self, method: str, path: str, deadline_s: float, body: Any
    ) -> Exchange:
        """Do one attempt and return its Exchange, which also tells errors of the
        network. No redirect is followed."""
        start = time.monotonic()
        status, headers, data, error, sent = None, {}, b"", "", True
        try:
            with self.session.request(
                method,
                self.base_url + path,
                headers=self._headers(),
                json=body,
                stream=True,
                allow_redirects=False,
                timeout=(min(CONNECT_S, deadline_s), deadline_s),
            ) as reply:
                status, headers = reply.status_code, reply.headers
                data, error = _drain(reply, start + deadline_s)
        except (OSError, ValueError) as problem:  # all of `requests`' own are OSErrors
            error = _words(problem)
            sent = status is not None or _may_have_left(problem)
        latency = time.monotonic() - start
        if error and latency >= deadline_s:
            error = wire.no_answer(deadline_s).error
        text = without_account(data.decode("utf-8", "replace"), (status or 0) >= 300)
        kept = {
            name: redacted(headers[name], self.key)
            for name in RECORDED_HEADERS
            if name in headers
        }
        words = redacted(error, self.key)[:LONGEST_ERROR]
        return Exchange(
            status, kept, redacted(text, self.key), words, latency_s=latency, sent=sent
        )

    async def _get(self, path: str) -> Exchange:
        try:
            return await asyncio.wait_for(
                self.send(None, SIDE_DEADLINE_S, "GET", path), SIDE_DEADLINE_S
            )
        except TimeoutError:
            return wire.no_answer(SIDE_DEADLINE_S)

    async def preflight(self, models: Sequence[str], effort: str | None) -> Catalogue:
        """Fetch the list of models and the balance, and learn prices, parameters and
        dialect. Nothing here costs money."""
        listed, account = await asyncio.gather(self._get("/models"), self._get("/key"))
        if listed.status is None and account.status is None:
            raise self._unreachable(listed)
        known = read_catalogue(listed.body) if listed.status == 200 else {}
        speaks_openrouter = any(m.parameters is not None for m in known.values())
        if self.dialect == "chat" and speaks_openrouter:
            self.dialect = "openrouter"
        self._learn(known)
        # This machine's clock may be wrong.
        now = epoch(listed.headers.get("date"), time.time())
        catalogue = Catalogue(known, day=time.strftime("%Y-%m-%d", time.gmtime(now)))
        if account.status == 200:
            catalogue.limit_remaining = read_balance(account.body)
        self._check_key(catalogue, {"/models": listed, "/key": account})
        for name in models:
            check_model(name, self.model(name), effort, self.dialect, catalogue)
        return catalogue

    def _unreachable(self, listed: Exchange) -> Incomplete:
        advice = "check the network"
        if self.host in LOOPBACK:
            advice = "start it or check --base-url"
        elif not self.is_openrouter:
            advice = "check the network and --base-url"
        where = urlsplit(self.base_url).netloc
        return Incomplete(
            f"the server at {where} can't be reached: {listed.error}; {advice}, then give "
            "the same command"
        )

    def _learn(self, known: Mapping[str, Model]) -> None:
        """Keep what the server's list says; a configured price stands if the list has
        none."""
        self.models |= known
        for name, price in self.prices.items():
            listed = known.get(name)
            if listed is None or listed.priced:
                continue
            self.models[name] = listed._replace(
                prompt=price.prompt,
                completion=price.completion,
                request=price.request,
                price_from=price.price_from,
            )

    def _check_key(self, catalogue: Catalogue, answers: Mapping[str, Exchange]) -> None:
        if self.is_openrouter and not self.key:
            catalogue.problems.append(
                f"no key: set {KEY_VARIABLE} (or put it into .env)"
            )
        for path, answer in answers.items():
            if answer.status in (401, 402, 403):
                catalogue.problems.append(f"{path}: {read(answer).reply.message}")
        if not catalogue.models and not catalogue.problems:
            catalogue.notes.append(
                "the server has no usable list of models: prices, limits and parameters "
                "unknown"
            )
        if self.key and not self.sends_key:
            catalogue.notes.append(
                "the key is not sent: the address is neither https nor this machine"
            )


def _session(host: str, connections: int) -> Any:
    """Return a session of `requests`, for live calls only."""
    try:
        import requests
    except ImportError:
        raise UsageError(
            "live calls need the package `requests`: `make pilot` (or tournament, urrp) "
            f"brings it, as does `uv run {Path(sys.argv[0]).name} …`"
        ) from None
    session = requests.Session()
    # With trust_env each call would read the environment and ~/.netrc anew, and a netrc entry
    # would replace our own Authorization header.
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    # A proxy can't reach this machine's own loopback, and must not be shown the key.
    if host not in LOOPBACK and not urllib.request.proxy_bypass(host):
        session.proxies = urllib.request.getproxies()
    bundles = (os.environ.get("REQUESTS_CA_BUNDLE"), os.environ.get("CURL_CA_BUNDLE"))
    session.verify = next(filter(None, bundles), True)
    adapter = requests.adapters.HTTPAdapter(pool_maxsize=max(8, connections))
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    return session


def _drain(reply: Any, ends: float) -> tuple[bytes, str]:
    """Return (the body of a reply, what is wrong with it)."""
    parts, size = [], 0
    for chunk in reply.iter_content(65536):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_BODY:
            return b"", f"answer longer than {MAX_BODY} bytes"
        if time.monotonic() > ends:
            return b"", "no time left"
    return b"".join(parts), ""


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


def _may_have_left(problem: BaseException) -> bool:
    """Whether the question may have left this machine. Nothing leaves before there is a
    connection."""
    from requests.exceptions import ConnectTimeout, ProxyError, SSLError
    from urllib3.exceptions import NewConnectionError

    no_connection = ConnectTimeout, ProxyError, SSLError, NewConnectionError
    return not any(isinstance(each, no_connection) for each in _causes(problem))


def _words(problem: BaseException) -> str:
    """Describe the root of a chain of network errors on one line, in the system's own
    words. Other words may repeat a piece of what the server sent, and a key cut short
    in it could not be found."""
    root = list(_causes(problem))[-1]
    name = type(root).__name__
    if isinstance(root, TimeoutError) or getattr(root, "errno", None) is not None:
        return " ".join(f"{name}: {root}".split())
    return name


# --- before the first paid call: what a provider's lists say of a model --------------------------


def refuse(catalogue: Catalogue) -> None:
    """Raise ProviderRefused with all problems on one line if there are any, before
    anything is asked."""
    if catalogue.problems:
        raise ProviderRefused(f"before the first call: {'; '.join(catalogue.problems)}")


def check_model(
    name: str, model: Model, effort: str | None, dialect: str, catalogue: Catalogue
) -> None:
    """Add to the catalogue what speaks against the model, and a line of facts."""
    if catalogue.models and name not in catalogue.models:
        line = f"not in the server's list; {nearest(name, catalogue.models)}"
        if dialect == "chat":  # a proxy may serve what it does not list; it will say
            catalogue.notes.append(f"model {name!r} is {line}")
        else:
            catalogue.faults[name] = line
        return
    offered = model.efforts or (effort,)
    refused = model.mandatory if effort == "none" else effort not in offered
    if effort is not None and refused and model.reasons is not False:
        known = ", ".join(model.efforts) or "others"
        catalogue.faults[name] = f"--effort: does not take {effort!r}; it takes {known}"
    if model.expires and model.expires < catalogue.day:
        catalogue.faults[name] = f"withdrawn on {model.expires}"
    if not model.priced:
        catalogue.notes.append(
            f"{name}: no price known; the budget reserves at the assumed price"
        )
    catalogue.facts.append(f"{name}: {facts(name, model, effort)}")


def facts(name: str, model: Model, effort: str | None) -> str:
    """Return what a user should know of a model before it is asked, on one line."""
    parts = []
    if model.canonical not in (None, name):
        parts.append(model.canonical)
    if model.context:
        parts.append(f"context {model.context:,}")
    if model.price_from == "loopback":
        parts.append("of this machine, without a price: costs nothing")
    elif model.prompt is not None and model.completion is not None:
        dollars = f"${model.prompt * 1e6:g} and ${model.completion * 1e6:g}"
        parts.append(f"{dollars} a million tokens ({model.price_from})")
    parts.append(effort_fact(model, effort))
    if not model.takes("temperature"):
        parts.append("temperature not sent")
    if model.expires:
        parts.append(f"withdrawn from {model.expires}")
    return " · ".join(filter(None, parts))


def effort_fact(model: Model, effort: str | None) -> str:
    """Say what is known of the model's reasoning, and what is asked of it."""
    if model.reasons is False:
        return (
            "does not reason" if effort is None else "does not reason: effort not sent"
        )
    if effort is not None:
        return f"effort {effort}"
    if model.default_effort:
        return f"effort not sent, its own default is {model.default_effort}"
    if model.mandatory:
        return "effort not sent, it always reasons"
    return ""
