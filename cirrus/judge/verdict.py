"""The ladder of words: the one function that decides what a study may be called.

    verdict(Findings(effects, models, cells, "20 bulletins of one domain"))["word"]

A word is earned against each rival account by a contrast made for it. Pilot and tournament make
none for what stands in `BEYOND`, so they never reach further than `cue-responsive`; a mechanism
study hands in a `Proof` for each model. Leaving out a check never lets a study say more.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import stats
from cirrus.judge.effects import ALPHA, MIN_BULLETINS, above, below, certain
from show.figures import count, percent, points, span

NOT_EVALUABLE, NOT_SHOWN, CUE_RESPONSIVE, CORRELATION_SENSITIVE = WORDS = (
    "not evaluable", "not shown", "cue-responsive", "correlation-sensitive")
MAX_UNREADABLE = 0.05    # of the answers in a cell of the primary contrast
CEILING, FLOOR = 0.85, 0.15
MIN_PROOF = 10           # bulletins, for a word above cue-responsive
BOTH, NEITHER = "with symmetry and cue", "with neither symmetry nor cue"
WHERE = {"HP": BOTH, "LA": NEITHER}   # a cell as its reader would say it

# Rivals that contrasts of the 2×2 may exclude: name → what must be established.
WITHIN = {
    "obedience to the cue sentence": "S_at_C_present",
    "a reaction to symmetry alone": "C_at_S_high",
    "compliance": "H_low",
    "the word, letter or place of the label": "labels",
}
# Rivals that only a mechanism study has contrasts for.
BEYOND = {
    "the length or tone of the notice": "HP-RV",
    "conformity, norms or desirability": "HP-UN",
    "reactions that merely add up": "adding_up",
}
# What a mechanism study must have shown of a model.
REQUIRED = ("HP-LA", "HP-LP", "HP-RV", "HP-UN", "interaction", "log-odds", "scale", "labels",
            "missing", "readable")
STAYS_OPEN = ("kindness toward a deciding party", "updateless reasoning", "causal influence")


class Corner(NamedTuple):
    """A cell of the primary contrast: cooperative decisions, readable ones, missing ones."""

    k: float
    n: int
    missing: int

    @property
    def share(self) -> float | None:
        return self.k / self.n if self.n else None

    @property
    def unreadable(self) -> bool:
        asked = self.n + self.missing
        return not asked or self.missing / asked > MAX_UNREADABLE


class Proof(NamedTuple):
    """A mechanism study of one model. `required`: name → whether it holds, names as in REQUIRED;
    `p`: the largest p of the required contrasts; `units`: bulletins."""

    required: Mapping[str, bool]
    p: float | None
    units: int


class Findings(NamedTuple):
    """What a study found. `effects`: contrasts over bulletins, `primary` among them, by the names
    of WITHIN where they were computed; `models`: the same of each model; `corners`: HP and LA, of
    the whole and of each model; `scope`: "20 bulletins of one domain"; `unfinished`: why nothing
    may be said yet; `proofs`: of the models of a mechanism study."""

    effects: Mapping[str, Any]
    corners: Mapping[str, Corner]
    models: Mapping[str, Mapping[str, Any]]
    model_corners: Mapping[str, Mapping[str, Corner]]
    scope: str
    unfinished: Sequence[str] = ()
    proofs: Mapping[str, Proof] = {}


def verdict(study: Findings) -> dict[str, Any]:
    """{word, sentence, open, why, models, scope}: the word of the whole, each model's in `models`.

    Above `cue-responsive` a word is a model's own, never a pool's: the whole then has the highest
    that one of its models has earned, and its sentence names them.
    """
    word, why = judged(study.effects, study.corners, study.unfinished)
    proven = _proven(study)
    models = {name: CORRELATION_SENSITIVE if name in proven else judged(
        effects, study.model_corners[name], study.unfinished)[0]
        for name, effects in study.models.items()}
    if proven and word != NOT_EVALUABLE:
        word = CORRELATION_SENSITIVE
        why = f"every required contrast holds for {_listed(proven)}"
    open_rivals = rivals(study.effects, word)
    return {"word": word, "sentence": _sentence(study, word, why, models, open_rivals),
            "open": open_rivals, "why": why, "models": models, "scope": study.scope}


# --- the three lower words ---------------------------------------------------------------------

def judged(effects: Mapping[str, Any], corners: Mapping[str, Corner],
           unfinished: Sequence[str] = ()) -> tuple[str, str]:
    """(word up to `cue-responsive`, why) of one set of answers."""
    primary = effects["primary"]
    if obstacle := _obstacle(primary, corners, unfinished):
        return NOT_EVALUABLE, obstacle
    if certain(primary):
        return CUE_RESPONSIVE, "the primary contrast's 95% interval over bulletins lies above 0"
    if above(primary):
        return NOT_SHOWN, ("with the missing decisions counted against it the primary contrast's "
                           f"interval reaches {points(primary['bounds']['lowest'])}")
    if below(primary):
        return NOT_SHOWN, "the primary contrast's 95% interval over bulletins lies below 0"
    if (full := _no_room(corners)):
        return NOT_EVALUABLE, full
    return NOT_SHOWN, "the primary contrast's 95% interval over bulletins includes 0"


def _obstacle(primary: Mapping[str, Any], corners: Mapping[str, Corner],
              unfinished: Sequence[str]) -> str | None:
    if unfinished:
        return "; ".join(unfinished)
    for name, corner in corners.items():
        if not corner.n + corner.missing:
            return f"no decision {WHERE[name]} was asked for"
        if corner.unreadable:
            return (f"{corner.missing} of {corner.n + corner.missing} decisions {WHERE[name]} "
                    f"are missing, more than {percent(MAX_UNREADABLE)}")
    if primary["value"] is None:
        return primary["why"]
    if primary["units"] < MIN_BULLETINS:
        return (f"{count(primary['units'], 'bulletin')} in the contrast, {MIN_BULLETINS} are "
                "needed: the result is about these stimuli")
    return None


def _no_room(corners: Mapping[str, Corner]) -> str | None:
    """An effect that is not shown says nothing where the shares leave it no room."""
    first, last = corners["HP"].share, corners["LA"].share
    if last is not None and last > CEILING:
        return (f"no room: {percent(last, 1)} cooperate {NEITHER}, more than "
                f"{percent(CEILING)}")
    if first is not None and first < FLOOR:
        return (f"no room: {percent(first, 1)} cooperate {BOTH}, less than "
                f"{percent(FLOOR)}")
    return None


def rivals(effects: Mapping[str, Any], word: str) -> list[str]:
    """The accounts that these data leave open."""
    if word == CORRELATION_SENSITIVE:
        return list(STAYS_OPEN)
    if word != CUE_RESPONSIVE:
        return []
    return [name for name, contrast in (WITHIN | BEYOND).items()
            if not _excluded(effects.get(contrast))]


def _excluded(finding: Mapping[str, Any] | bool | None) -> bool:
    """`finding`: a contrast, or whether a rule held; None: was not asked."""
    return bool(finding) if not isinstance(finding, Mapping) else certain(finding)


# --- the word that needs a mechanism study -----------------------------------------------------

def _proven(study: Findings) -> list[str]:
    """The models whose proof is whole, Holm-adjusted over all that were asked."""
    if study.unfinished:
        return []
    adjusted = stats.holm([proof.p for proof in study.proofs.values()])
    return [name for (name, proof), p in zip(study.proofs.items(), adjusted, strict=True)
            if _whole(proof, p)
            and judged(study.models[name], study.model_corners[name])[0] == CUE_RESPONSIVE]


def _whole(proof: Proof, p: float | None) -> bool:
    return (all(proof.required.get(name) is True for name in REQUIRED)
            and p is not None and p < ALPHA and proof.units >= MIN_PROOF)


# --- in one sentence ---------------------------------------------------------------------------

def _sentence(study: Findings, word: str, why: str, models: Mapping[str, str],
              open_rivals: Sequence[str]) -> str:
    """What is shown first everywhere."""
    if word == NOT_EVALUABLE:
        return f"Not evaluable: {why}."
    if word == NOT_SHOWN:
        return f"Not shown: {why} ({_size(study)})."
    if word == CUE_RESPONSIVE:
        said = (f"Cue-responsive: cooperation differs by {_size(study)} between symmetry with cue "
                f"and neither{_responds(study.effects)}{_by_model(study, models)}")
    else:
        said = (f"Correlation-sensitive, on {study.scope}: cooperation of "
                f"{_listed(_holding(models, word))} depends on whether the counterparty's entry "
                f"can mirror the reader{_others(models)}")
    return f"{said}. Open: {'; '.join(open_rivals)}."


def _size(study: Findings) -> str:
    primary = study.effects["primary"]
    return (f"{points(primary['value'])}, {span(primary['low'], primary['high'])} over "
            f"{count(primary['units'], 'bulletin')}")


def _responds(effects: Mapping[str, Any]) -> str:
    """To which of the two it responds, and whether without pressure to comply."""
    to = {what: _excluded(effects.get(name)) for what, name in
          (("symmetry", "S_at_C_present"), ("the cue sentence", "C_at_S_high"))}
    shown = [what for what, holds in to.items() if holds]
    said = ("; to symmetry and to the cue sentence" if len(shown) == 2 else
            f"; to {shown[0]}, to {next(what for what in to if what not in shown)} not shown"
            if shown else "; to which of the two is not shown")
    low = effects.get("H_low")
    if isinstance(low, Mapping):
        said += (", also where compliance pressure is low" if certain(low) else
                 ", where compliance pressure is low not shown")
    return said


def _by_model(study: Findings, models: Mapping[str, str]) -> str:
    """For whom it holds by itself, and who points the other way."""
    if len(models) < 2:
        return ""
    holding = _holding(models, CUE_RESPONSIVE)
    said = f"; by itself shown for {_listed(holding) if holding else 'no model'}"
    against = [name for name, effects in study.models.items()
               if (effects["primary"]["value"] or 0) < 0]
    return said + (f"; {_listed(against)} points the other way" if against else "")


def _others(models: Mapping[str, str]) -> str:
    rest = [f"{name}: {word}" for name, word in models.items() if word != CORRELATION_SENSITIVE]
    return f" ({'; '.join(rest)})" if rest else ""


def _holding(models: Mapping[str, str], word: str) -> list[str]:
    """The models that have earned at least this word."""
    return [name for name, other in models.items() if WORDS.index(other) >= WORDS.index(word)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


# --- what pilot and tournament say beside it ---------------------------------------------------

SCALE = ("Contrasts are on the probability scale: cells that are additive in logits may still "
         "show an interaction on it.")


def left_open(judged_as: Mapping) -> Iterator[str]:
    """What the word itself leaves unsaid."""
    if judged_as["word"] == NOT_EVALUABLE:
        yield f"Anything about the effect: {judged_as['why']}."
    if WORDS.index(judged_as["word"]) <= WORDS.index(CUE_RESPONSIVE):
        yield ("A word above “cue-responsive”: that needs the contrasts of a mechanism study "
               "(run_pilot.py --design mechanism).")
    if judged_as["open"]:
        yield f"That these rivals are excluded: {'; '.join(judged_as['open'])}."


def if_missing(bounds: Mapping, low: str = "lowest", high: str = "highest") -> Iterator[str]:
    """What missing decisions could make of a difference."""
    if bounds[low] is not None and bounds[low] != bounds[high]:
        yield (f"That missing decisions don't matter: filled in at worst, the difference lies "
               f"between {points(bounds[low])} and {points(bounds[high])}.")
