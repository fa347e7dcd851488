"""The tournament's configuration file, checked, and the identity of a run made of it.

`load` reads `config/experiment.config.json` (the specification's format, section 13, and the keys
added to it) under a file given by hand; `run_config` is what one run of it is.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cirrus.game import BASELINES
from cirrus.prompt_files import FOLDERS, LEVELS, TELLS
from cirrus.scenario import LABEL_SCHEMES, ORDERS
from common import config as c
from common.exits import UsageError
from common.study import EFFORTS

DEFAULT = Path(__file__).resolve().parents[1] / "config" / "experiment.config.json"
MAX_OUT = {"strategy": 384, "decision": 96}
# Below these the form itself does not fit: every answer would be cut off.
LEAST_OUT = {"strategy": 64, "decision": 32}
VOICE = {"name": lambda v: None if isinstance(v, str) and v.strip() else "must be a model's name",
         "max_out": c.whole(1, 32_000),
         "reasoning_effort": lambda v: None if v is None else c.one_of(*EFFORTS)(v)}


def _some_of(known: Iterable[str], empty: bool = False) -> c.Check:
    known = tuple(known)

    def check(value: Any) -> str | None:
        if empty and value == []:
            return None
        fault = c.names(value)
        wrong = [v for v in value if v not in known] if not fault else []
        return fault or (f"knows no {wrong[0]!r} ({c.nearest(wrong[0], known)}), "
                         f"only {', '.join(known)}" if wrong else None)
    return check


def seeds(value: Any) -> str | None:
    """A list of different whole numbers from 0."""
    if not isinstance(value, list) or not value:
        return "must be a list with at least one seed"
    if any(map(c.seed, value)):
        return "must hold whole numbers from 0, of at most 18 digits"
    return None if len(set(value)) == len(value) else "names one seed twice"


def _voices(value: Any) -> str | None:
    """A model {name, max_out, reasoning_effort}, or a list of them."""
    listed = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(voice, dict) for voice in listed):
        return "must be an object {name, max_out}, or a list of such objects"
    for voice in listed:
        for key, item in voice.items():
            if key not in VOICE:
                return f"knows no {key!r} ({c.nearest(key, VOICE)})"
            if fault := VOICE[key](item):
                return f"{key} {fault}"
        if "name" not in voice:
            return "needs a name"
    return None


# What a run of a plan may set for itself.
RUN_CHECKS: dict[str, c.Check] = {
    "agents": c.whole(2, 1000), "rounds": c.whole(1, 1000), "domain": c.one_of(*FOLDERS),
    **{f"toggles.{factor}": c.one_of(*levels) for factor, levels in LEVELS.items()},
    "games_per_pair": c.whole(1, 100), "baselines": _some_of(BASELINES, empty=True),
    "tells": c.one_of(*TELLS), "variants": c.one_of("main", "holdout"),
}
RANDOMIZATION: dict[str, c.Check] = {
    "label_schemes": _some_of(LABEL_SCHEMES), "option_order": c.one_of("random", *ORDERS),
    "history_mode": c.one_of("standard", "off"),
}
CHECKS: dict[str, c.Check] = RUN_CHECKS | {
    **{f"randomization.{key}": check for key, check in RANDOMIZATION.items()},
    "randomization.seeds": seeds, "models.strategy": _voices, "models.decision": _voices,
    "temperature": lambda v: None if v is None else c.number(0, 2)(v),
    "respondents": c.names, "cost.limit_usd": c.number(0, 1e6),
    "cost.plan_limit_usd": c.number(0, 1e7),
    "concurrency.strategy": c.whole(1, 512), "concurrency.decision": c.whole(1, 512),
    "deadline_s": c.number(0.1, 3600), "prices": c.prices, "assumed_price": c.price,
    "routing": c.table,
}
SECTIONS = ("toggles", "randomization", "models", "cost", "concurrency", "prices")


def load(path: Path) -> dict[str, Any]:
    """The project's configuration, under the file at `path`; every key known, every value checked.

    What the file leaves out comes from `config/experiment.config.json`.
    """
    settings = c.load(DEFAULT, CHECKS)
    return settings if Path(path).resolve() == DEFAULT else merged(
        settings, c.load(Path(path), CHECKS))


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `under`; within a section, key by key."""
    return dict(under) | {key: under.get(key, {}) | value if key in SECTIONS else value
                          for key, value in over.items()}


def run_config(settings: Mapping[str, Any], seed: int, models: Mapping[str, list[dict]],
               **own: Any) -> dict[str, Any]:
    """Everything that was chosen for one run, flat; `own` overrides, for a run of a plan."""
    random = settings["randomization"]
    return {
        **{key: settings[key] for key in ("agents", "rounds", "domain", "games_per_pair",
                                          "baselines", "tells", "variants", "temperature")},
        **{key: random[key] for key in RANDOMIZATION},
        "toggles": {factor: settings["toggles"][factor] for factor in LEVELS},
        "seed": seed, "models": {stage: list(voices) for stage, voices in models.items()}, **own}


def voices(settings: Mapping[str, Any], simulated: bool, names: list[str] | None,
           ) -> tuple[dict[str, list[dict]], list[str]]:
    """({stage: voices}, warnings). `names`: decision models (all respondents if simulated)."""
    if names is not None and (not names or len(set(names)) < len(names)):
        raise UsageError("--models: give at least one name, each once")
    out, warnings = {}, []
    for stage, usual in MAX_OUT.items():
        given = settings["models"][stage]
        listed = given if isinstance(given, list) else [given]
        asked = names if simulated or stage == "decision" else None
        if simulated:
            asked = names or settings["respondents"]
        if asked:
            listed = [listed[0] | {"name": name} for name in asked]
        out[stage] = [_voice(voice, stage, usual) for voice in listed]
        warnings += [_too_small(stage, voice) for voice in out[stage][:1]
                     if voice["max_out"] != voice["max_out_configured"]]
    return out, warnings


def _voice(voice: Mapping[str, Any], stage: str, usual: int) -> dict[str, Any]:
    wanted = voice.get("max_out", usual)
    return {"name": voice["name"], "max_out": wanted if wanted >= LEAST_OUT[stage] else usual,
            "max_out_configured": wanted, "effort": voice.get("reasoning_effort")}


def _too_small(stage: str, voice: Mapping[str, Any]) -> str:
    return (f"models.{stage}.max_out: {voice['max_out_configured']} tokens are too small for the "
            f"answer that is asked for; {voice['max_out']} are used")


def check_run(config: Mapping[str, Any], bulletins: int) -> None:
    """UsageError where a run's sizes don't go together."""
    if config["rounds"] > bulletins:
        raise UsageError(f"rounds: {config['rounds']}, but domain {config['domain']!r} has "
                         f"{bulletins} bulletins; give --rounds {bulletins} or fewer")
