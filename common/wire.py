"""The data of a call: what is asked, what comes back, the JSON body of a request, and
what it may cost.

These functions are pure, without input or output. Facts about the API follow
OpenRouter's public documentation, OpenAPI description and SDK (autumn 2026).
`reading.py` reads the raw answers.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from common.artifacts import sha256

FINAL_OUTCOMES = ("ok", "empty", "truncated", "blocked")
PAID_OUTCOMES = ("ok", "empty", "truncated")  # such an answer tells what a call costs
UNANSWERED = ("provider_error", "not_run")  # asked again by the next start
OUTCOMES = (*FINAL_OUTCOMES, *UNANSWERED)

WARMUP = "warmup"  # the stage of calls that are no trials
UNREAD_FORM = (
    "its answers to two warm-up calls can't be read"  # so a model is set aside
)
MIN_CAP = 16  # some upstreams refuse a smaller output limit with a 400
MOST_ROOM = 65_536  # tokens of output that the warm-up tries at most
GROWTH = (
    4  # the warm-up widens the room by it, and leaves so many times what an answer took
)
MOST_USD = 1e100  # no price and no bill; sums below it stay finite
TEMPLATE_TOKENS = 32  # chat template around a message, counted generously
# What an account may have switched on for all its calls: each would change text or subject.
PLUGINS = ("context-compression", "response-healing", "web")
# The names of the output limit by dialect: OpenRouter and OpenAI know the newer one, llama.cpp
# and Ollama the older one alone. Journals of version 0.1 say "compatible": both were sent.
LIMIT_NAMES = {
    "openrouter": ("max_completion_tokens",),
    "openai": ("max_completion_tokens",),
    "chat": ("max_tokens",),
    "compatible": ("max_completion_tokens", "max_tokens"),
}


class Request(NamedTuple):
    """One chat completion. `max_out` is the visible output wanted, in tokens.
    `examples` are texts between `system` and `user`, in turns: a question, the answer
    to it, and so on."""

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
        """Return all text that the model reads."""
        return "".join((self.system, *self.examples, self.user))

    @property
    def block(self) -> str:
        """Return the first part of the id, which is the same for calls that differ only
        in what is compared."""
        return self.id.rpartition("/")[0] or self.id

    @property
    def prepares(self) -> str:
        """Return the stage that a warm-up call prepares, or else the call's own
        stage."""
        if self.stage != WARMUP:
            return self.stage
        return stage_of(self.id)

    def sha256(self) -> str:
        """Return the hash of the question. A call with the same id and another hash
        belongs to another experiment."""
        fields = self if self.examples else self[:-1]  # as before requests had examples
        return sha256(json.dumps(fields, ensure_ascii=True, separators=(",", ":")))


def stage_of(warmup_id: str) -> str:
    """Return the stage that a warm-up call prepares: "decision" for
    "warmup/m/decision/1"."""
    return warmup_id.split("/")[-2]


def run_of(name: str) -> str:
    """Return the run that a call belongs to by its id, when several runs are asked
    together."""
    return name.partition("/")[0]


class Reply(NamedTuple):
    """What the experiment may see of an answer. An unknown value is None, never a
    guess."""

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
    final: bool = False  # of a provider_error: no other attempt would change it

    @property
    def account(self) -> dict[str, Any]:
        """Return who answered and what it took, for a row of data."""
        tokens = {
            "prompt": self.prompt_tokens,
            "output": self.completion_tokens,
            "reasoning": self.reasoning_tokens,
        }
        return {
            "served_model": self.served_model,
            "provider": self.provider,
            "tokens": tokens,
            "cost_usd": self.cost_usd,
        }

    @property
    def beside(self) -> dict[str, str]:
        """Return the fields that only some answers have, for the row of the trial."""
        return {"reasoning": self.reasoning} if self.reasoning else {}


NOT_RUN = Reply("not_run")


class Exchange(NamedTuple):
    """The raw answer to one attempt. `status` is None if no HTTP answer arrived.

    `sent` is False if no connection was made, so that nothing can have been billed.
    """

    status: int | None
    headers: dict[str, str]
    body: str
    error: str = ""
    latency_s: float = 0.0
    sent: bool = True


def no_answer(seconds: float) -> Exchange:
    """Return the Exchange of a call that took longer than `seconds`."""
    return Exchange(
        None, {}, "", f"no complete answer within {seconds:g} s", latency_s=seconds
    )


class Reading(NamedTuple):
    """What a raw answer means. `kind` is "final" (an outcome of the trial), "transient"
    (ask again) or "fatal" (the model would answer no other prompt either).

    `wait` is the number of seconds that the server asks to wait. `limit` is "in_flight"
    (too many calls at once for the account) or "daily" (no more calls today).
    `error_type` is the server's name of the error, or else the status.
    """

    kind: str
    reply: Reply
    wait: float | None = None
    billable: bool = False  # may have been billed although no usage came back
    limit: str = ""
    error_type: str = ""


class Model(NamedTuple):
    """What is known of a model. Prices are in dollars per token (per call for
    `request`)."""

    prompt: float | None = None
    completion: float | None = None
    request: float = 0.0
    parameters: tuple[str, ...] | None = None
    efforts: tuple[str, ...] = ()
    reasons: bool | None = None  # None: unknown
    mandatory: bool = False  # reasoning can't be switched off
    price_from: str = "unknown"  # "catalogue", "configuration", "loopback" or "unknown"
    canonical: str | None = None  # the dated name
    context: int | None = None  # tokens of prompt and output together
    most_out: int | None = None  # tokens of output at most
    expires: str | None = None  # YYYY-MM-DD
    default_effort: str | None = None  # what it does where no effort is sent

    @property
    def priced(self) -> bool:
        return self.prompt is not None and self.completion is not None

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """Return the dollars of one call, or None if a price is unknown."""
        if self.prompt is None or self.completion is None:
            return None
        tokens = self.prompt * prompt_tokens + self.completion * completion_tokens
        return self.request + tokens

    def takes(self, parameter: str) -> bool:
        """Whether to send `parameter`; it is sent if nothing is known about it."""
        return self.parameters is None or parameter in self.parameters


FREE = Model(prompt=0.0, completion=0.0, price_from="simulated")


def as_model(entry: Mapping[str, Any]) -> Model:
    """Return a price entry as a Model, converting dollars per million tokens to dollars
    per token."""
    return Model(
        prompt=entry["prompt"] / 1e6,
        completion=entry["completion"] / 1e6,
        request=float(entry.get("request", 0.0)),
        price_from="configuration",
    )


# --- what the warm-up has taught of a model at a stage ------------------------------------------


class Adapted(NamedTuple):
    """How a model's requests differ from the usual form.

    `left_out` are parameters that the server refused. `limit` is the name of the output
    limit, if the usual name was refused. `asked` is the limit that the stage asks for,
    and `room` the limit that is sent, or 0 if that is `asked`. `took` is the largest
    number of output tokens of a warm-up answer.
    """

    left_out: tuple[str, ...] = ()
    limit: str = ""
    asked: int = 0
    room: int = 0
    took: int = 0


PLAIN = Adapted()


def without(adapted: Adapted, refused: str) -> Adapted | None:
    """Return how a model is asked without a parameter that it refused. If it refused the
    output limit, the limit gets its other name. Return None if that was tried before."""
    if refused not in LIMIT_NAMES["compatible"]:
        if refused in adapted.left_out:
            return None
        return adapted._replace(left_out=(*adapted.left_out, refused))
    if adapted.limit:
        return None
    [other] = (name for name in LIMIT_NAMES["compatible"] if name != refused)
    return adapted._replace(limit=other)


def asked(adapted: Adapted, sent: Mapping[str, Any]) -> Adapted:
    """Return the form with the stage's own limit, which is the limit in the first body
    sent."""
    if adapted.asked:
        return adapted
    limits = [sent[name] for name in LIMIT_NAMES["compatible"] if name in sent]
    return adapted._replace(asked=max(limits, default=0))


def widened(adapted: Adapted, model: Model) -> Adapted | None:
    """Return the form with more room for output, or None if there is no more."""
    most = most_room(model)
    now = max(adapted.room, adapted.asked)
    if now >= most:
        return None
    return adapted._replace(room=min(most, now * GROWTH))


def fitted(adapted: Adapted, reply: Reply, model: Model) -> Adapted:
    """Return `adapted` with an output limit several times what the warm-up's answer
    took."""
    if reply.completion_tokens is None:
        return adapted
    took = max(adapted.took, reply.completion_tokens)
    room = min(most_room(model), GROWTH * took)
    if room <= adapted.asked:
        room = 0
    return adapted._replace(took=took, room=room)


def most_room(model: Model) -> int:
    """Return the largest output limit, in tokens, that a model may be given."""
    return min(MOST_ROOM, model.most_out or MOST_ROOM)


# --- the body, and what it may cost -------------------------------------------------------------


def output_cap(request: Request, model: Model, adapted: Adapted = PLAIN) -> int:
    """Return how many tokens the server may produce: those that the study wants to see,
    or those that the warm-up found necessary."""
    cap = max(MIN_CAP, request.max_out, adapted.room)
    return min(cap, model.most_out) if model.most_out else cap


def messages(request: Request) -> list[dict[str, str]]:
    """Return the conversation: the system text, the worked examples in turns, and the
    question."""
    turns = [("system", request.system)]
    for at, text in enumerate(request.examples):
        turns.append(("assistant" if at % 2 else "user", text))
    turns.append(("user", request.user))
    return [{"role": role, "content": text} for role, text in turns if text]


def body(
    request: Request,
    model: Model,
    dialect: str,
    adapted: Adapted = PLAIN,
    upstream: str | None = None,
) -> dict[str, Any]:
    """Return the JSON body of a request. `dialect` is a key of LIMIT_NAMES, and
    `upstream` the only provider that may answer."""
    out: dict[str, Any] = {"model": request.model, "messages": messages(request)}
    names = (adapted.limit,) if adapted.limit else LIMIT_NAMES[dialect]
    for name in names:
        out[name] = output_cap(request, model, adapted)
    for name in ("temperature", "seed"):
        value = getattr(request, name)
        if value is not None and model.takes(name):
            out[name] = value
    if request.effort is not None and model.reasons is not False:
        out |= _effort(request.effort, dialect)
    if dialect == "openrouter":
        out["plugins"] = [{"id": name, "enabled": False} for name in PLUGINS]
        out["session_id"] = request.block[:256]
    if upstream:
        out["provider"] = {"only": [upstream], "allow_fallbacks": False}
    return {name: out[name] for name in out if name not in adapted.left_out}


def _effort(level: str, dialect: str) -> dict[str, Any]:
    if dialect == "openrouter":
        return {"reasoning": {"effort": level}}
    return {"reasoning_effort": level}


def cost_of(reply: Reply, model: Model) -> float | None:
    """Return the dollars of a reply: what the server says, or else what its tokens
    cost. Return None if that is unknown. A server that says 0 is not believed against a
    price in the user's configuration."""
    stated = model.price_from == "configuration" and reply.cost_usd == 0
    if reply.cost_usd is not None and not stated:
        return reply.cost_usd
    if reply.prompt_tokens is None or reply.completion_tokens is None:
        return None
    usd = model.cost(reply.prompt_tokens, reply.completion_tokens)
    return usd if usd is not None and usd < MOST_USD else None


def worst_case(
    request: Request, model: Model, fallback: Model, adapted: Adapted = PLAIN
) -> float:
    """Return the dollars that this call can't exceed: a token is at least one byte, and
    the output at most its limit. `fallback` has the prices that count if the model's
    are unknown."""
    messages_sent = 2 + len(request.examples)
    prompt = len(request.texts.encode()) + TEMPLATE_TOKENS * messages_sent
    return _dollars(model, fallback, prompt, output_cap(request, model, adapted))


def expected_cost(
    request: Request, model: Model, fallback: Model, adapted: Adapted = PLAIN
) -> float:
    """Return the dollars that this call probably costs: it counts four bytes as a
    token, and as output the whole visible output or what the warm-up answer took, if
    that is more."""
    prompt = len(request.texts.encode()) / 4
    return _dollars(model, fallback, prompt, max(request.max_out, adapted.took))


def _dollars(model: Model, fallback: Model, prompt: float, completion: float) -> float:
    """Return the dollars of a call with so many tokens, at the model's prices or else
    at the fallback's."""
    usd = model.cost(prompt, completion)
    if usd is None:
        usd = fallback.cost(prompt, completion)
    assert usd is not None  # assumed prices are all numbers
    return usd
