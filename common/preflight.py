"""Before the first paid call: what is known of each model, which upstream is asked, what is wrong.

Pure functions over what a provider's lists say. A problem ends the run before anything is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from common import Incomplete, ProviderRefused, UsageError, wire
from common.wire import Model, Request, Terms, Upstream

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
            name, model, needs, terms, catalogue.dialect)))


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
