"""Read a server's raw answer: find the outcome that the experiment sees, and what to do
next.

These functions are pure and never raise on what a server sends. The types, codes and
places of errors follow OpenRouter's documentation, OpenAPI description and SDK (autumn
2026); `tests/replies.jsonl` has an example of each shape.
"""

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime  # slow to load, and rarely asked
from sys import intern
from typing import Any, TypeVar

from common.wire import MOST_USD, Exchange, Model, Reading, Reply

T = TypeVar("T")
N = TypeVar("N", float, None)
MANY = 10**12  # no count of tokens
LONGEST_WAIT_S = 366 * 86_400.0  # what is longer is cut to it
# The words and statuses in which upstreams dress a refusal as an error.
CONTENT_FILTER = re.compile(
    r"content[ _-]?(filter(?!_results?\W)|policy|management)|safety filter"
    r"|usage polic",
    re.I,
)
FILTER_STATUS = {400, 403, 500, 502, 503}
FLAGS = ("reasons", "flagged_input", "patterns")  # in a moderation's metadata
DAILY = re.compile(r"per[ -]day|daily", re.I)
# A server that has not loaded its model yet: llama.cpp's "Loading model", an inference API's
# "Model x is currently loading". It is there, and asks for patience.
LOADING = re.compile(
    r"^loading model|\bmodel\b.{0,120}\bis (currently |still )?loading", re.I
)
LOADING_S = 5.0

# What an error means by the type it names, whatever HTTP code it wears. "blocked": an outcome of
# the trial; "unfit": this one prompt can't be answered; "passing": ask again; "fatal": no other
# prompt and no waiting would help.
ERROR_TYPES = {
    **dict.fromkeys(
        ("refusal", "content_policy_violation", "content_filter"), "blocked"
    ),
    **dict.fromkeys(
        (
            "context_length_exceeded",
            "string_too_long",
            "token_limit_exceeded",
            "payload_too_large",
            "invalid_prompt",
        ),
        "unfit",
    ),
    **dict.fromkeys(
        (
            "rate_limit_exceeded",
            "provider_overloaded",
            "provider_unavailable",
            "timeout",
            "server",
            "unmapped",
        ),
        "passing",
    ),
    **dict.fromkeys(
        (
            "authentication",
            "payment_required",
            "permission_denied",
            "not_found",
            "precondition_failed",
            "unprocessable",
            "invalid_request",
            "max_tokens_exceeded",
            "invalid_image",
            "image_not_found",
            "image_too_large",
            "image_too_small",
            "unsupported_image_format",
            "image_download_failed",
            # as OpenAI and its likes name them
            "insufficient_quota",
            "invalid_api_key",
            "model_not_found",
        ),
        "fatal",
    ),
}
# Types that leave open what was wrong: metadata and words may say more.
VAGUE = {
    "invalid_request",
    "invalid_prompt",
    "permission_denied",
    "unprocessable",
    "provider_unavailable",
    "server",
    "unmapped",
}
# What an error means by its status; each other 3xx and 4xx is fatal, each 5xx passing.
STATUSES = {
    408: "passing",
    409: "passing",
    413: "unfit",
    425: "passing",
    429: "passing",
}
KINDS = {"blocked": "final", "unfit": "final", "passing": "transient", "fatal": "fatal"}
STATUS_OF_TYPE = {  # where a body names a type and no code
    "authentication": 401,
    "payment_required": 402,
    "permission_denied": 403,
    "not_found": 404,
    "payload_too_large": 413,
    "rate_limit_exceeded": 429,
}
FATAL_HINT = {
    **dict.fromkeys((301, 302, 307, 308), "the server has moved: check the base URL"),
    401: "check OPENROUTER_API_KEY",
    402: "add credit, or lower the output limit",
    403: "the key lacks permission or has reached its own limit",
    404: "check the model's name and the base URL",
}
# A clock that jumps while a run goes on must not make a wait longer or shorter.
STARTED = time.time() - time.monotonic()


# --- values in a server's JSON -----------------------------------------------------------------


def _value(text: str) -> Any:
    """Return the value of a JSON text, or None if it is no JSON. An integer too long
    for Python is shortened: it is too large for any use here."""
    with suppress(ValueError, RecursionError):
        return json.loads(text, parse_int=lambda digits: int(digits[:300]))


def _at(value: Any, *path: str) -> Any:
    """Return the value at a path of keys, or None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _get(kind: type[T], value: Any, *path: str) -> T:
    """Return the value at a path if it is of this kind, else an empty value of the
    kind."""
    found = _at(value, *path)
    return found if isinstance(found, kind) else kind()


def _text(value: Any, *path: str) -> str:
    """Return a text that UTF-8 can hold: a lone surrogate in an answer must not break a
    file."""
    text = _get(str, value, *path)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _label(value: Any, *path: str) -> str | None:
    """Return a name of at most 200 characters. Thousands of answers share one copy of
    it."""
    return intern(_text(value, *path)[:200]) or None


def _labels(value: Any, *path: str) -> tuple[str, ...]:
    return tuple(filter(None, map(_label, _get(list, value, *path))))


def _whole(value: Any, *path: str) -> int | None:
    """Return a count of tokens, or None if no such number is there."""
    found = _at(value, *path)
    return found if type(found) is int and 0 <= found < MANY else None


NUMBER = re.compile(r"\s*[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s*", re.ASCII).fullmatch


def _number(value: Any, *path: str) -> float | None:
    """Return a number from 0 up, infinity included, or None if there is none. The
    number may be written as text."""
    found = _at(value, *path)
    if isinstance(found, str) and NUMBER(found):
        found = float(found)
    return float(found) if type(found) in (int, float) and found >= 0 else None


def _dollars(value: Any, *path: str) -> float | None:
    """Return a price, a balance or a bill in dollars, or None if there is none."""
    usd = _number(value, *path)
    return None if usd is None or usd >= MOST_USD else usd


# --- an answer ---------------------------------------------------------------------------------


def read(exchange: Exchange, now: float | None = None) -> Reading:
    """Read the raw answer of one attempt. This never raises on what a server sends.

    `now` is in seconds since 1970; dates count from it if the server does not send a
    date of its own.
    """
    if exchange.status is None:
        return _transient(exchange.error or "no answer", exchange.sent)
    if exchange.error:  # cut off or out of time after the head had arrived
        return _transient(exchange.error, exchange.status < 400)
    if now is None:
        now = STARTED + time.monotonic()
    data = _value(exchange.body)
    if exchange.status >= 300:
        return _read_error(data, data, exchange, now)
    if not isinstance(data, dict):
        return _transient(f"not JSON: {_excerpt(exchange.body)!r}", True)
    if exchange.headers.get("x-openrouter-cache-status", "").upper() == "HIT":
        return _transient("a cached copy, not a new trial", False)
    if data.get("error"):
        return _read_error(data, data, exchange, now)
    choice = next(iter(_get(list, data, "choices")), None)
    if not isinstance(choice, dict):
        return _transient("no choices in the answer", True)
    if choice.get("error") or choice.get("finish_reason") == "error":
        return _read_error(choice, data, exchange, now)
    return Reading("final", _answer(choice, data))


def _transient(message: str, billable: bool) -> Reading:
    reply = Reply("provider_error", message=message)
    return Reading("transient", reply, billable=billable)


def _excerpt(text: str) -> str:
    return " ".join(text[:80].split())


def _answer(choice: dict[str, Any], data: dict[str, Any]) -> Reply:
    message = _get(dict, choice, "message")
    text = _content(message) or _text(message, "refusal")
    finish = _label(choice, "finish_reason")
    outcome = "ok" if text.strip() else "empty"
    reply = _charged(data)._replace(
        outcome=OUTCOMES.get(finish or "", outcome),
        text=text,
        finish_reason=finish,
        reasoning=_thoughts(message),
    )
    if reply.completion_tokens or not (text or reply.reasoning):
        return reply
    # A reply with text took tokens. So these counts are missing; a bill above zero is kept.
    return reply._replace(
        prompt_tokens=None,
        completion_tokens=None,
        reasoning_tokens=None,
        cost_usd=reply.cost_usd or None,
    )


OUTCOMES = {"content_filter": "blocked", "length": "truncated"}  # by finish reason
# Types of the parts in which some servers answer; others are neither text nor known thoughts.
TEXTS = (None, "text")
THOUGHTS = ("thinking", "reasoning")


def _parts(message: dict[str, Any], types: tuple[str | None, ...]) -> list[Any]:
    """Return the parts of a content that have one of these types."""
    parts: list[Any] = _get(list, message, "content")
    return [part for part in parts if _at(part, "type") in types]


def _joined(parts: list[Any]) -> str:
    return "".join(_text(part, "text") for part in parts)


def _content(message: dict[str, Any]) -> str:
    return _text(message, "content") or _joined(_parts(message, TEXTS))


def _thoughts(message: dict[str, Any]) -> str:
    """Return the text of the reasoning, under any name and in any parts that servers
    use."""
    whole = _text(message, "reasoning") or _text(message, "reasoning_content")
    details = _get(list, message, "reasoning_details")
    thoughts = map(_thought, details + _parts(message, THOUGHTS))
    return whole or "\n".join(filter(None, thoughts))


def _thought(part: Any) -> str:
    """Return the text of a part, which may consist of parts again."""
    for name in (*THOUGHTS, "text", "summary"):
        thought = _text(part, name) or _joined(_get(list, part, name))
        if thought:
            return thought
    return ""


def _charged(data: Any) -> Reply:
    """Return the tokens, the cost and the provider that any answer tells, since errors
    are billed too."""
    usage = _usage(data)
    details = usage.get("completion_tokens_details")
    return Reply(
        outcome="provider_error",
        prompt_tokens=_whole(usage, "prompt_tokens"),
        completion_tokens=_whole(usage, "completion_tokens"),
        reasoning_tokens=_whole(details, "reasoning_tokens"),
        cost_usd=_cost(usage),
        served_model=_label(data, "model"),
        provider=_label(data, "provider") or _chosen(data),
        generation_id=_label(data, "id"),
    )


def _usage(data: Any) -> dict[str, Any]:
    error = _at(data, "error")
    for place in (data, error, _at(error, "metadata")):
        usage: dict[str, Any] = _get(dict, place, "usage")
        if usage:
            return usage
    return {}


def _cost(usage: dict[str, Any]) -> float | None:
    """Return the dollars of an answer: what OpenRouter takes, plus what an upstream
    provider bills to the user's own key."""
    cost, own_key = _dollars(usage, "cost"), usage.get("is_byok")
    bill = _dollars(usage, "cost_details", "upstream_inference_cost")
    if own_key is True and bill is None:
        return None  # only the fee is known
    if own_key is False or not bill:
        return cost
    return _dollars(bill + (cost or 0.0))


def _chosen(data: Any) -> str | None:
    """Return the upstream provider that OpenRouter's routing names."""
    for upstream in _get(list, data, "openrouter_metadata", "endpoints", "available"):
        if _at(upstream, "selected") is True:
            return _label(upstream, "provider")
    return None


# --- an error ----------------------------------------------------------------------------------


def _read_error(place: Any, data: Any, exchange: Exchange, now: float) -> Reading:
    """Read the error in `place`: either the whole body `data`, or one of its choices."""
    error = _error_in(place, exchange)
    name = _error_type(error, data)
    status = _status_of(error, exchange, name)
    words = _words(error) or f"HTTP {status}"
    limit = _limit(error, status, words)
    meaning = "passing" if limit else _meaning(error, name, status, words)
    kind = KINDS[meaning]
    outcome, message = "provider_error", f"{status}: {words}"
    if meaning == "blocked":
        outcome, message = meaning, words
    if kind == "fatal" and status in FATAL_HINT:
        message += f" ({FATAL_HINT[status]})"
    unfit = meaning == "unfit"
    reply = _charged(data)._replace(outcome=outcome, message=message, final=unfit)
    wait = _wait(error, exchange, now) if kind == "transient" else None
    return Reading(kind, reply, wait, limit=limit, error_type=name or str(status))


def _error_in(place: Any, exchange: Exchange) -> dict[str, Any]:
    """Return the error in a body or a choice. Other servers than OpenRouter write it as
    a text, and some write it at the top level."""
    error = _get(dict, place, "error")
    texts = [_text(place, name) for name in ("error", "message", "detail")]
    otherwise = "upstream error"
    if (exchange.status or 0) >= 300:
        otherwise = _excerpt(exchange.body)
    return error or {"message": next(filter(None, texts), otherwise)}


def _error_type(error: dict[str, Any], data: Any) -> str:
    """Return the type that decides what an error means: the first known one, or else
    the text where the type belongs."""
    places = error.get("metadata"), error, data
    names = [_text(place, "error_type")[:60] for place in places]
    for name in [*names, error.get("code"), error.get("type")]:
        if isinstance(name, str) and name in ERROR_TYPES:
            return name
    return next(filter(None, names), "")


def _status_of(error: dict[str, Any], exchange: Exchange, name: str) -> int:
    """Return the status that counts: newer bodies name it, and older ones put it in
    `code`."""
    told = _number(error, "http_status"), _number(error, "code")
    for status in (*told, STATUS_OF_TYPE.get(name)):
        if status and 400 <= status < 600:
            return int(status)
    if exchange.status is not None and exchange.status >= 300:
        return exchange.status
    return 502


def _words(error: dict[str, Any]) -> str:
    """Return the server's message, and after it the upstream provider's own message if
    there is one."""
    words = [_text(error, "message")[:300].strip()]
    for name in ("raw", "remedy_hint", "resets_at"):
        words.append(_text(error, "metadata", name)[:200].strip())
    return " · ".join(filter(None, words))[:500]


def _limit(error: dict[str, Any], status: int, words: str) -> str:
    """Return which limit was met: "in_flight" or "daily", or "" if it is another limit
    or none."""
    source = _text(error, "metadata", "limit_source")
    reason = _text(error, "metadata", "reason")
    in_flight = "in_flight_budget" in source + reason
    if status == 402 and in_flight and reason != "weight_exceeds_budget":
        return "in_flight"
    if status == 429 and DAILY.search(source or words):
        return "daily"
    return ""


def _meaning(error: dict[str, Any], name: str, status: int, words: str) -> str:
    """Return what an error means by `ERROR_TYPES`; its type decides before its code."""
    known = ERROR_TYPES.get(name)
    vague = known is None or name in VAGUE
    if vague and _is_filtered(error, status, words):
        return "blocked"
    retryable = _at(error, "availability", "retryable")
    if known not in ("blocked", "unfit") and isinstance(retryable, bool):
        return "passing" if retryable else "fatal"
    by_status = "fatal" if status < 500 else "passing"
    return known or STATUSES.get(status, by_status)


def _is_filtered(error: dict[str, Any], status: int, words: str) -> bool:
    """Whether the prompt or the answer was held back because of its content."""
    metadata = _get(dict, error, "metadata")
    if status in (400, 403) and any(map(metadata.get, FLAGS)):
        return True
    said = f"{words} {_text(metadata, 'raw')[:4000]}"
    return status in FILTER_STATUS and CONTENT_FILTER.search(said) is not None


def _wait(error: dict[str, Any], exchange: Exchange, now: float) -> float | None:
    """Return the seconds that the server asks to wait, or None if it names none.

    Dates from the server count from the server's own clock: the clock of this machine
    may be wrong, or jump meanwhile.
    """
    headers = dict(exchange.headers)
    for name, value in _get(dict, error, "metadata", "headers").items():
        if value:
            headers[name.lower()] = value
    now = epoch(exchange.headers.get("date"), now)
    waits = [
        _seconds(_at(error, "availability", "retry_after"), now),
        _seconds(_at(error, "metadata", "retry_after_seconds"), now),
        _seconds(headers.get("retry-after"), now),
        _until(headers.get("x-ratelimit-reset"), now),
    ]
    for wait in waits:
        if wait and wait > 0:
            return min(wait, LONGEST_WAIT_S)
    if LOADING.search(_text(error, "message")):
        return LOADING_S
    return None


def _seconds(value: Any, now: float) -> float | None:
    """Return the seconds from now that a number or a date stands for."""
    then = epoch(value, None)
    return _number(value) if then is None else then - now


def _until(value: Any, now: float) -> float | None:
    """Return the seconds until a reset. OpenRouter counts milliseconds since 1970;
    other servers count seconds, micro- or nanoseconds since then, or seconds or
    milliseconds from now. The size of the number shows which."""
    reset = _number(value)
    if reset is None or reset < 1e7:
        return reset
    if reset < 1e9:
        return reset / 1000
    for _ in range(3):
        if reset >= 1e11:
            reset /= 1000
    return reset - now


def epoch(value: Any, otherwise: N) -> float | N:
    """Return a date in HTTP's form as seconds since 1970, or `otherwise` if it is
    none."""
    with suppress(AttributeError, TypeError, ValueError, OverflowError):
        then = parsedate_to_datetime(value)
        if then.tzinfo is None:
            then = then.replace(tzinfo=UTC)
        return then.timestamp()
    return otherwise


# --- a parameter that is refused ---------------------------------------------------------------

REFUSING = re.compile(
    r"unsupported|unknown|unrecogni|unexpected|extra|forbid|disallow|deprecat|invalid"
    r"|incompatible|mandatory|no longer|cannot|can't|must be|should be|may only"
    r"|(not|n't) (\w+ )?(support|permit|allow|recogni|accept|valid|available|compatible)"
    r"|非法|不支持",
    re.I,
)
# What servers call the effort that they are asked for.
THINKING = re.compile(r"\bthink(ing)?\b|\breasoning(?= value)", re.I)
# What a server names as a remedy, or lists as known.
ADVICE = re.compile(
    r"\b(use|try|did you mean) \S+|expected one of.*"
    r"|(supported|allowed|known|valid) \w+ (are|include).*",
    re.I,
)
# The output limit's names. A server that refuses its size says SIZE too, and then the parameter
# itself is not refused.
LIMITS = ("max_tokens", "max_completion_tokens")
SIZE = re.compile(
    r"too (large|small|high|low|long)|range|at (least|most)|maximum|minimum|exceed"
    r"|(greater|less|more|larger|smaller|higher|lower) than|above|below|between|context",
    re.I,
)
SENTENCE_END = re.compile(r"[.;]\s")
EVERYDAY = ("provider", "usage", "stop")  # names only where quoted or listed


def refused_parameter(exchange: Exchange, sent: Mapping[str, Any]) -> str | None:
    """Return the parameter of the body `sent` that an answer 400 or 422 refuses, the
    first if there are several. Return None if it names none, or only says that a limit
    is too large."""
    if exchange.status not in (400, 422):
        return None
    told: list[dict[str, Any]] = []  # every object in the body, the innermost first
    with suppress(ValueError, RecursionError):
        json.loads(exchange.body, object_hook=told.append)
    for error in told:
        name = _refused_by(error, sent)
        if name:
            return name
    return None


def _refused_by(error: dict[str, Any], sent: Mapping[str, Any]) -> str | None:
    """Return the parameter that an object in the error refuses: the one at `param` or
    `loc`, or else the first that a sentence of refusal names."""
    texts = [_text(error, key) for key in ("message", "msg", "error", "detail", "raw")]
    words = ". ".join(texts)[:4000]
    place = [_text(error, "param"), *map(_text, _get(list, error, "loc"))]
    name = _first_named(": " + ", ".join(place), sent)
    for sentence in SENTENCE_END.split(words):
        if name is None and REFUSING.search(sentence):
            name = _first_named(ADVICE.sub("", sentence), sent)
    limit_is_large = name in LIMITS and SIZE.search(words)
    return None if limit_is_large else name


def _first_named(words: str, sent: Mapping[str, Any]) -> str | None:
    """Return the parameter that the words name first, in any spelling (max_tokens,
    maxTokens)."""
    words, places = THINKING.sub("reasoning effort", words), {}
    for name in sent.keys() - {"model", "messages"}:
        before = r"[\"'`:,] ?" if name in EVERYDAY else r"(?<![\w/-])"
        pattern = before + name.replace("_", "[_ .-]?") + r"(?![\w/-])"
        match = re.search(pattern, words, re.I | re.A)
        if match:
            places[match.start()] = name
    return places[min(places)] if places else None


# --- the side endpoints ------------------------------------------------------------------------


def read_catalogue(text: str) -> dict[str, Model]:
    """Return {model: Model} from the answer to GET /models; it is empty if the answer
    says nothing usable."""
    models = {}
    for row in _get(list, _value(text), "data"):
        name = _text(row, "id")
        if name:
            models[name] = read_model(row)
    return models


def read_model(entry: dict[str, Any]) -> Model:
    """Read one entry of GET /models, or one endpoint of a model."""
    listed = _at(entry, "supported_parameters")
    parameters = _labels(listed) if isinstance(listed, list) else None
    reasons = None if parameters is None else "reasoning" in parameters
    reasoning = _get(dict, entry, "reasoning")
    if reasoning:
        reasons = True
    prices = _get(dict, entry, "pricing")
    prompt, completion = _price(prices, "prompt"), _price(prices, "completion")
    thought = _price(prices, "internal_reasoning")
    if completion is not None and thought is not None:
        completion = max(completion, thought)
    unpriced = prompt is None or completion is None
    top = _get(dict, entry, "top_provider")
    most_out = entry.get("max_completion_tokens") or top.get("max_completion_tokens")
    return Model(
        prompt=prompt,
        completion=completion,
        request=_price(prices, "request") or 0.0,
        parameters=parameters,
        efforts=_labels(reasoning, "supported_efforts"),
        reasons=reasons,
        mandatory=reasoning.get("mandatory") is True,
        price_from="unknown" if unpriced else "catalogue",
        canonical=_label(entry, "canonical_slug"),
        context=_whole(entry, "context_length") or _whole(top, "context_length"),
        most_out=_whole(most_out),
        expires=_label(entry, "expiration_date"),
        default_effort=_label(reasoning, "default_effort"),
    )


def _price(prices: dict[str, Any], name: str) -> float | None:
    """Return the highest price that may apply: prices can depend on the hour and the
    length."""
    dearest = _dollars(prices, name)
    for table in _get(list, prices, "overrides"):
        usd = _dollars(table, name)
        if usd is not None and dearest is not None:
            dearest = max(dearest, usd)
    return dearest


def read_balance(text: str) -> float | None:
    """Return the dollars left on the key, from the answer to GET /key. Return None if
    they are unlimited or unknown."""
    data = _at(_value(text), "data")
    left = _dollars(data, "limit_remaining")
    budget = _dollars(data, "effective_budget", "remaining_usd")
    if left is None or budget is None:
        return budget if left is None else left
    return min(left, budget)
