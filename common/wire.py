"""What is asked and what comes back, as data; a request's JSON body and what it may cost.

Pure functions, no I/O. Facts about the API: OpenRouter's public documentation, OpenAPI description
and SDK (autumn 2026). What a raw answer means is read in `reading.py`.
"""

import json
from collections.abc import Mapping
from itertools import cycle
from typing import Any, NamedTuple

from common import EFFORTS
from common.artifacts import sha256

FINAL_OUTCOMES = ("ok", "empty", "truncated", "blocked")
PAID_OUTCOMES = ("ok", "empty", "truncated")  # such an answer tells what a call costs
UNANSWERED = ("provider_error", "not_run")  # asked again by the next start
OUTCOMES = (*FINAL_OUTCOMES, *UNANSWERED)

MIN_CAP = 16  # some upstreams refuse a smaller output limit with a 400
ALWAYS_REASONING = ("gpt-5", "o1", "o3", "o4")  # where no catalogue says so
# Tokens a model may think before it speaks, by effort. An effort is turned into a share of the
# output limit (.1 .2 .5 .8 .95 .95), at least 1024 where the upstream takes a budget; upstreams
# that take the word alone spend a few hundred at minimal and five figures from high on.
HEADROOM = dict(
    zip(EFFORTS, (0, 1024, 2048, 8192, 16_384, 32_768, 32_768), strict=True)
)
MOST_USD = 1e9  # no price and no bill; sums below it stay finite
TEMPLATE_TOKENS = 32  # chat template around a message, counted generously


class Request(NamedTuple):
    """One chat completion. `max_out` is the visible output wanted, in tokens; `examples` stand
    between `system` and `user`: what is asked, what is answered, and again."""

    id: str
    stage: str
    model: str
    system: str
    user: str
    max_out: int
    temperature: float | None = None
    seed: int | None = None
    effort: str | None = None
    examples: tuple[str, ...] = ()

    @property
    def texts(self) -> str:
        """All that the model reads."""
        return "".join((self.system, *self.examples, self.user))

    @property
    def block(self) -> str:
        """What its id begins with: calls that differ in nothing but what is compared."""
        return self.id.rpartition("/")[0] or self.id

    def sha256(self) -> str:
        """Identity of the question: the same id with another hash is another experiment."""
        fields = self if self.examples else self[:-1]  # as before requests had examples
        return sha256(json.dumps(fields, ensure_ascii=True, separators=(",", ":")))


def run_of(name: str) -> str:
    """The run that a call belongs to by its id, where several are asked together."""
    return name.partition("/")[0]


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
    reasoning: str = ""  # the text of the thoughts, where it is shown
    quantization: str | None = None  # of the upstream that was asked for
    final: bool = False  # of a provider_error: no other attempt would change it

    @property
    def account(self) -> dict[str, Any]:
        """Who answered and what it took, for a row."""
        return {
            "served_model": self.served_model,
            "provider": self.provider,
            "tokens": {
                "prompt": self.prompt_tokens,
                "output": self.completion_tokens,
                "reasoning": self.reasoning_tokens,
            },
            "cost_usd": self.cost_usd,
        }

    @property
    def beside(self) -> dict[str, str]:
        """What only some answers have, for a row of the trial."""
        extras = {"reasoning": self.reasoning, "quantization": self.quantization}
        return {key: value for key, value in extras.items() if value}


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


def no_answer(seconds: float) -> Exchange:
    """What comes of a call that takes longer than that."""
    return Exchange(None, {}, "", f"no complete answer within {seconds:g} s", seconds)


class Reading(NamedTuple):
    """`kind`: final (an outcome of the trial), transient (ask again) or fatal (stop the run).

    `wait` seconds were asked for by the server. `limit`: "in_flight" (too much at once for the
    account) or "daily" (nothing more today). `error_type`: as the server names it, else the status.
    """

    kind: str
    reply: Reply
    wait: float | None = None
    billable: bool = False  # may have been billed although no usage came back
    limit: str = ""
    error_type: str = ""


class Upstream(NamedTuple):
    """One endpoint of a model: what `only` takes, the name in answers, the precision."""

    tag: str
    name: str = ""
    quantization: str | None = None


class Terms(NamedTuple):
    """How a run wants to be answered. `effort` None: the least that a model takes. `pin`: "auto",
    an upstream, or None. `resolved`: the upstreams of an earlier start, by model. `needs`: other
    parameters that are sent."""

    effort: str | None = None
    pin: str | None = None
    resolved: Mapping[str, Upstream] = {}
    needs: tuple[str, ...] = ()


class Model(NamedTuple):
    """What is known of a model. Prices in dollars per token (per call for `request`)."""

    prompt: float | None = None
    completion: float | None = None
    request: float = 0.0
    parameters: tuple[str, ...] | None = None
    efforts: tuple[str, ...] = ()
    reasons: bool | None = None  # None: unknown
    mandatory: bool = False  # reasoning can't be switched off
    price_from: str = "unknown"  # "catalogue", "configuration" or "unknown"
    canonical: str | None = None  # the dated name
    context: int | None = None  # tokens of prompt and output together
    most_out: int | None = None  # tokens of output at most
    expires: str | None = None  # YYYY-MM-DD
    upstream: Upstream | None = None  # the only one to be asked

    @property
    def priced(self) -> bool:
        return self.prompt is not None and self.completion is not None

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """Dollars of one call, None where a price is unknown."""
        if not self.priced:
            return None
        return (
            self.request
            + self.prompt * prompt_tokens
            + self.completion * completion_tokens
        )


def cost_of(reply: Reply, model: Model) -> float | None:
    """Dollars of a reply: as the server says, else by its tokens, None where unknown."""
    tokens = reply.prompt_tokens, reply.completion_tokens
    if reply.cost_usd is not None or None in tokens:
        return reply.cost_usd
    usd = model.cost(*tokens)
    return usd if usd is not None and usd < MOST_USD else None


def as_model(entry: Mapping) -> Model:
    """A price entry as a Model, dollars a million tokens → dollars a token."""
    return Model(
        prompt=entry["prompt"] / 1e6,
        completion=entry["completion"] / 1e6,
        request=float(entry.get("request", 0.0)),
        price_from="configuration",
    )


def supports(model: Model, parameter: str) -> bool:
    """Whether to send `parameter`: yes where nothing is known."""
    return model.parameters is None or parameter in model.parameters


def thinks(request: Request, model: Model) -> bool:
    """Whether the model will reason before it answers."""
    if model.reasons is None:
        name = request.model.rsplit("/", 1)[-1]
        return request.effort not in (None, "none") or name.startswith(ALWAYS_REASONING)
    return model.mandatory or (model.reasons and request.effort not in (None, "none"))


def effort(request: Request, model: Model) -> str | None:
    """The effort that is asked for: the request's, else the least that the model takes."""
    if request.effort is not None:
        return request.effort if model.reasons is not False else None
    if not thinks(request, model):
        return "none" if model.reasons else None
    offered = model.efforts or EFFORTS
    return next((each for each in EFFORTS[1:] if each in offered), None)


def headroom(request: Request, model: Model) -> int:
    """Tokens that the model may think with before it answers."""
    return (
        HEADROOM[effort(request, model) or "minimal"] if thinks(request, model) else 0
    )


def output_cap(request: Request, model: Model) -> int:
    """Tokens the server may produce: what we want to see, and head-room for reasoning."""
    cap = max(MIN_CAP, request.max_out) + headroom(request, model)
    return min(cap, model.most_out) if model.most_out else cap


def body(
    request: Request, model: Model, dialect: str, routing: Mapping | None = None
) -> dict:
    """The JSON body. `dialect`: "openrouter", "openai" or "compatible" (any other server)."""
    cap = output_cap(request, model)
    out: dict[str, Any] = {
        "model": request.model,
        "messages": [
            {"role": role, "content": text}
            for role, text in (
                ("system", request.system),
                *zip(cycle(("user", "assistant")), request.examples),
                ("user", request.user),
            )
            if text
        ],
    }
    # An upstream that is pinned is asked for nothing that it does not list.
    old_limit_only = model.upstream is not None and not supports(
        model, "max_completion_tokens"
    )
    if not old_limit_only:
        out["max_completion_tokens"] = cap
    if old_limit_only or dialect == "compatible":
        out["max_tokens"] = cap  # llama.cpp and Ollama know only the older name
    for name in ("temperature", "seed"):
        value = getattr(request, name)
        if value is not None and supports(model, name):
            out[name] = value
    level = effort(request, model)
    if dialect == "openrouter":
        if level is not None and supports(model, "reasoning"):
            out["reasoning"] = {"effort": level}
        out["plugins"] = [{"id": name, "enabled": False} for name in PLUGINS]
        out["session_id"] = request.block[:256]
        if provider := {**(routing or {}), **_pinned(model)}:
            out["provider"] = provider
    elif request.effort is not None or (dialect == "openai" and thinks(request, model)):
        out["reasoning_effort"] = level
    return out


# What an account may have switched on for all its calls: each would change text or subject.
PLUGINS = ("context-compression", "response-healing", "web")


def _pinned(model: Model) -> dict[str, Any]:
    """One upstream, at one precision, for no more than is reserved."""
    upstream = model.upstream
    if upstream is None:
        return {}
    out: dict[str, Any] = {
        "only": [upstream.tag],
        "allow_fallbacks": False,
        "require_parameters": True,
    }
    if upstream.quantization:
        out["quantizations"] = [upstream.quantization]
    if model.priced:
        out["max_price"] = {
            "prompt": float(f"{model.prompt * 1e6:.9g}"),
            "completion": float(f"{model.completion * 1e6:.9g}"),
            "request": model.request,
        }
    return out


def precision(sent: Mapping[str, Any]) -> str | None:
    """The quantisation that a body pins its answer to."""
    listed = (
        sent["provider"].get("quantizations")
        if isinstance(sent.get("provider"), dict)
        else 0
    )
    return str(listed[0]) if isinstance(listed, list) and len(listed) == 1 else None


def worst_case(request: Request, model: Model, fallback: Model) -> float:
    """Dollars this call can't exceed: a token is at least one byte, the output at most its cap."""
    prompt = len(request.texts.encode()) + TEMPLATE_TOKENS * (2 + len(request.examples))
    price = model if model.priced else fallback
    return price.cost(prompt, output_cap(request, model))


def expected_cost(request: Request, model: Model, fallback: Model) -> float:
    """Dollars this call probably costs: four bytes a token, the whole visible output."""
    prompt = len(request.texts.encode()) / 4
    price = model if model.priced else fallback
    # Thoughts were seen to take a fraction of the head-room; a quarter is a guess upwards.
    return price.cost(prompt, request.max_out + headroom(request, model) / 4)
