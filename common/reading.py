"""What a server's raw answer means: the outcome the experiment sees, and what to do about it.

Pure functions that never raise on what a server sends. Error types, codes and places: OpenRouter's
documentation, OpenAPI description and SDK (autumn 2026); `tests/replies.jsonl` has a line a shape.
"""

import json
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime  # slow to load, and rarely asked
from typing import Any

from common.wire import MOST_USD, Exchange, Model, Reading, Reply, Upstream

MANY = 10**12  # no count of tokens
LONGEST_INTEGER = (
    300  # characters; what is longer, Python refuses or a float cannot hold
)
LONGEST_WAIT_S = (
    366 * 86_400.0
)  # what is longer is cut to it, before anything is computed
TRANSIENT_4XX = {
    408,
    409,
    425,
    429,
}  # every other 3xx and 4xx says the request itself is wrong
# The words and statuses in which upstreams dress a refusal as an error.
CONTENT_FILTER = re.compile(
    r"content[ _-]?(filter(?!_results?\W)|policy|management)|safety filter"
    r"|usage polic",
    re.I,
)
FILTER_STATUS = {400, 403, 500, 502, 503}
DAILY = re.compile(r"per[ -]day|daily", re.I)

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
    "",
    "invalid_request",
    "invalid_prompt",
    "permission_denied",
    "unprocessable",
    "provider_unavailable",
    "server",
    "unmapped",
}
FATAL_HINT = {
    **dict.fromkeys((301, 302, 307, 308), "the server has moved: check the base URL"),
    401: "check OPENROUTER_API_KEY",
    402: "add credit, or lower the output limit",
    403: "the key lacks permission or has reached its own limit",
    404: "check the model's name and the base URL",
}


def _whole(value: Any) -> int | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MANY
    return value if ok else None


def _number(value: Any) -> float | None:
    """A number from 0 up, infinity included, also where it is written as text."""
    if isinstance(value, bool) or (isinstance(value, str) and not NUMBER(value)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number >= 0 else None


NUMBER = re.compile(r"\s*[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s*", re.ASCII).fullmatch


def _dollars(value: Any) -> float | None:
    """A price, a balance or a bill, also where it is written as text."""
    usd = _number(value)
    return usd if usd is not None and usd < MOST_USD else None


def _clean(value: Any) -> str:
    """Text that UTF-8 can hold: a lone surrogate in an answer must not break a file."""
    text = value if isinstance(value, str) else ""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _label(value: Any) -> str | None:
    return sys.intern(_clean(value)[:200]) or None  # thousands of answers share a few


def _labels(values: list) -> tuple[str, ...]:
    return tuple(filter(None, map(_label, values)))


def _value(text: str) -> Any:
    """The value of a server's JSON, None where it is none. An integer too long for Python to read
    is as large as a float can be."""
    with suppress(ValueError, RecursionError):
        return json.loads(
            text,
            parse_int=lambda digits: (
                int(digits) if len(digits) < LONGEST_INTEGER else float(digits)
            ),
        )


def _object(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _content(message: dict) -> str:
    content = message.get("content")
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(_clean(_object(part).get("text")) for part in content)
    return _clean(content) or _clean(message.get("refusal"))


def _thoughts(message: dict) -> str:
    """The text of the reasoning; some servers give it in parts, some under another name."""
    text = _clean(message.get("reasoning")) or _clean(message.get("reasoning_content"))
    details = message.get("reasoning_details")
    if text or not isinstance(details, list):
        return text
    return "\n".join(
        filter(
            None,
            (
                _clean(part.get("text")) or _clean(part.get("summary"))
                for part in map(_object, details)
            ),
        )
    )


def _cost(usage: dict) -> float | None:
    """Dollars of an answer: what OpenRouter takes, and what an upstream bills to an own key."""
    cost, byok = _dollars(usage.get("cost")), usage.get("is_byok")
    upstream = _dollars(
        _object(usage.get("cost_details")).get("upstream_inference_cost")
    )
    if byok is True and upstream is None:
        return None  # only the fee is known
    return (
        _dollars((cost or 0.0) + upstream) if upstream and byok is not False else cost
    )


# Where a body names a type and no code.
STATUS_OF_TYPE = {
    "authentication": 401,
    "payment_required": 402,
    "permission_denied": 403,
    "not_found": 404,
    "payload_too_large": 413,
    "rate_limit_exceeded": 429,
}


def _status_of(error: dict, http_status: int, name: str) -> int:
    """The status that counts: newer bodies say it, older ones put it in `code`."""
    for value in (
        error.get("http_status"),
        error.get("code"),
        STATUS_OF_TYPE.get(name),
    ):
        try:
            status = int(value)
        except (TypeError, ValueError, OverflowError):
            continue
        if 400 <= status <= 599:
            return status
    return http_status if http_status >= 300 else 502


def _error_type(error: dict, data: dict) -> str:
    """The name that decides: the first known one, else what stands where the type belongs."""
    places = [
        _object(error.get("metadata")).get("error_type"),
        error.get("error_type"),
        data.get("error_type"),
        error.get("code"),
        error.get("type"),
    ]
    names = [_clean(place)[:60] for place in places]
    known = (name for name in names if name in ERROR_TYPES)
    return next(known, next(filter(None, names[:3]), ""))


def _wait(error: dict, headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server asks to wait; None where it does not say, or says none.

    Its dates count from its own: the clock of this machine may be wrong, or jump meanwhile.
    """
    now = epoch(headers.get("date"), now)
    metadata = _object(error.get("metadata"))
    inner = {str(k).lower(): v for k, v in _object(metadata.get("headers")).items()}
    waits = [
        _seconds(place, now)
        for place in (
            _object(error.get("availability")).get("retry_after"),
            metadata.get("retry_after_seconds"),
            inner.get("retry-after"),
            headers.get("retry-after"),
        )
    ]
    waits += [
        _until(_number(place.get("x-ratelimit-reset")), now)
        for place in (inner, headers)
    ]
    wait = next((wait for wait in waits if wait is not None and wait > 0), None)
    return wait and min(wait, LONGEST_WAIT_S)


def _seconds(value: Any, now: float) -> float | None:
    """Seconds from now, of a number of them or a date."""
    seconds, then = _number(value), epoch(value)
    return then - now if seconds is None and then is not None else seconds


def _until(reset: float | None, now: float) -> float | None:
    """Seconds until a reset. OpenRouter counts milliseconds since 1970; others seconds since then,
    micro- or nanoseconds, or seconds from now. Which it is, its size tells."""
    if reset is None or reset < 1e9:
        return reset
    return (
        next(
            (reset / unit for unit in (1, 1e3, 1e6) if reset / unit < 1e11), reset / 1e9
        )
        - now
    )


def epoch(value: Any, otherwise: float | None = None) -> float | None:
    """Seconds since 1970 of a date as HTTP writes it; `otherwise` where it is none."""
    if not isinstance(value, str):
        return otherwise
    with suppress(TypeError, ValueError, OverflowError):
        then = parsedate_to_datetime(value)
        return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
    return otherwise


# A clock that jumps while a run goes on must not make a wait longer or shorter.
STARTED = time.time() - time.monotonic()


def _limit(error: dict, status: int, words: str) -> str:
    """Which limit was met: "in_flight", "daily", or "" where it is another or none."""
    metadata = _object(error.get("metadata"))
    source, reason = str(metadata.get("limit_source")), str(metadata.get("reason"))
    if status == 402 and (
        source == "openrouter_in_flight_budget"
        or reason == "in_flight_budget_exhausted"
    ):
        return "" if reason == "weight_exceeds_budget" else "in_flight"
    daily = source == "openrouter_free_tier_daily" or (
        source == "None" and DAILY.search(words)
    )
    return "daily" if status == 429 and daily else ""


def _meaning(error: dict, name: str, status: int, words: str) -> str:
    """What an error means, as in `ERROR_TYPES`: its type decides before its code."""
    metadata = _object(error.get("metadata"))
    raw = _clean(metadata.get("raw"))[:4000]
    known = ERROR_TYPES.get(name)
    vague = name in VAGUE or known is None
    moderated = any(
        metadata.get(name) for name in ("reasons", "flagged_input", "patterns")
    )
    if vague and (
        (status in (400, 403) and moderated)
        or (status in FILTER_STATUS and CONTENT_FILTER.search(f"{words} {raw}"))
    ):
        return "blocked"
    if known in ("blocked", "unfit"):
        return known
    retryable = _object(error.get("availability")).get("retryable")
    if isinstance(retryable, bool):
        return "passing" if retryable else "fatal"
    if known:
        return known
    if status == 413:
        return "unfit"
    return "fatal" if 300 <= status < 500 and status not in TRANSIENT_4XX else "passing"


def _read_error(
    error: dict, exchange: Exchange, seen: Reply, now: float, data: dict | None = None
) -> Reading:
    name = _error_type(error, data or {})
    status = _status_of(error, exchange.status or 0, name)
    words = _words(error) or f"HTTP {status}"
    limit, wait = _limit(error, status, words), _wait(error, exchange.headers, now)
    meaning = "passing" if limit else _meaning(error, name, status, words)
    kind = {"blocked": "final", "unfit": "final", "passing": "transient"}.get(
        meaning, "fatal"
    )
    if meaning == "blocked":
        seen = seen._replace(outcome="blocked", message=words)
    else:
        hint = FATAL_HINT.get(status, "") if kind == "fatal" else ""
        seen = seen._replace(
            outcome="provider_error",
            final=meaning == "unfit",
            message=f"{status}: {words}" + (f" ({hint})" if hint else ""),
        )
    return Reading(
        kind,
        seen,
        wait if kind == "transient" else None,
        limit=limit,
        error_type=name or str(status),
    )


def _words(error: dict) -> str:
    """The server's message, with the upstream's own where it passes one on."""
    words = _clean(error.get("message"))[:300].strip()
    metadata = _object(error.get("metadata"))
    more = [
        _clean(metadata.get(key))[:200].strip()
        for key in ("raw", "remedy_hint", "resets_at")
    ]
    return " · ".join(filter(None, (words, *more)))[:500]


def _transient(message: str, billable: bool) -> Reading:
    return Reading(
        "transient", Reply("provider_error", message=message), billable=billable
    )


def _excerpt(text: str) -> str:
    return " ".join(text[:80].split())


def read(exchange: Exchange, now: float | None = None) -> Reading:
    """What an attempt's raw answer means. Never raises on what a server sends."""
    if exchange.status is None:
        return _transient(exchange.error or "no answer", billable=exchange.sent)
    if exchange.error:  # cut off or out of time after the head had arrived
        return _transient(exchange.error, billable=exchange.status < 400)
    now = STARTED + time.monotonic() if now is None else now
    data = _value(exchange.body)
    if exchange.status >= 300:
        data = _object(data)
        # Servers that are no OpenRouter say it at top level.
        messages = filter(
            None, (_clean(data.get(key)) for key in ("error", "message", "detail"))
        )
        error = _object(data.get("error")) or {
            "message": next(messages, _excerpt(exchange.body))
        }
        return _read_error(error, exchange, _charged(data), now, data)
    if not isinstance(data, dict):
        return _transient(f"not JSON: {_excerpt(exchange.body)!r}", billable=True)
    if str(exchange.headers.get("x-openrouter-cache-status", "")).upper() == "HIT":
        return _transient("a cached copy, not a new trial", billable=False)
    return _read_completion(data, exchange, now)


def _charged(data: dict) -> Reply:
    """What an answer of any kind tells of tokens, cost and who gave it: errors are billed too."""
    error = _object(data.get("error"))
    places = (
        data.get("usage"),
        error.get("usage"),
        _object(error.get("metadata")).get("usage"),
    )
    usage = next(filter(None, map(_object, places)), {})
    return Reply(
        outcome="provider_error",
        prompt_tokens=_whole(usage.get("prompt_tokens")),
        completion_tokens=_whole(usage.get("completion_tokens")),
        reasoning_tokens=_whole(
            _object(usage.get("completion_tokens_details")).get("reasoning_tokens")
        ),
        cost_usd=_cost(usage),
        served_model=_label(data.get("model")),
        provider=_label(data.get("provider"))
        or _chosen(data.get("openrouter_metadata")),
        generation_id=_label(data.get("id")),
    )


def _error_of(value: Any) -> dict:
    return value if isinstance(value, dict) else {"message": str(value)}


def _read_completion(data: dict, exchange: Exchange, now: float) -> Reading:
    seen = _charged(data)
    if data.get("error"):
        error = _error_of(data["error"])
        return _read_error(error, exchange, seen, now, data)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return _transient("no choices in the answer", billable=True)
    if choice.get("error") or choice.get("finish_reason") == "error":
        error = _error_of(choice.get("error") or "upstream error")
        return _read_error(error, exchange, seen, now)
    message, finish = (
        _object(choice.get("message")),
        _label(choice.get("finish_reason")),
    )
    text = _content(message)
    return Reading(
        "final",
        seen._replace(
            text=text,
            finish_reason=finish,
            reasoning=_thoughts(message),
            outcome=_outcome(text, finish),
        ),
    )


def _chosen(metadata: Any) -> str | None:
    """The upstream that OpenRouter's routing names."""
    available = _object(_object(metadata).get("endpoints")).get("available")
    return (
        next(
            (
                _label(each.get("provider"))
                for each in map(_object, available)
                if each.get("selected") is True
            ),
            None,
        )
        if isinstance(available, list)
        else None
    )


def _outcome(text: str, finish: str | None) -> str:
    if finish == "content_filter":
        return "blocked"
    if finish == "length":
        return "truncated"
    return "ok" if text.strip() else "empty"


# --- the side endpoints ------------------------------------------------------------------------


def _price(pricing: dict, name: str) -> float | None:
    """The dearest that may apply: prices can depend on hour and length."""
    overrides = pricing.get("overrides")
    tables = [pricing, *(overrides if isinstance(overrides, list) else ())]
    prices = [_dollars(_object(table).get(name)) for table in tables]
    known = [price for price in prices if price is not None]
    return max(known) if prices[0] is not None else None


def read_model(entry: dict) -> Model:
    """One entry of GET /models, or one endpoint of a model."""
    reasoning, pricing = _object(entry.get("reasoning")), _object(entry.get("pricing"))
    listed = entry.get("supported_parameters")
    parameters = _labels(listed) if isinstance(listed, list) else None
    efforts = reasoning.get("supported_efforts")
    prompt, completion = _price(pricing, "prompt"), _price(pricing, "completion")
    thought = _price(pricing, "internal_reasoning")
    if completion is not None and thought is not None:
        completion = max(completion, thought)
    known = parameters is not None or bool(reasoning)
    top = _object(entry.get("top_provider"))
    return Model(
        prompt=prompt,
        completion=completion,
        request=_price(pricing, "request") or 0.0,
        parameters=parameters,
        efforts=_labels(efforts) if isinstance(efforts, list) else (),
        reasons=(bool(reasoning) or "reasoning" in (parameters or ()))
        if known
        else None,
        mandatory=reasoning.get("mandatory") is True,
        price_from="catalogue" if None not in (prompt, completion) else "unknown",
        canonical=_label(entry.get("canonical_slug")),
        context=_whole(entry.get("context_length"))
        or _whole(top.get("context_length")),
        most_out=_whole(
            entry.get("max_completion_tokens") or top.get("max_completion_tokens")
        ),
        expires=_label(entry.get("expiration_date")),
    )


def read_catalogue(text: str) -> dict[str, Model]:
    """{model: Model} of GET /models; empty where the answer says nothing usable."""
    rows = _object(_value(text)).get("data")
    return {
        _clean(row["id"]): read_model(row)
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and isinstance(row.get("id"), str)
    }


def read_endpoints(text: str) -> list[Model]:
    """A model's endpoints, of GET /models/…/endpoints, each as the model that is asked there;
    those that are down or of another service tier are left out."""
    rows = _object(_object(_value(text)).get("data")).get("endpoints")
    return [
        read_model(row)._replace(
            upstream=Upstream(
                _clean(row["tag"]),
                _clean(row.get("provider_name")),
                _label(row.get("quantization")),
            )
        )
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
        and isinstance(row.get("tag"), str)
        and row["tag"]
        and not (isinstance(row.get("status"), int) and row["status"] < 0)
        and row.get("service_tier") in (None, "default", "auto")
    ]


def read_balance(text: str) -> float | None:
    """Dollars left on the key, of GET /key; None where unlimited or unknown."""
    data = _object(_object(_value(text)).get("data"))
    left = [
        _dollars(data.get("limit_remaining")),
        _dollars(_object(data.get("effective_budget")).get("remaining_usd")),
    ]
    return min((usd for usd in left if usd is not None), default=None)
