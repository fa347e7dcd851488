"""What is asked and what comes back, as data; a request's JSON body and what it may cost.

Pure functions, no I/O. Facts about the API: OpenRouter's public documentation and OpenAPI
description (autumn 2026). What a raw answer means is read in `reading.py`.
"""

import json
import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from common.artifacts import sha256

FINAL_OUTCOMES = ("ok", "empty", "truncated", "blocked")
OUTCOMES = (*FINAL_OUTCOMES, "provider_error", "not_run")

MIN_CAP = 16                # some upstreams refuse a smaller output limit with a 400
REASONING_HEADROOM = 1024   # a reasoning model spends tokens before it speaks
ALWAYS_REASONING = ("gpt-5", "o1", "o3", "o4")  # where no catalogue says so
EFFORTS = ("minimal", "low", "medium", "high")
MOST_USD = 1e9              # no price and no bill; sums below it stay finite
TEMPLATE_TOKENS = 64        # chat template around two messages, counted generously


class Request(NamedTuple):
    """One chat completion. `max_out` is the visible output wanted, in tokens."""

    id: str
    stage: str
    model: str
    system: str
    user: str
    max_out: int
    temperature: float | None = None
    seed: int | None = None
    effort: str | None = None

    def sha256(self) -> str:
        """Identity of the question: the same id with another hash is another experiment."""
        return sha256(json.dumps(self, ensure_ascii=True, separators=(",", ":")))


class Reply(NamedTuple):
    """What the experiment may see of an answer. Unknown is None, never a guess."""

    outcome: str
    text: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    served_model: str | None = None
    provider: str | None = None
    generation_id: str | None = None
    message: str = ""


NOT_RUN = Reply("not_run")


class Exchange(NamedTuple):
    """The raw answer to one attempt; `status` is None where no HTTP answer arrived.

    `sent` False: no connection was made, so nothing can have been billed.
    """

    status: int | None
    headers: dict[str, str]
    body: str
    error: str = ""
    latency_s: float = 0.0
    sent: bool = True


class Reading(NamedTuple):
    """`kind`: final (an outcome of the trial), transient (ask again) or fatal (stop the run)."""

    kind: str
    reply: Reply
    retry_after: float | None = None
    billable: bool = False  # may have been billed although no usage came back


class Model(NamedTuple):
    """What is known of a model. Prices in dollars per token (per call for `request`)."""

    prompt: float | None = None
    completion: float | None = None
    request: float = 0.0
    parameters: tuple[str, ...] | None = None
    efforts: tuple[str, ...] = ()
    reasons: bool | None = None       # None: unknown
    mandatory: bool = False           # reasoning can't be switched off
    price_from: str = "unknown"       # "catalogue", "configuration" or "unknown"

    @property
    def priced(self) -> bool:
        return self.prompt is not None and self.completion is not None

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """Dollars of one call, None where a price is unknown."""
        if not self.priced:
            return None
        return self.request + self.prompt * prompt_tokens + self.completion * completion_tokens


def supports(model: Model, parameter: str) -> bool:
    """Whether to send `parameter`: yes where nothing is known."""
    return model.parameters is None or parameter in model.parameters


def thinks(request: Request, model: Model) -> bool:
    """Whether the model will reason before it answers."""
    if model.reasons is None:
        name = request.model.rsplit("/", 1)[-1]
        return any(name.startswith(prefix) for prefix in ALWAYS_REASONING)
    return model.mandatory or (model.reasons and request.effort not in (None, "none"))


def output_cap(request: Request, model: Model) -> int:
    """Tokens the server may produce: what we want to see, and head-room for reasoning."""
    return max(MIN_CAP, request.max_out) + (REASONING_HEADROOM if thinks(request, model) else 0)


def _effort(request: Request, model: Model) -> str | None:
    if request.effort is not None:
        return request.effort
    if not thinks(request, model):
        return "none" if model.reasons else None
    offered = [effort for effort in EFFORTS if effort in (model.efforts or EFFORTS)]
    return offered[0] if offered else None


def body(request: Request, model: Model, dialect: str, routing: Mapping | None = None) -> dict:
    """The JSON body. `dialect`: "openrouter", "openai" or "compatible" (any other server)."""
    cap = output_cap(request, model)
    out: dict[str, Any] = {"model": request.model, "messages": [
        {"role": role, "content": text}
        for role, text in (("system", request.system), ("user", request.user)) if text]}
    out["max_completion_tokens"] = cap
    if dialect == "compatible":  # llama.cpp and Ollama know only the older name
        out["max_tokens"] = cap
    for name in ("temperature", "seed"):
        value = getattr(request, name)
        if value is not None and supports(model, name):
            out[name] = value
    effort = _effort(request, model)
    if dialect == "openrouter":
        if effort is not None and supports(model, "reasoning"):
            out["reasoning"] = {"effort": effort}
        out["plugins"] = [{"id": "context-compression", "enabled": False}]
        if routing:
            out["provider"] = dict(routing)
    return out


def worst_case(request: Request, model: Model, fallback: Model) -> float:
    """Dollars this call can't exceed: a token is at least one byte, the output at most its cap."""
    prompt = len(request.system.encode()) + len(request.user.encode()) + TEMPLATE_TOKENS
    price = model if model.priced else fallback
    return price.cost(prompt, output_cap(request, model))


def expected_cost(request: Request, model: Model, fallback: Model) -> float:
    """Dollars this call probably costs: four bytes a token, the whole visible output."""
    prompt = (len(request.system.encode()) + len(request.user.encode())) / 4
    price = model if model.priced else fallback
    # Minimal effort was seen to spend a fraction of the head-room; a quarter is a guess upwards.
    thought = REASONING_HEADROOM / 4 if thinks(request, model) else 0
    return price.cost(prompt, request.max_out + thought)


# --- What a server's raw answer means: the outcome the experiment sees, and what to do about it ---

MANY = 10**12               # no count of tokens; above it a float would overflow
TRANSIENT_4XX = {408, 409, 425, 429}  # every other 3xx and 4xx says the request itself is wrong
CONTENT_FILTER = re.compile(r"content[ _-]?(filter|policy|management)|safety filter", re.I)
FILTER_STATUS = {400, 403, 500, 502, 503}
FATAL_HINT = {
    301: "the server has moved: check the base URL",
    302: "the server has moved: check the base URL",
    307: "the server has moved: check the base URL",
    308: "the server has moved: check the base URL",
    401: "check OPENROUTER_API_KEY",
    402: "add credit, or lower the output limit",
    403: "the key lacks permission or has reached its own limit",
    404: "check the model's name and the base URL",
}


def _whole(value: Any) -> int | None:
    ok = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MANY
    return value if ok else None


def _number(value: Any) -> float | None:
    """A finite number from 0 up, also where it is written as text."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < float("inf") else None


def _dollars(value: Any) -> float | None:
    usd = _number(value)
    return usd if usd is not None and usd < MOST_USD else None


def _clean(value: Any) -> str:
    """Text that UTF-8 can hold: a lone surrogate in an answer must not break a file."""
    text = value if isinstance(value, str) else ""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _label(value: Any) -> str | None:
    return _clean(value)[:200] or None


def _labels(values: list) -> tuple[str, ...]:
    return tuple(filter(None, map(_label, values)))


def _object(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _content(message: dict) -> str:
    content = message.get("content")
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(_clean(_object(part).get("text")) for part in content)
    return _clean(content) or _clean(message.get("refusal"))


def _status_of(error: dict, http_status: int) -> int:
    """The status that counts: newer bodies say it, older ones put it in `code`."""
    for value in (error.get("http_status"), error.get("code")):
        try:
            status = int(value)
        except (TypeError, ValueError, OverflowError):
            continue
        if 400 <= status <= 599:
            return status
    return http_status if http_status >= 300 else 502


def _retry_after(error: dict, headers: Mapping[str, str], now: float) -> float | None:
    from email.utils import parsedate_to_datetime  # slow to load, and rarely asked
    said = [_object(error.get("availability")).get("retry_after"), headers.get("retry-after")]
    for value in said:
        seconds = _number(value)
        if seconds is None and isinstance(value, str):
            try:
                seconds = parsedate_to_datetime(value).timestamp() - now
            except (TypeError, ValueError, OverflowError):
                continue
        if seconds is not None:
            return max(0.0, seconds)
    return None


def _moderated(error: dict) -> bool:
    metadata = _object(error.get("metadata"))
    return bool(metadata.get("reasons") or metadata.get("flagged_input"))


def _read_error(error: dict, exchange: Exchange, seen: Reply, now: float) -> Reading:
    status = _status_of(error, exchange.status or 0)
    words = _clean(error.get("message"))[:300].strip() or f"HTTP {status}"
    retryable = _object(error.get("availability")).get("retryable")
    filtered = status in FILTER_STATUS and CONTENT_FILTER.search(words)
    if filtered or (status == 403 and _moderated(error)):
        return Reading("final", seen._replace(outcome="blocked", message=words))
    reply = seen._replace(outcome="provider_error", message=f"{status}: {words}")
    wrong = 300 <= status < 500 and status not in TRANSIENT_4XX
    if retryable is False or (wrong and retryable is not True):
        hint = FATAL_HINT.get(status)
        return Reading("fatal", reply._replace(message=f"{status}: {words}" + (
            f" ({hint})" if hint else "")))
    return Reading("transient", reply, _retry_after(error, exchange.headers, now))


def _transient(message: str, billable: bool) -> Reading:
    return Reading("transient", Reply("provider_error", message=message), billable=billable)


def _excerpt(text: str) -> str:
    return " ".join(text[:80].split())


def read(exchange: Exchange, now: float | None = None) -> Reading:
    """What an attempt's raw answer means. Never raises on what a server sends."""
    if exchange.status is None:
        return _transient(exchange.error or "no answer", billable=exchange.sent)
    if exchange.error:  # cut off or out of time after the head had arrived
        return _transient(exchange.error, billable=exchange.status < 400)
    now = time.time() if now is None else now
    try:
        data = json.loads(exchange.body)
    except (ValueError, RecursionError):
        data = None
    if exchange.status >= 300:
        error = _object(_object(data).get("error")) or {"message": _excerpt(exchange.body)}
        return _read_error(error, exchange, Reply("provider_error"), now)
    if not isinstance(data, dict):
        return _transient(f"not JSON: {_excerpt(exchange.body)!r}", billable=True)
    if str(exchange.headers.get("x-openrouter-cache-status", "")).upper() == "HIT":
        return _transient("a cached copy, not a new trial", billable=False)
    return _read_completion(data, exchange, now)


def _read_completion(data: dict, exchange: Exchange, now: float) -> Reading:
    usage = _object(data.get("usage"))
    seen = Reply(
        outcome="provider_error",
        prompt_tokens=_whole(usage.get("prompt_tokens")),
        completion_tokens=_whole(usage.get("completion_tokens")),
        reasoning_tokens=_whole(
            _object(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cost_usd=_dollars(usage.get("cost")),
        served_model=_label(data.get("model")),
        provider=_label(data.get("provider")),
        generation_id=_label(data.get("id")),
    )
    if data.get("error"):
        said = data["error"]
        error = said if isinstance(said, dict) else {"message": str(said)}
        return _read_error(error, exchange, seen, now)
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return _transient("no choices in the answer", billable=True)
    if choice.get("error") or choice.get("finish_reason") == "error":
        said = choice.get("error")
        error = said if isinstance(said, dict) else {"message": str(said or "upstream error")}
        return _read_error(error, exchange, seen, now)
    text, finish = _content(_object(choice.get("message"))), _label(choice.get("finish_reason"))
    seen = seen._replace(text=text, finish_reason=finish)
    return Reading("final", seen._replace(outcome=_outcome(text, finish)))


def _outcome(text: str, finish: str | None) -> str:
    if finish == "content_filter":
        return "blocked"
    if finish == "length":
        return "truncated"
    return "ok" if text.strip() else "empty"


# --- reading the side endpoints ----------------------------------------------------------------

def _price(entry: dict, name: str) -> float | None:
    return _dollars(_object(entry.get("pricing")).get(name))


def read_model(entry: dict) -> Model:
    """One entry of GET /models."""
    reasoning = _object(entry.get("reasoning"))
    listed = entry.get("supported_parameters")
    parameters = _labels(listed) if isinstance(listed, list) else None
    efforts = reasoning.get("supported_efforts")
    completion = _price(entry, "completion")
    thought = _price(entry, "internal_reasoning")
    if completion is not None and thought is not None:
        completion = max(completion, thought)
    known = parameters is not None or bool(reasoning)
    priced = completion is not None and _price(entry, "prompt") is not None
    return Model(
        prompt=_price(entry, "prompt"), completion=completion,
        request=_price(entry, "request") or 0.0, parameters=parameters,
        efforts=_labels(efforts) if isinstance(efforts, list) else (),
        reasons=(bool(reasoning) or "reasoning" in (parameters or ())) if known else None,
        mandatory=reasoning.get("mandatory") is True,
        price_from="catalogue" if priced else "unknown")


def read_catalogue(text: str) -> dict[str, Model]:
    """{model: Model} of GET /models; empty where the answer says nothing usable."""
    try:
        rows = _object(json.loads(text)).get("data")
    except (ValueError, RecursionError):
        return {}
    rows = rows if isinstance(rows, list) else []
    return {_clean(row["id"]): read_model(row) for row in rows
            if isinstance(row, dict) and isinstance(row.get("id"), str)}


def read_balance(text: str) -> float | None:
    """Dollars left on the key, of GET /key; None where unlimited or unknown."""
    try:
        data = _object(_object(json.loads(text)).get("data"))
    except (ValueError, RecursionError):
        return None
    return _dollars(data.get("limit_remaining"))
