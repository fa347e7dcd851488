"""Analyses a one-shot study: makes the whole of pilot-analysis.json from the study's
rows.

    out = analyse(rows, identity)          of any design
    out["verdict"]["word"]
    out["mechanism"]["by_model"]["sim-correlation"]["contrasts"]["HP-UP"]

Each model is judged by itself, at a level at which the intervals of all models together
miss 5%; no verdict pools models. A pilot is also analysed as a whole, since the
specification's criteria are about the whole.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import stats
from cirrus.ask.oneshot import DESIGNS
from cirrus.judge import mirror
from cirrus.judge.accounts import (
    ACCOUNTS,
    ALWAYS_OPEN,
    DENIED,
    DIGITS,
    MAX_MISSING,
    NOT_SHOWN,
    accounts,
    earning,
    extent,
    list_of_words,
    missing,
    overall,
    unsaid,
    verdict,
)
from cirrus.judge.contrasts import (
    ALPHA,
    CONTRASTS,
    LEVEL,
    Table,
    Tally,
    cell_entry,
    certain,
    effects,
    labels,
    table_of,
    tally,
    total,
    where,
)
from cirrus.judge.extras import EXTRAS, HEADLINES, probes_of
from cirrus.judge.readings import EFFORT, EXAMPLES, Endings, first_line, split_blocks
from common.wire import FINAL_OUTCOMES, UNANSWERED
from show.figures import bracketed, cost, count, interval, percent, points, signed, span

MIN_TRIALS, MIN_READ, MIN_D, MIN_INTERACTION, MAX_USD = 120, 0.95, 0.5, 0.10, 3.0
UNASKED: dict[str, Any] = {"adapted": {}, "set_aside": {}}
# {design without symmetry and cue: its first contrast, which takes the place of HP-LA}.
PRIMARY = {"twin": "TS-TO", "mirror": "PD18-PD2"}
UNKNOWN = {"value": None, "low": None, "high": None}


def analyse(
    rows: Sequence[Mapping],
    study: Mapping,
    redealt: tuple[int, int] | None = None,
    probed: Sequence[Mapping] = (),
    asked: Mapping[str, Any] = UNASKED,
) -> dict[str, Any]:
    """Return the analysis of one study.

    `study` is the run's identity (config, prompts, provider). `redealt` is (same, all):
    of all answered questions, how many come out the same when the seed deals them
    again; it is None where that was not checked. `probed` are the rows of probes.
    `asked` says what the warm-up found, and which models were left out because their
    warm-up answers could not be read.
    """
    table, models = table_of(rows), study["config"]["models"]
    level = 1 - ALPHA / len(models)
    out = described(rows, study, table, level)
    out |= {"asked": asked, "dealt_again": redealt}
    name, whole = out["design"]["design"], out["outcomes"]["answered"] == len(rows)
    if name == "mirror" and not unfinished(out):
        out[name] = mirror.judged(rows, models)
        out["verdict"] = _of_mirror(out)
    else:
        out[name] = _by_model(out, table, level, whole)
        _add_probes(out[name]["by_model"], probed if whole else ())
        out["verdict"] = _verdict(out, whole)
    if name == "2x2":
        out["exploratory"] = exploratory(table if whole else {}, out)
        out["success"] = success(out)
    out["claims"] = {"may": list(may(out)), "may_not": list(may_not(out))}
    return out


def described(
    rows: Sequence[Mapping], study: Mapping, table: Table, level: float
) -> dict[str, Any]:
    """Return the design of a study and the quality of its data.

    `level` is that of each model's intervals.
    """
    config, simulated = study["config"], study["provider"] == "simulated"
    name = config.get("design", "2x2")
    cells = [cell.name for cell in DESIGNS[name].cells]
    ended, primary = outcomes(rows, cells), PRIMARY.get(name, "HP-LA")
    whole = ended["answered"] == len(rows)
    design = config | {"design": name, "trials": len(rows), "cells": cells}
    for what in ("bulletin", "wording", "variant"):
        design[f"{what}s"] = len({row[what] for row in rows})
    by_scheme = {}
    for scheme in sorted({slot.scheme for slot in table}):
        counts = where(table, scheme=scheme).values()
        by_scheme[scheme] = shown(share(counts), whole)
    served = {}
    for model in config["models"]:
        served[model] = served_by([row for row in rows if row["model"] == model])
    return {
        "artifact": "pilot-analysis",
        "simulated": simulated,
        "stamp": "SIMULATED" if simulated else None,
        "design": design,
        "outcomes": ended,
        "losses": losses(rows, config),
        "first_line": first_line(table, primary, level, whole),
        "upstreams": split_blocks(rows, primary, level, whole),
        "cost": costs(rows),
        "position": shown(position(rows), whole),
        "labels": by_scheme,
        "served": served,
    }


def _by_model(out: Mapping, table: Table, level: float, whole: bool) -> dict[str, Any]:
    """Return {"level", "by_model": {model: what it shows, and its verdict}}.

    A pilot also has `pooled`, what all models together show.
    """
    design = out["design"]
    name, cells = design["design"], design["cells"]
    parts = {}
    for model in design["models"]:
        answers = where(table, model=model)
        part = part_of(answers, cells, level, whole)
        part["verdict"] = verdict(part, _scope(out), unfinished(out))
        if name in EXTRAS:
            part |= EXTRAS[name](part, answers)
        parts[model] = part
    found = {"level": level, "by_model": parts}
    if name == "2x2":
        found["pooled"] = part_of(table, cells, LEVEL, whole)
    return found


def _add_probes(parts: Mapping[str, dict], probed: Sequence[Mapping]) -> None:
    """Add to each model's part the results of its probes, where it has any."""
    for model, part in parts.items():
        answers = [row for row in probed if row["model"] == model]
        if answers:
            part["probes"] = probes_of(answers, list(part["contrasts"]))


def _verdict(out: Mapping, whole: bool) -> dict[str, Any]:
    """Return the study's verdict; where the design has a headline of its own, that is
    the verdict's sentence."""
    design = out["design"]
    name = design["design"]
    parts = out[name]["by_model"]
    found = overall(parts, _scope(out), unfinished(out), called(out))
    if name in HEADLINES and whole and not design.get("holdout"):
        headline = HEADLINES[name](parts, called(out))
        if headline:
            found["sentence"] = headline
    return found


def _of_mirror(out: Mapping) -> dict[str, Any]:
    """Return the verdict of a mirror study: that of the model with the highest of the
    mirror study's own words."""
    parts = out["mirror"]["by_model"]
    earned = {model: part["verdict"]["word"] for model, part in parts.items()}
    best = max(earned, key=lambda model: mirror.WORDS.index(earned[model]))
    found = {"open": [], "why": "", "scope": _scope(out), "models": earned}
    found |= parts[best]["verdict"]
    if len(parts) > 1:
        change = points(parts[best]["contrasts"][mirror.USUAL]["value"])
        beside = f"18 − 2 of 20 alike {change}"
        listed = list_of_words(earned, mirror.WORDS, beside, called(out))
        found["sentence"] = listed
    return found


def called(out: Mapping) -> str:
    """Return what a report calls those who answered: "respondent" where they are
    simulated."""
    return "respondent" if out["simulated"] else "model"


def _scope(out: Mapping) -> str:
    return f"{count(out['design']['bulletins'], 'bulletin')} of one domain"


def unfinished(out: Mapping[str, Any]) -> list[str]:
    """List why this study earns no word: it is unfinished, or studies of its kind
    never earn a word. The list is empty where neither is so."""
    design, why = out["design"], []
    left = design["trials"] - out["outcomes"]["answered"]
    if left:
        trials = f"{count(left, 'trial')} of {design['trials']:,}"
        why.append(f"{trials} without an answer; the same command resumes the run")
    if design.get("holdout"):
        bulletins = count(design["bulletins"], "held-out bulletin")
        why.append(f"{bulletins} replicate a study, and earn no word")
    if design["design"] == "twin":
        cells = count(len(design["cells"]), "cell")
        why.append(f"a twin control has {cells}, and earns no word")
    return why


def part_of(
    table: Table, cells: Sequence[str], level: float, whole: bool
) -> dict[str, Any]:
    """Return what one set of answers shows: its cells, contrasts, labels and accounts.

    An unfinished study (`whole` is False) has counts only.
    """
    counts = tally(table)
    entries = {cell: shown(cell_entry(counts, cell), whole) for cell in cells}
    if not whole:
        part = {"cells": entries, "contrasts": {}, "labels": labels({}, [])}
        return part | {"accounts": accounts(part, part)}
    part = against = {"cells": entries} | evidence(table, counts, cells, level)
    if any(cell["missing"] for cell in entries.values()):
        worst = evidence(table, counts, cells, level, against=True)
        against = {"cells": entries} | worst
    return part | {"accounts": accounts(part, against)}


def shown(entry: Mapping[str, Any], whole: bool) -> Mapping[str, Any]:
    """Return a share's entry as it is, or only its counts where the study is
    unfinished."""
    if whole:
        return entry
    counts = {key: entry[key] for key in ("k", "n", "missing") if key in entry}
    return dict.fromkeys(entry) | counts


def evidence(
    table: Table,
    counts: Tally,
    cells: Sequence[str],
    level: float,
    against: bool = False,
) -> dict[str, Any]:
    """Return the contrasts and label comparisons by which accounts are judged.

    With `against`, every missing decision counts against an exclusion. Differences
    between labels stay as observed; `labels` says why.
    """
    held, names = {*cells}, []
    for name, contrast in CONTRASTS.items():
        if contrast.over_h is None and held.issuperset(contrast.weights):
            names.append(name)
    under_labels = [name for name in ("HP-LA", "HP-UP") if name in names]
    return {
        "contrasts": effects(counts, names, level, against),
        "labels": labels(table, under_labels, against),
    }


# --- quality of the data -----------------------------------------------------------------------


def outcomes(rows: Sequence[Mapping], cells: Iterable[str]) -> dict[str, Any]:
    """Count the trials by status, in all and in each cell. Count also the trials that
    were answered, and those whose answer could be read."""
    by_cell: dict[str, Counter[str]] = {name: Counter() for name in cells}
    for row in rows:
        by_cell[row["cell"]][row["status"]] += 1
    total = sum(by_cell.values(), Counter())
    unanswered = sum(total[status] for status in UNANSWERED)
    read = stats.share(total["ok"], len(rows))
    return {
        "status": dict(total),
        "by_cell": {name: dict(counts) for name, counts in by_cell.items()},
        "answered": len(rows) - unanswered,
        "read": read.k,
        "read_share": read.value,
        "read_low": read.low,
        "read_high": read.high,
    }


def losses(rows: Sequence[Mapping], config: Mapping) -> dict[str, str]:
    """Return {model: sentence} for models that lost over 10% of their decisions,
    with advice."""
    ends = Endings()
    for row in rows:
        ends.add(row["model"], row["status"], row["text"])
    return ends.losses(EFFORT if config.get("examples") else EXAMPLES)


def costs(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Add up the dollars of the answers; where some costs are unknown the sum is a
    lower bound."""
    known, unknown = [], 0
    for row in rows:
        if row["cost_usd"] is not None:
            known.append(row["cost_usd"])
        elif row["status"] in FINAL_OUTCOMES or row["text"]:
            unknown += 1
    why = f"{unknown} answers came without a cost" if unknown else None
    return {"usd": math.fsum(known), "unknown": unknown, "why": why}


def share(counts: Iterable) -> dict[str, Any]:
    """Return the share of cooperative decisions among readable ones, with Wilson's
    interval."""
    k, n, _ = total(counts)
    return _named(stats.share(int(k), n), "mean")


def _named(found: stats.results.Share, key: str) -> dict[str, Any]:
    """Return a share as a mapping, with its field "value" under the name `key`."""
    entry = found._asdict()
    entry[key] = entry.pop("value")
    return entry


def position(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Return how often the option shown first was chosen, with Wilson's interval."""
    taken = []
    for row in rows:
        if row["cooperates"] is not None:
            first = row["order"] == "cooperative-first"
            taken.append(row["cooperates"] == first)
    return _named(stats.share(sum(taken), len(taken)), "share")


def served_by(rows: Sequence[Mapping]) -> dict[str, list[str]]:
    """Return the models and providers that answered under one model name.

    Where there are two models or two providers, the report names them as a confound.
    """
    found = {}
    for field in ("served_model", "provider"):
        found[field] = sorted({row[field] for row in rows if row[field]})
    return found


# --- the pilot's criteria, as specified --------------------------------------------------------


def exploratory(table: Table, out: Mapping[str, Any]) -> dict[str, Any]:
    """Return effect sizes and p-values of the pilot's primary difference.

    All but the sign-flip p, which is over bulletins, treat decisions as independent.
    """
    both, neither = outcomes_of(table, "HP"), outcomes_of(table, "LA")
    primary, p = out["2x2"]["pooled"]["contrasts"].get("HP-LA"), None
    if primary:
        p = stats.sign_flip_test(list(primary["by_bulletin"].values())).p
    return {
        "d": stats.cohens_d(both, neither)._asdict(),
        "bootstrap": stats.bootstrap_ci((both, neither), "mean_difference")._asdict(),
        "welch": stats.welch_t_test(both, neither)._asdict(),
        "sign_flip_p": p,
    }


def outcomes_of(table: Table, cell: str) -> list[int]:
    """Return the decisions in a cell as ones and zeros, in any order."""
    k, n, _ = total(where(table, cell=cell).values())
    return [1] * int(k) + [0] * (n - int(k))


def success(out: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Judge the specification's six criteria by point estimates, and give each one's
    figure.

    A criterion on effects is judged only where every trial is answered and at most 10%
    of each cell's decisions are missing. `established` says whether the interval
    supports it too; it is None for a criterion without an interval.
    """
    answered, trials = out["outcomes"]["answered"], out["design"]["trials"]
    complete = trials >= MIN_TRIALS and answered == trials
    spent, cheap = out["cost"], None
    if not spent["unknown"]:
        cheap = spent["usd"] < MAX_USD
    return [
        _criterion(
            f"All {MIN_TRIALS}+ trials complete without errors",
            complete,
            f"{answered} of {trials} answered",
        ),
        _extracted(out["outcomes"], trials),
        _effect_size(out),
        _interaction(out),
        _criterion(f"Total cost < ${MAX_USD:g}", cheap, cost(spent)),
        _reproducible(out),
    ]


def _criterion(
    words: str, met: bool | None, figure: str, established: bool | None = None
) -> dict[str, Any]:
    """Return a criterion as the analysis stores it."""
    return {
        "criterion": words,
        "met": met,
        "established": established,
        "figure": figure,
    }


def _extracted(ended: Mapping[str, Any], trials: int) -> dict[str, Any]:
    """Return the criterion that enough decisions could be read."""
    read, met, figure = ended["read_share"], False, ""
    if read is not None:
        met, figure = read > MIN_READ, percent(read, 1)
    words = f"Decisions extracted for > {MIN_READ:.0%} of trials"
    return _criterion(words, met, bracketed(f"{ended['read']} of {trials}", figure))


def _effect_size(out: Mapping[str, Any]) -> dict[str, Any]:
    """Return the criterion that the effect size is above the specification's limit."""
    d, met = out["exploratory"]["d"]["value"], None
    if _readable(out):
        if _apart(out):
            met = True
        elif d is not None:
            met = d > MIN_D
    words = f"Effect size > {MIN_D}, symmetry + cue against neither"
    return _criterion(words, met, _size(out), _practical(out))


def _interaction(out: Mapping[str, Any]) -> dict[str, Any]:
    """Return the criterion that symmetry and cue interact by at least 10 points."""
    contrasts, met = out["2x2"]["pooled"]["contrasts"], None
    cross, established = contrasts.get("SxC", UNKNOWN), None
    if contrasts:
        established = certain(cross, MIN_INTERACTION)
    if _readable(out) and cross["value"] is not None:
        met = round(cross["value"] - MIN_INTERACTION, DIGITS) >= 0
    words = f"Interaction visible in means (≥ {100 * MIN_INTERACTION:.0f} points)"
    figure = f"{points(cross['value'])}, {span(cross['low'], cross['high'])}"
    return _criterion(words, met, figure, established)


def _reproducible(out: Mapping[str, Any]) -> dict[str, Any]:
    """Return the criterion that the seed deals the same questions again."""
    words, redealt = "Reproducible with seed", out["dealt_again"]
    if redealt is None:
        return _criterion(words, None, "not checked")
    same, of = redealt
    seed = out["design"]["seed"]
    figure = f"{same} of {of} questions dealt again from seed {seed}, same by SHA-256"
    return _criterion(words, same == of > 0, figure)


def _readable(out: Mapping) -> bool:
    """Whether the pilot is finished and each cell lacks at most 10% of its
    decisions."""
    pooled = out["2x2"]["pooled"]
    most = max(map(missing, pooled["cells"].values()))
    return bool(pooled["contrasts"]) and most <= MAX_MISSING


def _apart(out: Mapping) -> bool:
    """Whether all decisions with symmetry and cue are cooperative, and none with neither.

    Cohen's d then has no value, since nothing varies within a cell, and the effect is
    larger than any d.
    """
    cells = out["2x2"]["pooled"]["cells"]
    return cells["HP"]["mean"] == 1 and cells["LA"]["mean"] == 0


def _practical(out: Mapping) -> bool | None:
    """Whether the lower limit of the effect size is above what the specification asks
    for; None while the pilot is unfinished."""
    if not out["2x2"]["pooled"]["contrasts"]:
        return None
    low = out["exploratory"]["d"]["low"]
    return _apart(out) or (low is not None and low > MIN_D)


def _size(out: Mapping) -> str:
    """Return the effect size as text: d with its interval, or δ where d has no
    value."""
    d = out["exploratory"]["d"]
    if _apart(out):
        primary = out["2x2"]["pooled"]["contrasts"]["HP-LA"]
        limits = interval(primary["low"], primary["high"], sign=True)
        delta = bracketed(signed(primary["value"]), limits)
        return f"the two sides don't overlap: δ = {delta}"
    if d["value"] is None:
        return "no effect size"
    limits = interval(d["low"], d["high"], sign=True)
    return f"d = {bracketed(signed(d['value']), limits)}"


# --- what may be said, and what not --------------------------------------------------------------


def _models(out: Mapping, account: str, *, excluded: bool) -> list[str]:
    """List the models for which this account is excluded, or those for which it is
    open.

    Only models that earned a word are listed; where the account is open, also those
    whose word is "not shown".
    """
    found = []
    for model, part in out[out["design"]["design"]]["by_model"].items():
        if "accounts" not in part or part["accounts"][account]["excluded"] != excluded:
            continue
        earned = part["verdict"]["word"]
        if earning(earned) or (earned == NOT_SHOWN and not excluded):
            found.append(model)
    return found


def may(out: Mapping[str, Any]) -> Iterator[str]:
    """Yield the positive sentences that the data allow; none where no effect is
    established."""
    name = out["design"]["design"]
    for account in ACCOUNTS:
        models = _models(out, account.name, excluded=True)
        if models:
            yield f"{account.excluded} Shown for {_who(models, out)}."
    if name == "mirror":
        yield from _by_evidence(out)
    if name == "2x2" and earning(out["verdict"]["word"]):
        yield from _of_the_whole(out)


def _by_evidence(out: Mapping[str, Any]) -> Iterator[str]:
    """Yield the verdict sentence of each model that earned a word of the mirror
    study."""
    for model, part in out["mirror"]["by_model"].items():
        if part["verdict"]["word"] in mirror.POSITIVE:
            yield f"{model}: {part['verdict']['sentence']}"


def _of_the_whole(out: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the specification's criteria allow one to say of a pilot as a whole.

    Nothing is yielded where missing answers alone may make the pooled effect.
    """
    pooled = out["2x2"]["pooled"]
    if not pooled["accounts"]["missing"]["excluded"]:
        return
    primary, cross = pooled["contrasts"]["HP-LA"], pooled["contrasts"]["SxC"]
    models = out["design"]["models"]
    whom = f" (all {len(models)} together)" if len(models) > 1 else ""
    if _practical(out):
        yield f"The effect size is of practical interest ({_size(out)}){whom}."
    difference = f"the primary difference is {extent(primary)}"
    yield f"The results warrant further investigation: {difference}{whom}."
    if certain(cross):
        yield (
            "Preliminary evidence for an interaction pattern: where symmetry is high the cue "
            f"adds {extent(cross)} more{whom}."
        )


def _who(models: Sequence[str], out: Mapping[str, Any]) -> str:
    every = len(out["design"]["models"])
    if len(models) == every > 2:
        return f"all {every}"
    return ", ".join(models)


def may_not(out: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the data do not allow anyone to say, first of the accounts that are not
    excluded for some model."""
    design, accounts = out["design"], []
    for account in ACCOUNTS:
        models = _models(out, account.name, excluded=False)
        if models:
            accounts.append(f"{account.open} Open for {_who(models, out)}.")
    name = design["design"]
    always = mirror.ALWAYS_OPEN if name == "mirror" else ALWAYS_OPEN
    yield from unsaid(out, accounts, always)
    if name == "mechanism":
        yield from _badly_placed(out)
        yield DENIED
    elif name != "mirror":
        yield (
            "A word above “cue-responsive”: that needs a mechanism study "
            "(run_pilot.py --design mechanism)."
        )
    if name == "2x2":
        yield "“Statistically significant”: a pilot is underpowered; its p-values are exploratory."
    who = called(out)
    yield f"A word for all {who}s: what one shows is no evidence on another."
    yield f"Anything beyond {_scope(out)}, one-shot decisions, {_arm(design)}."


def _badly_placed(out: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each model whose lever lay where the highest verdict could
    not be earned."""
    for model, part in out["mechanism"]["by_model"].items():
        if part["lever"]["badly_placed"]:
            way = percent(part["lever"]["way"])
            yield (
                f"“correlation-sensitive” of {model}: the lever was badly placed, at {way} of the "
                "way from neither to symmetry and cue, where it cannot be earned."
            )


def _arm(design: Mapping[str, Any]) -> str:
    """Return how the models were asked, in words."""
    effort = design.get("reasoning_effort") or "default effort"
    arm = "decided on the first line"
    if design.get("examples"):
        arm += f", after {design['examples']} worked examples"
    return f"{arm}, {effort}"
