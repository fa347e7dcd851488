"""One chat completion over HTTP, for OpenRouter and any OpenAI-compatible server.

Connections are kept alive and shared. A call has a thread of its own, and whoever waits for it a
clock: a server that sends one byte a second resets every socket timeout. What a provider's lists
say is judged by pure functions; a problem ends the run before the first paid call.
"""

import base64
import html
import json
import os
import queue
import re
import sys
import threading
import time
import urllib.request
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any
from urllib.parse import quote, urlsplit

from common import KEY_VARIABLE, VERSION, Incomplete, ProviderRefused, UsageError, wire
from common.reading import epoch, read, read_balance, read_catalogue, read_endpoints
from common.shape import nearest
from common.wire import Exchange, Model, Request, Terms, Upstream

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
SHORTEST_KEY = 6  # a shorter one is a placeholder, and stands in ordinary text
PIECE = 12  # characters of a key in a row that are hidden too
DEEPEST = 9  # kinds of escapes in one another


def check_base_url(url: str) -> str:
    """`url` without its last slash; UsageError where it can't be one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError(
            f"--base-url: {url!r} is no http(s) address; give one such as {OPENROUTER}"
        )
    if parts.username or parts.password or parts.query:
        raise UsageError(
            "--base-url: leave user, password and query out; the key goes into "
            f"{KEY_VARIABLE}"
        )
    return url.rstrip("/")


def public_address(url: str) -> str:
    """The address as a run's identity: a loopback server is the same one on another port."""
    parts = urlsplit(url)
    return (
        f"{parts.scheme}://loopback{parts.path}" if parts.hostname in LOOPBACK else url
    )


# --- what must reach no file and no line -------------------------------------------------------


def redacted(text: str, key: str) -> str:
    """`text` with [key] in the place of `key`, or of PIECE of its characters in a row, however a
    server spells them. Whoever cuts a text cuts it afterwards."""
    if len(key) < SHORTEST_KEY:
        return text
    plain, starts, ends = _unescaped(text)
    parts, at = [], 0
    for left, right in sorted(_pieces(plain, key)):
        if starts[left] >= at:
            parts += text[at : starts[left]], "[key]"
        at = max(at, ends[right - 1])
    return "".join([*parts, text[at:]])


def _pieces(text: str, key: str) -> Iterator[tuple[int, int]]:
    """Where pieces of a key begin and end in a text without escapes; they overlap."""
    for form in _forms(key):
        size = min(len(form), PIECE * len(form) // len(key))
        for piece in (form[at : at + size] for at in range(len(form) - size + 1)):
            here = text.find(piece)
            while here >= 0:
                yield here, here + size
                here = text.find(piece, here + 1)


LOWER = str.maketrans(ascii_uppercase + "-_", ascii_lowercase + "+/")


@cache
def _forms(key: str) -> list[str]:
    """A key as `_unescaped` leaves it, and the same in hexadecimal and base64."""
    data = key.encode()
    # What stands before it in a text shifts its base64 by no, one or two bytes.
    coded = [
        base64.b64encode(bytes(n) + data).decode()[
            -(-8 * n // 6) : 8 * (n + len(data)) // 6
        ]
        for n in range(3)
    ]
    return [_unescaped(key)[0], data.hex(), *(code.translate(LOWER) for code in coded)]


# An escape of JSON, Python, addresses or HTML, however often it was escaped again; and what no key
# holds.
ESCAPE = re.compile(
    r"\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|[nrt])?"
    r"|%(?:25)*([0-9a-f]{2})|&(?:amp;)*(#?\w{1,16};)|[^ -~]+",
    re.I | re.A,
)


def _meaning(escape: re.Match) -> str:
    *digits, entity = escape.groups()
    if entity:
        return html.unescape(f"&{entity}")
    return next((chr(int(code, 16)) for code in digits if code), "")


def _unescaped(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """A text with nothing escaped, in small letters, and where each of its characters begins and
    ends in `text`. Backslashes, control characters and all that is not ASCII are left out."""
    starts, ends = range(len(text)), range(1, len(text) + 1)
    for _ in range(DEEPEST):
        parts, begin, end, at = [], array("L"), array("L"), 0
        for escape in ESCAPE.finditer(text):
            (here, there), meaning = escape.span(), _meaning(escape)
            parts += text[at:here], meaning
            for new, old, edge in ((begin, starts, here), (end, ends, there - 1)):
                new.extend(old[at:here])
                new.extend([old[edge]] * len(meaning))
            at = there
        if not at:
            break
        begin.extend(starts[at:])
        end.extend(ends[at:])
        text, starts, ends = "".join([*parts, text[at:]]), begin, end
    return text.translate(LOWER), starts, ends


ACCOUNT = re.compile(r'(\\*"user_id\\*"\s*:\s*)(\\*"(?:(?!\\*").)*\\*"|[^\s,}\]]+)')


def without_account(body: str, failed: bool) -> str:
    """A body without `user_id`, which names the account. What a model wrote stays as it is."""
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
    """A JSON object without `user_id`, also where a string in it quotes one."""
    return {
        key: ACCOUNT.sub(r"\1null", value) if isinstance(value, str) else value
        for key, value in pairs
        if key != "user_id"
    }


@dataclass
class Catalogue:
    """What a provider says of itself before the first call; `models` empty and `limit_remaining`
    None where unknown, `day` the date there, YYYY-MM-DD. `misnamed` (wrong usage) and `problems`
    end the run; `facts` and `notes` are shown."""

    models: dict[str, Model] = field(default_factory=dict)
    limit_remaining: float | None = None
    dialect: str = ""
    day: str = ""
    misnamed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class OpenRouter:
    """A client. `answers_later`: what `start` begins is answered later."""

    answers_later = True

    def __init__(
        self,
        base_url: str = OPENROUTER,
        key: str = "",
        connections: int = 8,
        deadline_s: float = DEADLINE_S,
        prices: Mapping[str, Model] | None = None,
        routing: Mapping | None = None,
    ) -> None:
        self.base_url = check_base_url(base_url)
        self.host = urlsplit(self.base_url).hostname
        self.is_openrouter = self.host == "openrouter.ai" or self.host.endswith(
            ".openrouter.ai"
        )
        self.dialect = (
            "openrouter"
            if self.is_openrouter
            else "openai"
            if self.host == "api.openai.com"
            else "compatible"
        )
        self.key = key.strip()
        self.sends_key = bool(self.key) and (
            self.base_url.startswith("https:") or self.host in LOOPBACK
        )
        self.deadline_s, self.routing = deadline_s, routing
        self.prices, self.models = dict(prices or {}), dict(prices or {})
        self.session = _session(self.host, connections)

    def model(self, name: str) -> Model:
        return self.models.get(name, Model())

    def body(self, request: Request) -> dict:
        """The JSON body that is sent for `request`."""
        return wire.body(request, self.model(request.model), self.dialect, self.routing)

    def start(self, request: Request, put: Callable) -> None:
        """One attempt at a request, in a thread of its own. `put` gets the Exchange, which says
        what went wrong, or a fault of ours."""
        self._send(
            "POST", "/chat/completions", self.deadline_s, put, json=self.body(request)
        )

    def _send(
        self, method: str, path: str, deadline_s: float, put: Callable, **more: Any
    ) -> None:
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
        question = {
            "method": method,
            "url": self.base_url + path,
            "headers": headers,
        } | more
        try:
            threading.Thread(
                target=self._exchange,
                args=(question, deadline_s, put),
                daemon=True,
                name="call",
            ).start()
        except RuntimeError as problem:
            put(Exchange(None, {}, "", f"no thread left: {problem}", sent=False))

    def _exchange(self, question: dict, deadline_s: float, put: Callable) -> None:
        """No redirect is followed; errors of the network are in the Exchange."""
        start = time.monotonic()
        status, headers, body, error, sent = None, {}, b"", "", True
        try:
            try:
                with self.session.request(
                    **question,
                    stream=True,
                    allow_redirects=False,
                    timeout=(min(CONNECT_S, deadline_s), deadline_s),
                ) as reply:
                    status = reply.status_code
                    headers = {
                        k: reply.headers[k]
                        for k in RECORDED_HEADERS
                        if k in reply.headers
                    }
                    body, error = _drain(reply, start + deadline_s)
            except (
                OSError,
                ValueError,
            ) as problem:  # all of `requests`' own are OSErrors
                error, sent = _words(problem), status is not None or _left(problem)
            latency = time.monotonic() - start
            if error and latency >= deadline_s:
                error = wire.no_answer(deadline_s).error
            text = without_account(
                body.decode("utf-8", "replace"), (status or 0) >= 300
            )
            hidden = {k: redacted(v, self.key) for k, v in headers.items()}
            put(
                Exchange(
                    status,
                    hidden,
                    redacted(text, self.key),
                    redacted(error, self.key)[:LONGEST_ERROR],
                    latency,
                    sent,
                )
            )
        except BaseException as fault:  # of ours: must reach who waits
            put(fault)

    def _get(self, *paths: str) -> list[Exchange]:
        """The answers to GET of all `paths` at once."""
        waiting = [queue.SimpleQueue() for _ in paths]
        for path, answer in zip(paths, waiting, strict=True):
            self._send("GET", path, SIDE_DEADLINE_S, answer.put)
        ends = time.monotonic() + SIDE_DEADLINE_S
        exchanges = [wire.no_answer(SIDE_DEADLINE_S)] * len(paths)
        for at, answer in enumerate(waiting):
            with suppress(queue.Empty):
                exchanges[at] = answer.get(timeout=max(0.0, ends - time.monotonic()))
            if isinstance(exchanges[at], BaseException):
                raise exchanges[at]
        return exchanges

    def preflight(self, models: list[str], terms: Terms) -> Catalogue:
        """Ask for catalogue, upstreams and balance; learn prices, parameters and dialect."""
        listed, account = self._get("/models", "/key")
        if listed.status is None and account.status is None:
            advice = (
                "start it or check --base-url"
                if self.host in LOOPBACK
                else "check the "
                "network" + (" and --base-url" if not self.is_openrouter else "")
            )
            raise Incomplete(
                f"the server at {urlsplit(self.base_url).netloc} can't be reached: "
                f"{listed.error}; {advice}, then give the same command"
            )
        known = read_catalogue(listed.body) if listed.status == 200 else {}
        if self.dialect == "compatible" and any(
            m.parameters is not None for m in known.values()
        ):
            self.dialect = "openrouter"
        self.models |= known | {
            name: known[name]._replace(
                prompt=price.prompt,
                completion=price.completion,
                request=price.request,
                price_from=price.price_from,
            )
            for name, price in self.prices.items()
            if name in known and not known[name].priced
        }
        upstreams = dict.fromkeys(models, ())
        if self.dialect == "openrouter" and known:
            answers = self._get(
                *(f"/models/{quote(name)}/endpoints" for name in models)
            )
            upstreams = {
                name: read_endpoints(answer.body) if answer.status == 200 else []
                for name, answer in zip(models, answers, strict=True)
            }
        now = epoch(
            listed.headers.get("date"), time.time()
        )  # this machine's clock may be wrong
        catalogue = Catalogue(
            known,
            read_balance(account.body) if account.status == 200 else None,
            self.dialect,
            time.strftime("%Y-%m-%d", time.gmtime(now)),
        )
        if self.is_openrouter and not self.key:
            catalogue.problems.append(
                f"no key: set {KEY_VARIABLE} (or put it into .env)"
            )
        for path, answer in (("/models", listed), ("/key", account)):
            if answer.status in (401, 402, 403):
                catalogue.problems.append(f"{path}: {read(answer).reply.message}")
        if not known and not catalogue.problems:
            catalogue.notes.append(
                "the server has no usable list of models: prices, limits and "
                "parameters unknown"
            )
        if self.key and not self.sends_key:
            catalogue.notes.append(
                "the key is not sent: the address is neither https nor this machine"
            )
        for name in models:
            model = pin(name, self.model(name), upstreams[name], terms, catalogue)
            self.models[name] = model
            check(name, model, terms, catalogue)
        return catalogue


def _session(host: str, connections: int) -> Any:
    """A session of `requests`, for live calls only."""
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
    session.verify = (
        os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
    )
    adapter = requests.adapters.HTTPAdapter(pool_maxsize=max(8, connections))
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    return session


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
    return not any(isinstance(each, no_connection) for each in _chain(problem))


def _words(problem: BaseException) -> str:
    """The root of a chain of network errors in a line: in the system's words only, since others
    repeat a piece of what the server sent, in which a key cut short could not be found."""
    *_, root = _chain(problem)
    system = isinstance(root, TimeoutError) or getattr(root, "errno", None) is not None
    return (
        " ".join(f"{type(root).__name__}: {root}".split())
        if system
        else type(root).__name__
    )


# --- before the first paid call: pure functions over what a provider's lists say -----------------

# Bits of a weight, by the name of the precision; unknown ones come last.
BITS = {
    "int4": 4,
    "int8": 8,
    "fp4": 4,
    "mxfp4": 4,
    "nvfp4": 4,
    "fp6": 6,
    "fp8": 8,
    "mxfp8": 8,
    "fp16": 16,
    "bf16": 16,
    "fp32": 32,
}


def refuse(catalogue: Catalogue) -> None:
    """Nothing was asked yet: all problems in one line, as UsageError where only names are wrong,
    else as ProviderRefused."""
    faults = "; ".join([*catalogue.problems, *catalogue.misnamed])
    if faults:
        kind = ProviderRefused if catalogue.problems else UsageError
        raise kind(f"before the first call: {faults}")


def pin(
    name: str,
    model: Model,
    endpoints: Sequence[Model],
    terms: Terms,
    catalogue: Catalogue,
) -> Model:
    """`model` as the one upstream serves it that `terms` ask for; else at the dearest price that
    any of them may charge."""
    if terms.pin is None or catalogue.dialect != "openrouter":
        if not model.priced or model.price_from != "catalogue":
            return model
        priced = [each for each in (model, *endpoints) if each.priced]
        return model._replace(
            **{
                price: max(getattr(each, price) for each in priced)
                for price in ("prompt", "completion", "request")
            }
        )
    chosen = choose(name, endpoints, terms)
    if isinstance(chosen, str):
        catalogue.misnamed.append(chosen)
        return model
    return model._replace(
        **{
            name: value
            for name in (
                "prompt",
                "completion",
                "request",
                "parameters",
                "context",
                "most_out",
                "upstream",
            )
            if (value := getattr(chosen, name)) is not None
        }
    )


def choose(name: str, endpoints: Sequence[Model], terms: Terms) -> Model | str:
    """The endpoint to ask, or why there is none: that of an earlier start; else of those that
    take what is asked (and have the name) one of the highest precision, then the cheapest."""
    before = terms.resolved.get(name)
    if before is not None:
        again = [each for each in endpoints if each.upstream[::2] == before[::2]]
        return (
            again[0]
            if again
            else (
                f"--pin: {name}: the run's upstream {before.tag!r} is no longer offered; use another "
                "--run-id"
            )
        )
    tags = [each.upstream.tag for each in endpoints]
    if not tags:
        return f"--pin: {name}: the server lists no upstreams; leave the flag out"
    named = [
        each
        for each in endpoints
        if terms.pin in ("auto", each.upstream.tag, each.upstream.name)
        or each.upstream.tag.startswith(f"{terms.pin}/")
    ]
    if not named:
        return f"--pin: {name}: no upstream {terms.pin!r}; {nearest(terms.pin, tags)}"
    needed = [
        *terms.needs,
        *(["reasoning"] if terms.effort not in (None, "none") else []),
    ]
    able = [each for each in named if all(wire.supports(each, need) for need in needed)]
    if not able:
        return (
            f"--pin: {name}: no such upstream takes {' and '.join(needed)}; offered are "
            f"{', '.join(tags)}"
        )
    return min(
        able,
        key=lambda each: (
            -BITS.get(each.upstream.quantization or "", 0),
            not wire.supports(each, "seed"),
            each.cost(1, 1) if each.priced else wire.MOST_USD,
            each.upstream.tag,
        ),
    )


def check(name: str, model: Model, terms: Terms, catalogue: Catalogue) -> None:
    """Problems, notes and a line of facts of a model."""
    if catalogue.models and name not in catalogue.models:
        line = f"model {name!r} is not in the server's list; {nearest(name, catalogue.models)}"
        # A proxy may serve what it does not list; the server will say.
        proxy = catalogue.dialect == "compatible"
        (catalogue.notes if proxy else catalogue.misnamed).append(line)
        return
    lacks = (
        model.mandatory
        if terms.effort == "none"
        else (model.efforts and terms.effort not in (None, *model.efforts))
    )
    if lacks and model.reasons is not False:
        catalogue.misnamed.append(
            f"--effort: {name} does not take {terms.effort!r}; it takes "
            f"{', '.join(model.efforts) or 'others'}"
        )
    if model.expires and model.expires < catalogue.day:
        catalogue.misnamed.append(f"model {name!r} was withdrawn on {model.expires}")
    if not model.priced:
        catalogue.notes.append(
            f"{name}: no price known; the budget reserves at the assumed price"
        )
    catalogue.facts.append(facts(name, model, terms, catalogue.dialect))


def facts(name: str, model: Model, terms: Terms, dialect: str) -> str:
    """A line on what is worth knowing of a model before it is asked."""
    probe = Request("", "", name, "", "", wire.MIN_CAP, effort=terms.effort)
    sent = wire.body(probe, model, dialect)
    effort = sent.get("reasoning", {}).get("effort") or sent.get("reasoning_effort")
    unsent = [need for need in terms.needs if not wire.supports(model, need)]
    if terms.effort not in (None, "none") and effort is None:
        unsent.append("effort")
    dear = (
        f"${model.prompt * 1e6:g} and ${model.completion * 1e6:g} a million tokens "
        f"({model.price_from})"
        if model.priced
        else ""
    )
    tag, _, precision = model.upstream or ("", "", "")
    route = (
        "one server, upstream unnamed"
        if dialect != "openrouter"
        else f"upstream {tag}" + f" ({precision})" * bool(precision)
        if tag
        else "any upstream (--pin auto keeps to one)"
    )
    notes = [
        model.canonical if model.canonical != name else "",
        f"context {model.context:,}" if model.context else "",
        dear,
        f"effort {effort}" if effort else "effort not sent",
        f"not sent: {', '.join(unsent)}" if unsent else "",
        route,
        f"withdrawn from {model.expires}" if model.expires else "",
    ]
    return f"{name}: " + " · ".join(filter(None, notes))


def resolved(models: Mapping[str, Mapping]) -> dict[str, Upstream]:
    """The upstreams that `models` of a manifest's `provider` tell of, by model."""
    known = {name: entry["known"]["upstream"] for name, entry in models.items()}
    return {name: Upstream(**upstream) for name, upstream in known.items() if upstream}


def fixed(manifest: Mapping[str, Any]) -> bool:
    """Whether one upstream a model answered a run, by its manifest. A server that routes nothing
    has but one."""
    provider, study = (
        manifest["provider"],
        manifest["identity"]["config"] | manifest["identity"],
    )
    routing = study.get("routing") or {}
    return (
        provider is None
        or provider["dialect"] != "openrouter"
        or bool(study.get("pin"))
        or (
            routing.get("allow_fallbacks") is False
            and len(routing.get("only") or []) == 1
        )
    )
