"""Before the first paid call: what is known of each model, which upstream is asked, what is wrong.

Pure functions over what a provider's lists say, but for `way_of`, which asks through `post`. A
problem ends the run before anything is asked.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from common import Incomplete, ProviderRefused, UsageError, wire
from common.reading import SAME, read, steps
from common.wire import (
    COMPLETIONS,
    CONTINUE,
    MOST_TOP,
    REPLY,
    WAYS,
    Exchange,
    Model,
    Request,
    Terms,
    Upstream,
    Way,
    read_body,
)

AUTO = "auto"
# Bits of a weight, by the name of the precision; unknown ones come last.
BITS = {"fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "mxfp8": 8, "fp6": 6, "fp4": 4,
        "int4": 4, "mxfp4": 4, "nvfp4": 4}


@dataclass
class Catalogue:
    """What a provider says of itself before the first call; `models` empty and `limit_remaining`
    None where unknown, `day` the date there, YYYY-MM-DD. `misnamed` (wrong usage) and `problems`
    end the run; `facts` and `notes` are shown."""

    models: dict[str, Model] = field(default_factory=dict)
    limit_remaining: float | None = None
    dialect: str = ""
    day: str = ""
    unreachable: str = ""
    misnamed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def refuse(catalogue: Catalogue) -> None:
    """Nothing was asked yet: all problems in one line, as UsageError where only names are wrong,
    else as ProviderRefused (Incomplete where the provider just can't be reached)."""
    if catalogue.unreachable:
        raise Incomplete(catalogue.unreachable)
    found = "; ".join([*catalogue.problems, *catalogue.misnamed])
    if found:
        kind = ProviderRefused if catalogue.problems else UsageError
        raise kind(f"before the first call: {found}")


def learn(model: Model, configured: Model | None) -> Model:
    """A listed model; the configured price counts where the list has none."""
    if configured is None or model.priced:
        return model
    return model._replace(prompt=configured.prompt, completion=configured.completion,
                          request=configured.request, price_from=configured.price_from)


# --- upstreams ---------------------------------------------------------------------------------

def pin(name: str, model: Model, endpoints: Sequence[Model], needs: Sequence[str], terms: Terms,
        catalogue: Catalogue) -> Model:
    """`model` as the one upstream serves it that `terms` ask for; else at the dearest price that
    any of them may charge."""
    if terms.pin is None or catalogue.dialect != "openrouter":
        return dearest(model, endpoints)
    needed = [*needs, *(["reasoning"] if terms.effort not in (None, "none") else [])]
    chosen = choose(name, endpoints, needed, terms)
    if isinstance(chosen, str):
        catalogue.misnamed.append(chosen)
        return model
    return served_by(chosen, model)


def served_by(endpoint: Model, model: Model) -> Model:
    """What an endpoint says of itself, over what is said of the model."""
    known = {name: value for name in ("prompt", "completion", "request", "parameters", "context",
                                      "most_out", "upstream")
             if (value := getattr(endpoint, name)) is not None}
    return model._replace(**known)


def dearest(model: Model, endpoints: Sequence[Model]) -> Model:
    priced = [each for each in (model, *endpoints) if each.priced]
    if not model.priced or model.price_from != "catalogue":
        return model
    return model._replace(**{name: max(getattr(each, name) for each in priced)
                             for name in ("prompt", "completion", "request")})


def choose(name: str, endpoints: Sequence[Model], needed: Sequence[str],
           terms: Terms) -> Model | str:
    """The endpoint to ask, or why there is none: that of an earlier start; else of those that
    take what is asked (and have the name) one of the highest precision, then the cheapest."""
    before = terms.resolved.get(name)
    if before is not None:
        again = [each for each in endpoints if each.upstream[::2] == before[::2]]
        return again[0] if again else (
            f"--pin: {name}: the run's upstream {before.tag!r} is no longer offered; use another "
            "--run-id")
    tags = [each.upstream.tag for each in endpoints]
    if not tags:
        return f"--pin: {name}: the server lists no upstreams; leave the flag out"
    named = [each for each in endpoints if terms.pin == AUTO or _is(each.upstream, terms.pin)]
    if not named:
        return f"--pin: {name}: no upstream {terms.pin!r}; {near(terms.pin, tags)}"
    able = [each for each in named if all(wire.supports(each, need) for need in needed)]
    if not able:
        return (f"--pin: {name}: no such upstream takes {' and '.join(needed)}; offered are "
                f"{', '.join(tags)}")
    return min(able, key=lambda each: (
        -BITS.get(each.upstream.quantization or "", 0), not wire.supports(each, "seed"),
        each.cost(1, 1) if each.priced else wire.MOST_USD, each.upstream.tag))


def _is(upstream: Upstream, pin: str) -> bool:
    return pin in (upstream.tag, upstream.name) or upstream.tag.startswith(f"{pin}/")


def near(name: str, known: Sequence[str]) -> str:
    """ "did you mean …?", or some of what there is."""
    close = get_close_matches(name, known, 3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are {', '.join(sorted(known)[:5])}" + (" …" if len(known) > 5 else "")


# --- what is wrong, and what is worth knowing --------------------------------------------------

def check(models: Sequence[str], known: Mapping[str, Model], needs: Sequence[str], terms: Terms,
          catalogue: Catalogue, complete: bool) -> None:
    """Problems, notes and a line of facts a model. `complete`: who is not listed is not served."""
    if not catalogue.models and not catalogue.problems:
        catalogue.notes.append("the server has no usable list of models: prices, limits and "
                               "parameters unknown")
    for name in models:
        model = known.get(name, Model())
        if catalogue.models and name not in catalogue.models:
            line = (f"model {name!r} is not in the server's list; "
                    f"{near(name, list(catalogue.models))}")
            # Elsewhere a proxy may serve what it does not list; the server will say.
            (catalogue.misnamed if complete else catalogue.notes).append(line)
            continue
        if fault := _effort_fault(name, model, terms.effort):
            catalogue.misnamed.append(fault)
        if model.expires and model.expires < catalogue.day:
            catalogue.misnamed.append(f"model {name!r} was withdrawn on {model.expires}")
        if not model.priced:
            catalogue.notes.append(f"{name}: no price known; the budget reserves at the assumed "
                                   "price")
        catalogue.facts.append(f"{name}: " + " · ".join(facts(
            name, model, needs_of(name, needs, terms), terms, catalogue.dialect)))


def _effort_fault(name: str, model: Model, effort: str | None) -> str | None:
    if effort is None or model.reasons is False:
        return None
    if effort == "none" and model.mandatory:
        return f"--effort: {name} always reasons; it takes {', '.join(model.efforts) or 'others'}"
    if effort != "none" and model.efforts and effort not in model.efforts:
        return f"--effort: {name} does not take {effort!r}; it takes {', '.join(model.efforts)}"
    return None


def facts(name: str, model: Model, needs: Sequence[str], terms: Terms, dialect: str) -> list[str]:
    """What is worth knowing of a model before it is asked."""
    probe = Request("", "", name, "", "", wire.MIN_CAP, effort=terms.effort)
    sent = wire.body(probe, model, dialect)
    effort = sent.get("reasoning", {}).get("effort") or sent.get("reasoning_effort")
    unsent = [need for need in needs if not wire.supports(model, need)]
    if terms.effort not in (None, "none") and effort is None:
        unsent.append("effort")
    dear = (f"${model.prompt * 1e6:g} and ${model.completion * 1e6:g} a million tokens "
            f"({model.price_from})" if model.priced else "")
    said = [model.canonical if model.canonical != name else "",
            f"context {model.context:,}" if model.context else "", dear,
            f"effort {effort}" if effort else "effort not sent",
            f"not sent: {', '.join(unsent)}" if unsent else "", _route(model, dialect),
            f"withdrawn from {model.expires}" if model.expires else ""]
    return [part for part in said if part]


def needs_of(name: str, needs: Sequence[str], terms: Terms) -> tuple[str, ...]:
    """What one model must take: log-probabilities only where its are read."""
    read = terms.read is None or name in terms.read
    return tuple(need for need in needs if read or need not in wire.READING)


def unread(name: str, model: Model, effort: str | None, way: Way | None) -> str | None:
    """Why probabilities of a model's labels can't be read; None where they can. A model that
    reasons decides before its first token."""
    probe = Request("", "", name, "", "", wire.MIN_CAP, effort=effort)
    if wire.thinks(probe, model) or (model.reasons and effort is None):
        return (f"--read probability: {name} reasons before it answers; "
                + ("use --read text" if model.mandatory else
                   "add --effort none (a study of its own), or use --read text"))
    if way is None:
        return f"--read probability: {name}: its server gives no log-probabilities; use --read text"
    return None


def _route(model: Model, dialect: str) -> str:
    if dialect != "openrouter":
        return "one server, upstream unnamed"
    if model.upstream:
        precision = model.upstream.quantization
        return f"upstream {model.upstream.tag}" + (f" ({precision})" if precision else "")
    return "any upstream (--pin auto keeps to one)"


def resolved(provider: Any) -> dict[str, Upstream]:
    """The upstreams that a manifest's `provider` tells of, by model."""
    models = provider.get("models", {}) if isinstance(provider, Mapping) else {}
    return {name: Upstream(*(known["upstream"][name] for name in Upstream._fields))
            for name, entry in models.items()
            if (known := entry.get("known", {})).get("upstream")}


def fixed(manifest: Mapping[str, Any]) -> bool:
    """Whether one upstream a model answered a run, by its manifest. A server that routes nothing
    has but one."""
    identity, provider = manifest["identity"], manifest.get("provider")
    config = identity["config"]
    routing = config.get("routing") or identity.get("routing") or {}
    return (not isinstance(provider, Mapping) or provider.get("dialect") != "openrouter"
            or bool(config.get("pin") or identity.get("pin"))
            or (routing.get("allow_fallbacks") is False and len(routing.get("only") or []) == 1))


# --- how probabilities are read: asked once ---

TOPS = (MOST_TOP, 5)  # what a server is asked for, in turn
Post = Callable[[str, dict], Exchange]
# With a system message: a template may put in one of its own where there is none.
SAYING = ({"role": "system", "content": "You write full sentences."},
          {"role": "user", "content": "Write a sentence about rain."})
BEGUN = "The"   # one token of most vocabularies, after which hardly a model ends its turn
WARM = 20       # samples: one that ends at once tells no probabilities, on some servers
AGAIN_S = (1.0, 2.0)    # after an error of the server's own
CHAT = "/chat/completions"


class Unheard(Exception):
    """A question without an answer: nothing follows from it."""


def way_of(post: Post, model: str, sleep: Callable[[float], None] = time.sleep) -> Way | None:
    """The best way that a server has, found by asking; None where it gives no log-probabilities.

    A turn counts as opened where the server counts one more token for one more word (who ignores
    the flags, or has another template, counts more) and then goes on otherwise than it would begin.
    Raises Unheard where a question is not answered, so that nothing can be told.
    """
    ask = {"model": model, "messages": list(SAYING), "max_tokens": 1, "temperature": 0}

    def plain() -> dict:
        asked = _asked(post, CHAT, ask)
        if asked.why:
            raise Unheard(asked.why)
        return asked.data

    def tried(path: str, body: dict) -> dict:
        """{} where the server says that it can't, or fails at this and at nothing else."""
        for wait in (*AGAIN_S, 0.0):
            asked = _asked(post, path, body)
            if asked.kind != "transient":
                return asked.data
            if asked.status < 500:
                raise Unheard(asked.why)
            sleep(wait)
        plain()
        return {}

    size = _prompt_tokens(plain())
    reply = _first(tried(CHAT, read_body(ask, Way(REPLY, MOST_TOP), "", 1)))
    for name, path in ((CONTINUE, CHAT), (COMPLETIONS, "/completions")):
        for top in TOPS:
            body = read_body(ask, Way(name, top), BEGUN, 1)
            told = tried(path, body)
            cold = _first(told)
            if not cold:
                continue
            if size is None or _prompt_tokens(told) != size + 1 or (reply and _same(reply, cold)):
                break
            if _same(cold, _warm(tried, path, body)):
                return Way(name, top)
            break
    return Way(REPLY, MOST_TOP) if reply else None


class Asked(NamedTuple):
    """A question's answer as `reading.read` sees it: its kind and HTTP status (0: none), its data
    where it is an answer, else why not."""

    kind: str
    status: int
    data: dict[str, Any]
    why: str = ""


def _asked(post: Post, path: str, body: dict) -> Asked:
    answer = post(path, body)
    reading, status = read(answer), answer.status or 0
    if reading.kind == "final" and reading.reply.outcome != "provider_error":
        return Asked("final", status, json.loads(answer.body))
    return Asked(reading.kind, status, {}, reading.reply.message or f"status {status}")


def same_ways(client: Mapping[str, str], manifests: Sequence[Mapping[str, Any]]) -> None:
    """`client`: {model: the way it is read now}. UsageError where answers that are kept were read
    in another one: a run has one."""
    for manifest in manifests:
        models = (manifest.get("provider") or {}).get("models", {})
        for name, now in client.items():
            before = models.get(name, {}).get("known", {}).get("way")
            if before and now != before:
                raise UsageError(
                    f"{name}: this run was begun where {WAYS[before]}, and now "
                    f"{WAYS.get(now, 'its probabilities are not told')}; serve it as before, or "
                    "give another --run-id")


def _prompt_tokens(data: Mapping) -> int | None:
    usage = data.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    return tokens if isinstance(tokens, int) else None


def _first(data: Mapping) -> dict[str, float]:
    """The distribution of the first token."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    read = steps(choice.get("logprobs")) if isinstance(choice, Mapping) else ()
    return read[0][1] if read and len(read[0][1]) > 1 else {}


def _warm(tried: Callable[[str, dict], dict], path: str, body: Mapping) -> dict[str, float]:
    """What the first token's distribution is said to be where it is sampled; {} if nothing is."""
    for seed in ({}, *({"seed": seed} for seed in range(1, WARM))):
        if not (told := tried(path, {**body, "temperature": 1, **seed})):
            break    # it takes no seed
        if found := _first(told):
            return found
    return {}


def _same(cold: Mapping[str, float], warm: Mapping[str, float]) -> bool:
    """Whether temperature leaves the probabilities as they are."""
    best = max(cold, key=cold.__getitem__)
    return best in warm and abs(cold[best] - warm[best]) <= SAME
