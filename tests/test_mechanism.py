"""The mechanism study: no rival earns a word above `cue-responsive`, and what earns it gets it."""

import json
import math
import random
import re
from itertools import product
from statistics import stdev

import pytest
from conftest import ROOT

from cirrus.ask import pilot
from cirrus.ask.prompts import load_domain
from cirrus.judge import mechanism, rivals
from cirrus.judge.verdict import REQUIRED, WORDS
from common.rng import SeededRandom
from common.wire import Reply
from stats.results import Count

SCHEMES, ORDERS = ("L1", "L2", "L3"), ("cooperative-first", "other-first")


def shares(base=.4, **cells):
    return lambda cell, *_: cells.get(cell, base)


def answers(chance, bulletins=20, blocks=12, model="m"):
    """Rows of one model. `chance(cell)`: of cooperation; it differs by bulletins."""
    rng = random.Random(1)
    for b in range(bulletins):
        level = rng.uniform(-.15, .15)
        for at, cell in product(range(blocks), rivals.CELLS):
            yield {"id": f"{model}/{b}/{at}/{cell}", "model": model, "bulletin": f"b{b:02d}",
                   "cell": cell, "label_scheme": SCHEMES[at % 3], "order": ORDERS[at // 3 % 2],
                   "wording": at % 3 + 1, "frame": f"f{b % 3}", "variant": "v",
                   "cooperates": int(rng.random() < chance(cell) + level), "status": "ok",
                   "cost_usd": 0.0, "text": "x", "served_model": model, "provider": "p"}


def study(*rows, **config):
    every = [row for one in rows for row in one]
    config = {"models": list(dict.fromkeys(row["model"] for row in every)), "compliance": "low",
              "seed": 1, "tells": "standard"} | config
    return mechanism.analyse(every, {"config": config, "provider": "simulated"}, None)


TRUE = shares(.35, HP=.8)


# --- either side of every threshold ------------------------------------------------------------

FIRM = {"value": .2, "low": .05, "p": .01, "unreadable": 0.0, "bounds": {"lowest": .02}}
NIL = FIRM | {"value": 0.0, "low": -.1}


def judged(name=None, /, labels=(), **change):
    """(what a word needs, the largest p) where all is firm but for one contrast."""
    contrasts = dict.fromkeys([*rivals.CONTRASTS, "log-odds"], FIRM) | {"LA-UL": NIL}
    if name:
        contrasts[name] = contrasts[name] | change
    rule = {"holds": True, "letters": FIRM, "orders": {"first": FIRM, "other": FIRM}} | dict(labels)
    return (rivals.required(contrasts, rule),
            rivals.largest_p({"contrasts": contrasts, "labels": rule}))


@pytest.mark.parametrize("name, change, largest", [
    ("HP-UN", {"p": .04}, .04), ("log-odds", {"p": .03}, .03), ("HP-KC", {"p": .9}, .01),
    ("HP-LP", {"p": None}, 1), ("HP-LP", {"low": 0.0}, 1)])
def test_the_largest_p_is_that_of_all_that_has_to_hold(name, change, largest):
    assert judged(name, **change)[1] == largest
    assert judged(labels={"orders": {"first": FIRM | {"p": .2}}})[1] == .2


# --- nine cells counted -------------------------------------------------------------------------

def placed(share, n=20, bulletins=10, lost=lambda cell: 0, places=(SCHEMES, ORDERS), wobble=1):
    """{bulletin: {slot: counts}}: `share` of `n` in each cell and place, one more in every cell of
    every second bulletin, so that contrasts are the same in all; `lost` are missing beside them."""
    def count(cell, scheme, order, at):
        of = n(scheme) if callable(n) else n
        return Count(round(of * share(cell, scheme, order)) + at % 2 * wobble, of, lost(cell))
    return {f"b{at}": {rivals.Slot(cell, scheme, order, 1, "f"): count(cell, scheme, order, at)
                       for cell in rivals.CELLS for scheme, order in product(*places)}
            for at in range(bulletins)}


def of_hp(**by):
    """HP alone, by scheme or order."""
    return lambda cell, scheme, order: .3 if cell != "HP" else by.get(scheme, by.get(order[:5], .3))


NINE, MANY = shares(.3, HP=.8), {"n": 100, "bulletins": 40}
LOST = MANY | {"lost": lambda cell: 2}   # of 102


@pytest.mark.parametrize("share, more, lacks", [
    (NINE, {}, ""), (NINE, {"wobble": 0}, "log-odds missing"),   # no unit differs: no jackknife
    # sizes: ten points are enough, also where rounding leaves .7 − .6 a little less
    (shares(.3, HP=.4), MANY, ""), (shares(.6, HP=.7), MANY, ""),
    (shares(.3, HP=.39), MANY, "HP-LA interaction"),
    (shares(.3, HP=.8, LP=.8), {}, "HP-LP missing"),
    (shares(.3, HP=.8, RV=.8), {}, "HP-RV missing"),
    (shares(.3, HP=.8, UN=.8), {}, "HP-UN interaction log-odds missing"),
    (shares(.3, HP=.8, LA=.4), MANY, "scale"), (shares(.3, HP=.8, LA=.39), MANY, ""),
    # word, letter, place
    (of_hp(L1=.9), MANY, "labels missing"), (of_hp(L2=.9, L3=.9), {}, "labels"),
    (of_hp(L1=.9, L2=.6, L3=.6), {}, "labels"), (of_hp(coope=.9), {}, "labels missing"),
    (of_hp(L1=.5, L2=.55, L3=.55), {}, ""),
    (lambda cell, scheme, order: .5 if scheme == "L1" else .55 if cell == "HP" else .3,
     {"n": lambda scheme: 1 if scheme == "L1" else 20}, "labels"),   # not positive under words
    (NINE, {"places": (["L1"], ORDERS)}, "labels missing"),
    (NINE, {"places": (["L2"], ORDERS)}, "labels"), (NINE, {"places": (SCHEMES[:2], ORDERS)}, ""),
    (NINE, {"places": (SCHEMES, ORDERS[:1])}, "labels"),
    # missing: 2% in the cells of a contrast may be, where it stands with them against it
    (NINE, {"n": 98, "lost": lambda cell: 2}, ""),
    (NINE, {"n": 97, "lost": lambda cell: 3}, "readable"),
    (NINE, {"n": 49, "lost": lambda cell: 2 * (cell == "HP")}, ""),
    (NINE, {"n": 49, "lost": lambda cell: 3 * (cell == "HP")}, "readable"),
    (shares(.3, HP=.8, LP=.77), LOST, "missing"), (of_hp(coope=.8, other=.33), LOST, "missing")])
def test_what_nine_cells_lack(share, more, lacks):
    counts = placed(share, **more)
    part = rivals.evidence(counts)
    assert [name for name, held in part["required"].items() if not held] == lacks.split()
    assert rivals.passes(counts) is (not lacks) and part["units"] == len(counts)


def test_a_bulletin_without_an_answer_in_a_cell_is_none_of_the_ten():
    counts = placed(NINE, bulletins=10)
    counts["b0"] = {slot: Count(0, 0, 1) if slot.cell == "LP" else here
                    for slot, here in counts["b0"].items()}
    part = rivals.evidence(counts)
    assert part["units"] == 9
    assert part["contrasts"]["log-odds"]["units"] == 10 and not rivals.passes(counts)
    assert rivals.passes(placed(NINE)) and not rivals.passes(placed(NINE, bulletins=9))


def test_log_odds_at_worst_are_those_of_what_is_missing_filled_in_against_them():
    cells = rivals.by_cell(placed(NINE, **LOST))
    against = {unit: {cell: Count(k + lost * (cell in ("LA", "UN")), n + lost, 0)
                      for cell, (k, n, lost) in slots.items()} for unit, slots in cells.items()}
    one, filled = rivals.log_odds_entry(cells), rivals.log_odds_entry(against)
    assert one["bounds"]["lowest"] == pytest.approx(filled["low"]) and filled["low"] < one["low"]


def test_a_contrast_is_named_by_its_cells():
    weights = {name: rival.weights for name, rival in rivals.CONTRASTS.items()}
    assert weights.pop("interaction") == {"HP": 1, "LA": -1, "UN": -1, "UL": 1}
    assert weights == {name: dict(zip(name.split("-"), (1, -1), strict=True)) for name in weights}


def test_three_looks_at_schemes_are_one():
    found = rivals.label_rule(placed(of_hp(L1=.8, L2=.6, L3=.5), bulletins=40))["differences"]
    assert {pair: round(one["value"], 9) for pair, one in found.items()} == {
        "L1−L2": .2, "L1−L3": .3, "L2−L3": .1}
    # Wilson's limits at qnorm(1 - .05/6), of 1,600 decisions a cell
    width = 2.393980 * math.sqrt(sum(p * (1 - p) / 1600 for p in (.625, .525, .325, .325)))
    assert found["L2−L3"]["low"] == pytest.approx(.1 - width, abs=.001)
    three, two = (rivals.label_rule(placed(
        of_hp(L1=.8, L2=.6), bulletins=160, places=(schemes, ORDERS)))["differences"]["L1−L2"]
        for schemes in (SCHEMES, SCHEMES[:2]))
    ratio = (two["value"] - two["low"]) / (three["value"] - three["low"])
    assert ratio == pytest.approx(1.959964 / 2.393980, abs=.01)   # two schemes are one look


def test_counts_are_added_up_inside_bulletins():
    slots = {rivals.Slot(cell, "L1", order, 1, "f"): Count(1, 2, at)
             for at, cell in enumerate(("HP", "LA")) for order in ORDERS}
    assert rivals.by_cell({"b": slots}, lambda slot: slot.cell == "LA") == {
        "b": {"LA": Count(2, 4, 2)}}
    cells = rivals.by_cell({"b": slots, "c": {}})
    assert rivals.unreadable(cells, {"HP": 1, "LA": -1}) == 2 / 10
    assert rivals.unreadable({}, {"HP": 1}) is None
    assert rivals.log_odds_entry({})["units"] == 0
    whole = rivals.cell_entry(cells, "LA")
    assert [whole[key] for key in ("k", "n", "missing", "mean")] == [2, 4, 2, .5]
    none = rivals.cell_entry({"b": {"HP": Count(0, 0, 3)}}, "HP")
    assert [none[key] for key in ("k", "n", "missing", "mean")] == [0, 0, 3, None]


@pytest.mark.parametrize("few, many", [(Count(1, 1, 11), Count(1, 12, 0)),
                                       (Count(3, 3, 9), Count(1, 12, 0))])
def test_a_share_of_decisions_lies_in_its_interval_however_they_are_spread(few, many):
    """Bulletins with few readable decisions weigh as much in the interval."""
    for times in (1, 9, 10):
        units = [few] * times + [many] * (11 - times)
        one = rivals.cell_entry({str(at): {"HP": unit} for at, unit in enumerate(units)}, "HP")
        assert one["mean"] == pytest.approx(sum(u.k for u in units) / sum(u.n for u in units))
        assert one["low"] <= one["mean"] <= one["high"]


def test_simulated_decisions_have_their_rate_in_every_place_and_bulletins_differ():
    """By default as the power table has it: SD 0.8 logit of bulletins, 0.4 of their cells."""
    assert rivals.Size(20, 12) == (20, 12, 1, .8, .4)

    def share(size):
        counts = rivals.sampled({"HP": math.log(.8 / .2)}, size, SeededRandom(1, "x"))
        assert {(slot.cell, here.n) for slots in counts.values() for slot, here in slots.items()
                } == {("HP", 2)} and {len(slots) for slots in counts.values()} == {6}
        return [cells["HP"].k / 12 for cells in rivals.by_cell(counts).values()]
    alike, apart = share(rivals.Size(200, 12, 1, 0, 0)), share(rivals.Size(200, 12, 1, 3, 0))
    within = share(rivals.Size(200, 12, 1, 0, 3))
    # 2,400 draws: .8 ± 4 standard errors; binomial SD of 12 draws .115
    assert sum(alike) / 200 == pytest.approx(.8, abs=.033)
    assert stdev(alike) == pytest.approx(.115, abs=.03)
    assert min(stdev(apart), stdev(within)) > .25


def few(model="a", bulletins=12, **more):
    """One answer a cell, scheme and bulletin: joint in HP, and only under the first wording."""
    for b, cell, scheme in product(range(bulletins), rivals.CELLS, SCHEMES):
        wording = SCHEMES.index(scheme) + 1
        y = int((cell, wording) == ("HP", 1))
        yield {"model": model, "bulletin": f"b{b:02d}", "cell": cell, "label_scheme": scheme,
               "order": ORDERS[b % 2], "wording": wording, "frame": f"f{99 - b}", "variant": "v",
               "cooperates": y, "status": "ok", "cost_usd": .5, "text": "x", "served_model": model,
               "provider": "p"} | more


def asked(model, kind, answer, bulletin="b00"):
    return {"model": model, "probe": kind, "cell": "HP", "given": None, "answer": answer,
            "bulletin": bulletin, "status": "ok"}


def test_each_model_is_judged_by_its_own_rows_and_probes_of_its_own_bulletins():
    probed = [asked("a", "payoffs", ["T", "R", "P", "S"], f"b{b:02d}") for b in (0, 0, 3)]
    probed += [asked("a", "payoffs", ["P", "R", "T", "S"], "b05"), asked("a", "influence", "no"),
               *(asked("b", "influence", answer) for answer in ("yes", "no"))]
    config = {"models": ["a", "b"], "compliance": "low", "seed": 1, "tells": "standard"}
    rows = [*few(), *few("b", cooperates=0, status="ok")]
    out = mechanism.analyse(rows, {"config": config, "provider": "http://x"}, (3, 4), probed)
    a, b = out["mechanism"]["by_model"].values()
    values = [part["contrasts"]["HP-LA"]["value"] for part in (a, b, out["mechanism"]["pooled"])]
    assert values == pytest.approx([1 / 3, 0, 1 / 6])
    assert (a["probes"]["payoffs"]["k"], a["probes"]["influence"]["value"]) == (3, 1)
    assert ("payoffs" in b["probes"], b["probes"]["influence"]["value"]) == (False, .5)
    assert [a["wordings"]["HP-LA"][at]["value"] for at in "123"] == [1, 0, 0]
    assert len(a["frames"]["interaction"]) == len(a["bulletins"]["HP-LA"]) == 12
    assert out["design"]["frames"] == sorted({row["frame"] for row in rows})
    assert (out["design"]["trials"], out["design"]["bulletins"], out["cost"]["usd"]) == (
        648, 12, 324)
    assert out["outcomes"]["by_cell"]["UL"] == {"ok": 72} and out["outcomes"]["read"] == 648
    assert (out["simulated"], out["stamp"], out["dealt_again"]) == (False, None, (3, 4))
    assert out["claims"].keys() == {"may", "may_not"} and "reading" not in out
    # b never cooperates: no room
    assert out["verdict"]["models"] == {"a": "cue-responsive", "b": "not evaluable"} == {
        name: part["verdict"]["word"] for name, part in zip("ab", (a, b), strict=True)}
    again = mechanism.analyse(rows, {"config": config, "provider": "simulated"}, None)
    assert again["stamp"] == "SIMULATED" and "probes" not in again["mechanism"]["by_model"]["a"]


# --- the study ----------------------------------------------------------------------------------

def test_power_grows_with_effect_and_blocks_and_is_nil_for_few_bulletins():
    def chance(effect, bulletins=20, blocks=12, models=1):
        return rivals.power(effect, rivals.Size(bulletins, blocks, models), samples=10).value
    # Without the label rule, which costs .02 to .13, it is .23, .76 and .99.
    small, middle, large = map(chance, (.2, .3, .4))
    assert small < .45 < middle < large > .8 and chance(.3, blocks=6) < middle
    assert chance(.4, bulletins=9) == 0 and chance(.3, models=8) < middle


def test_what_a_simulation_does_not_read_is_not_computed(monkeypatch):
    computed = []
    monkeypatch.setattr(rivals, "entry", lambda rival, cells, level: computed.append(rival) or {
        "p": .5, "low": -.1})
    assert not rivals.passes(placed(NINE)) and computed == [rivals.REQUIRED["HP-LA"]]


def test_an_unfinished_study_has_no_word():
    rows = list(answers(TRUE))
    rows[7] |= {"status": "not_run", "cooperates": None}
    out = study(rows)
    assert out["verdict"]["word"] == "not evaluable" and out["claims"]["may"] == []


def test_held_out_bulletins_replicate_and_have_no_word():
    out = study(answers(TRUE, bulletins=8), holdout=True)
    assert out["verdict"]["word"] == "not evaluable"
    assert any("replicates on held-out bulletins" in line for line in out["claims"]["may"])


def test_a_word_is_holm_adjusted_over_the_models_that_were_asked():
    parts = study(answers(TRUE, model="m"), *(
        answers(shares(.5), model=f"coin{at}") for at in range(3)))["mechanism"][
            "by_model"]
    assert parts["m"]["p_holm"] == pytest.approx(4 * parts["m"]["p"])


def test_contrasts_are_means_of_differences_inside_bulletins():
    rows = list(answers(TRUE, bulletins=12))
    part = study(rows)["mechanism"]["by_model"]["m"]

    def mean(b, cell):
        ys = [r["cooperates"] for r in rows if (r["bulletin"], r["cell"]) == (b, cell)]
        return sum(ys) / len(ys)
    names = sorted({row["bulletin"] for row in rows})
    by_hand = [mean(b, "HP") - mean(b, "LA") - mean(b, "UN") + mean(b, "UL") for b in names]
    one = part["contrasts"]["interaction"]
    assert one["value"] == pytest.approx(sum(by_hand) / 12) and one["units"] == 12
    assert sorted(one["against"]) == [b for b, d in zip(names, by_hand, strict=True) if d < 0]
    assert one["least"] == pytest.approx((sum(by_hand) - max(by_hand)) / 11)


@pytest.mark.parametrize("text, cooperates, status", [
    ("One.\nTwo.\nDecision: COORDINATE", 1, "ok"), ("One.\n**Decision: PREEMPT**\n\n", 0, "ok"),
    ("Decision: COORDINATE\nOn reflection: wait.", None, "unreadable"),
    ("First COORDINATE, then PREEMPT.", None, "ambiguous"), ("", None, "unreadable"),
    ("I'm sorry, but I can't help with that.", None, "refused")])
def test_with_considerations_first_the_last_line_decides(text, cooperates, status):
    config = {"design": "mechanism", "reason": "first", "seed": 1, "runs": 1, "compliance": "low",
              "tells": "standard", "temperature": 1, "max_out": 480, "reasoning_effort": None}
    trial = next(trial for block in pilot.design(load_domain("cvd"), config, ["m"])
                 for trial in block if trial.block.scheme == "L1")
    assert trial.request.user.endswith("]") and "Rationale" not in trial.request.user
    row = pilot.row(trial, Reply("ok", text))
    assert (row["cooperates"], row["status"]) == (cooperates, status)


# --- what is committed -------------------------------------------------------------------------

def test_the_page_shows_the_cells_that_are_asked():
    page = (ROOT / "docs" / "mechanism.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| ([A-Z]{2}) \| (\w+) \|", page, re.M))
    assert rows == {cell.name: cell.S for cell in pilot.MECHANISM}


def test_the_example_gives_superrational_its_word_and_no_rival_one():
    folder = ROOT / "results" / "examples" / "mechanism"
    out = json.loads((folder / "pilot-analysis.json").read_text("utf-8"))
    above = {name for name, word in out["verdict"]["models"].items()
             if WORDS.index(word) > WORDS.index("cue-responsive")}
    assert out["simulated"] and above == {"superrational"}


def test_whatever_keeps_a_model_from_a_word_has_words():
    from cirrus.reports.pilot import LEFT
    assert {*REQUIRED} == {*LEFT}
