"""What is asked and what comes back, as data; a request's JSON body and what it may cost.

Pure functions, no I/O. Facts about the API: OpenRouter's public documentation and OpenAPI
description (autumn 2026). What a raw answer means is read in `reading.py`.
"""

import json
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
