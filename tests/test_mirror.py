"""The mirror study: who earns which word, on simulated studies of declared respondents.

A respondent sees what a prompt of the study says, and gives the log-odds of its late entry. Studies
have bulletins, bulletins by cell and wordings of their own (SD .8, .4 and .25 in log-odds).
"""

import math
import random
from collections import Counter
from itertools import product
from typing import NamedTuple

import pytest

from cirrus.ask import mirror
from cirrus.judge.mirror import WORDS, judged
from cirrus.reports import mirror as report
from show import document

MODEL = "a/model"
POSITIVE = WORDS[WORDS.index("evidence-sensitive") :]
SURE = 400  # log-odds a unit of utility that decide everything


class Seen(NamedTuple):
    """What a prompt says: the rate that applies to {peer}, utilities of the four
    lines from 0 to 1, whether own staff decided {peer}'s entry, whether it is of the class with the
    high rate, which rate is named first, and which option. `mood`: the reader's in this bulletin."""

    rate: float
    T: float
    R: float
    P: float
    S: float
    own: bool
    better: bool
    high_first: bool
    late_first: bool
    mood: float
    rng: random.Random

    @property
    def stakes(self):
        """What late brings more where both enter alike, and early where they do not."""
        return self.R - self.P, self.T - self.S

    @property
    def better_late(self):
        return self.T + self.R - self.P - self.S


# --- respondents -------------------------------------------------------------------------------


def gain(seen, rate):
    """What late brings more than early where so many of {peer}'s entries are like one's own, as a
    share of all that is at stake."""
    alike, unlike = seen.stakes
    return (rate * alike - (1 - rate) * unlike) / (abs(alike) + abs(unlike))


def taste(exponent):
    """A reasoner that is averse to risk (below 1) or seeks it."""

    def log_odds(seen):
        bent = {line: getattr(seen, line) ** exponent for line in "TRPS"}
        return SURE * gain(seen._replace(**bent), seen.rate)

    return log_odds


def kindness(seen):
    """Rapoport's index: how much two late entries bring more than two early ones."""
    alike, unlike = seen.stakes
    return alike / (abs(alike) + abs(unlike))


def price(seen, late):
    """What going late costs where the other is late with this chance, one's own entry aside."""
    tempted, safe = seen.T - seen.R, seen.P - seen.S
    return late * tempted + (1 - late) * safe


def outlook(seen):
    """What the other's entry is expected to bring, with N of 20 alike taken for N of 20 late."""
    return (seen.rate - 0.5) * seen.better_late


def kind_act(seen):
    """1 where going late is what serves {peer}, which has the same lines with both exchanged."""
    return sign(seen.better_late)


def sign(x):
    return (x > 0) - (x < 0)


REASONERS = {
    "sharp": lambda seen: SURE * gain(seen, seen.rate),
    "sharp, 10% slips": lambda seen: (SURE * gain(seen, seen.rate), 0.2),
    "20 log-odds a unit": lambda seen: 20 * gain(seen, seen.rate),
    "averse to risk": taste(0.6),
    "seeking risk": taste(1.6),
    "half believes the record": lambda s: SURE * gain(s, 0.5 + (s.rate - 0.5) / 2),
    "half of the bulletins": lambda s: SURE * gain(s, s.rate) if s.mood > 0 else -6,
}
# What no data of these cells can exclude: they earn the word.
OPEN = {
    "reads off the lines": lambda s: 6 * sign((s.rate - 0.5) * kindness(s)) - 1,
    "N late, and a good outlook": lambda s: 6 * sign(outlook(s)) - 1,
}
RIVALS = {
    "likes the number": lambda seen: 12 * (seen.rate - 0.7),
    "dislikes it in half": lambda seen: 8 * sign(seen.mood) * (seen.rate - 0.5),
    "number + payoff": lambda s: 12 * (s.rate - 0.75) + 8 * (kindness(s) - 0.25),
    "number + payoff, steep": lambda s: 40 * (s.rate - 1 + kindness(s)),
    "number × payoff": lambda s: 30 * s.rate * max(kindness(s) + 0.7, 0) - 20,
    "late where cheap, N late": lambda s: -40 * (price(s, s.rate) - 0.15),
    "late where cheap, N early": lambda s: -40 * (price(s, 1 - s.rate) - 0.15),
    "reciprocal, N late": lambda s: 6 * sign(s.rate - 0.5) - 1,
    "reciprocal, by consequences": lambda s: 6 * kind_act(s) * sign(outlook(s)) - 1,
    "causal, 5% slips": lambda seen: (-9, 0.1),
    "causal, half late": lambda s: -SURE * price(s, 0.5),
    "kind by payoff": lambda s: 20 * (kindness(s) - 0.2),
    "anchored on the first": lambda s: 6.4 * (s.high_first - 0.5),
    "likes the better record": lambda seen: 8 * seen.better - 4,
    "takes the mirror for the usual": lambda seen: SURE * (seen.rate - 0.67),
    "position": lambda seen: 6 * seen.late_first - 3,
    "hash of the prompt": lambda seen: seen.rng.gauss(0, 9),
    "coin": lambda seen: 0,
}


# --- studies -----------------------------------------------------------------------------------


def utilities(b, cell):
    """Of the four lines of bulletin b, from 0 to 1."""
    costs = mirror.outcomes(b, 20 + 3 * b, cell, mirror.half_of(b))
    least, most = min(costs.values()), max(costs.values())
    return {line: (most - cost) / (most - least) for line, cost in costs.items()}


def seen_by(b, k, cell, mood, rng):
    """What block k of bulletin b says in this cell."""
    high, first = mirror.classes(b, k)
    peer, alike = mirror.applies(cell, high)
    return Seen(
        rate=alike[peer] / 20,
        **utilities(b, cell),
        own=peer == "own",
        better=peer == high,
        high_first=first == high,
        late_first=rng.random() < 0.5,
        mood=mood,
        rng=rng,
    )


def drawn(rng, sd, names):
    return {name: rng.gauss(0, sd) for name in names}


FORM = {"H": "omit", "label_scheme": "L1", "order": "other-first", "read_from": "line"}


def study(respondent, seed, bulletins=20, blocks=2, missing=0.0, model=MODEL):
    """The rows of one study: 240 calls by default."""
    rng, rows = random.Random(seed), []
    record, own = drawn(rng, 0.25, range(12)), drawn(rng, 0.25, range(12))
    for b in range(bulletins):
        bulletin, mood = rng.gauss(0, 0.8), rng.gauss(0, 1)
        by_cell = drawn(rng, 0.4, mirror.CELLS)
        for k, cell in product(range(blocks), mirror.CELLS):
            wording = (12 * k // blocks + b) % 12
            seen = seen_by(b, k, cell, mood, rng)
            answer, slips = respondent(seen), 0
            if isinstance(answer, tuple):
                answer, slips = answer
            lean = answer + bulletin + by_cell[cell] + record[wording]
            lean += seen.own * own[wording]
            chance = 1 / (1 + math.exp(-max(-30, min(30, lean))))
            late = rng.random() < (1 - slips) * chance + slips / 2
            row = FORM | {"model": model, "cell": cell, "bulletin": f"round_{b + 1}"}
            row |= {"wording": wording + 1, "half": mirror.half_of(b)}
            row["high_class"], row["named_first"] = mirror.classes(b, k)
            row |= {"status": "ok", "cooperates": int(late)}
            if rng.random() < missing:
                row |= {"status": "unreadable", "cooperates": None}
            rows.append(row)
    return rows


def words(respondent, studies, **more):
    """How often each word is earned."""
    found = Counter()
    for seed in range(studies):
        part = part_of(study(respondent, seed, **more))
        found[part["verdict"]["word"]] += 1
    return found


def part_of(rows):
    return judged(rows, [MODEL])["by_model"][MODEL]


def share(found):
    """Of the studies, those with `evidence-sensitive` or more."""
    return sum(found[word] for word in POSITIVE) / found.total()


# --- who earns what ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", RIVALS)
def test_no_closed_rival_earns_evidence(name):
    assert share(words(RIVALS[name], 20)) == 0


@pytest.mark.parametrize("name", REASONERS)
def test_a_reasoner_earns_it_nearly_always_at_240_calls(name):
    least = 0.3 if name == "half of the bulletins" else 0.9
    assert share(words(REASONERS[name], 20)) >= least


def test_a_sharp_reasoner_weighs():
    assert words(REASONERS["sharp"], 20)["evidence-weighing"] == 20


@pytest.mark.parametrize("name", OPEN)
def test_what_is_always_open_earns_it_too(name):
    assert share(words(OPEN[name], 20)) >= 0.9


def test_with_3_percent_missing_a_sharp_reasoner_keeps_its_word():
    assert share(words(REASONERS["sharp"], 20, missing=0.03)) >= 0.9


# --- the judge ---------------------------------------------------------------------------------


def fixed(decide, bulletins=8, blocks=2, **more):
    """A study in which `decide(b, k, cell)` is each decision."""
    rows = study(RIVALS["coin"], 0, bulletins, blocks, **more)
    places = product(range(bulletins), range(blocks), mirror.CELLS)
    for row, place in zip(rows, places, strict=True):
        row["cooperates"] = decide(*place)
    return rows


LATE = ("PD18", "M2", "near")  # where evidence says late


def ideal(b, k, cell):
    return int(cell in LATE)


def ideal_where(holds):
    """By evidence where `holds(b, k)`, else early."""
    return lambda b, k, cell: int(cell in LATE and holds(b, k))


def test_a_contrast_is_what_is_computed_by_hand():
    rows = fixed(ideal_where(lambda b, k: (b, k) != (0, 0)), 6)
    for row in rows:
        row["wording"] = 1
    found = part_of(rows)["contrasts"]["PD18-PD2"]
    # 11 of 12 against 0 of 12. Wilson: .6461 below 11/12, .2425 above 0.
    # 11/12 − √((11/12 − .6461)² + .2425²) = .5534; 5 bulletins at 1 and one at .5 reach .2142 only.
    assert found["value"] == pytest.approx(11 / 12)
    assert found["low"] == pytest.approx(0.5534, abs=1e-4)
    kept = ("units", "wordings", "limit_by", "level")
    assert [found[name] for name in kept] == [6, 1, "pooled", 0.95]


GAME = {"PD18": 0, "PD2": 0, "M18": 1, "M2": 1}


def test_the_smaller_of_both_games_has_to_lie_above_zero_in_the_same_bulletins():
    def apart(b, k, cell):
        """One game answered by evidence in two bulletins of four, the other in the other two."""
        now = b // 2 % 2
        return int(cell in LATE and GAME.get(cell, now) == now)

    part = part_of(fixed(apart, 20))
    for name in ("PD18-PD2", "M2-M18"):
        assert part["contrasts"][name]["low"] > 0
    assert part["verdict"]["word"] == "record-sensitive"
    assert "the smaller of both" in part["verdict"]["sentence"]


@pytest.mark.parametrize("always", [0, 1])
def test_constant_answers_show_nothing(always):
    part = part_of(fixed(lambda *_: always, 20))
    found = part["contrasts"]["PD18-PD2"]
    assert part["verdict"]["word"] == "not shown"
    assert found["low"] < found["value"] == 0 < found["high"]


def test_an_effect_in_one_half_or_under_one_order_alone_is_not_enough():
    part = part_of(fixed(ideal_where(lambda b, k: b % 2 == 0), 28))
    assert part["verdict"]["word"] == "record-sensitive"
    assert part["contrasts"]["PD18-PD2, low half"]["value"] == 0
    own_first = ideal_where(lambda b, k: mirror.classes(b, k)[1] == "own")
    part = part_of(fixed(own_first, 28))
    assert part["contrasts"]["PD18-PD2"]["low"] > 0
    assert part["verdict"]["word"] == "record-sensitive"


def test_what_lies_below_zero_is_said_to():
    part = part_of(fixed(lambda *place: 1 - ideal(*place), 20))
    assert part["verdict"]["sentence"].count("below 0") == 2


def test_few_bulletins_and_few_answers_get_no_word():
    few = part_of(fixed(ideal, 5))["verdict"]["sentence"]
    assert few.startswith("Not evaluable: 5 bulletins, 6 are needed")
    rows = fixed(ideal)
    for row in [row for row in rows if row["cell"] == "M2"][:4]:
        row |= {"status": "unreadable", "cooperates": None}
    assert part_of(rows)["verdict"]["sentence"] == (
        "Not evaluable: 4 of 16 decisions in a cell are missing, over 10%."
    )


def test_missing_answers_take_a_word_only_where_they_may_make_it():
    of_20 = {"PD18": 10, "PD2": 5}

    def weak(b, k, cell):
        return int((7 * b + 5 * k) % 20 < of_20.get(cell, 0))

    rows = fixed(weak, 20, 4)
    assert part_of(rows)["verdict"]["word"] == "record-sensitive"
    early = [row for row in rows if (row["cell"], row["cooperates"]) == ("PD2", 0)]
    for row in early[:8]:
        row["cooperates"] = None
    verdict = part_of(rows)["verdict"]
    assert verdict["word"] == "not shown"
    assert "with what is missing counted against it" in verdict["sentence"]


def test_the_level_is_shared_by_the_models_and_sentences_say_it():
    rows = fixed(ideal, 20) + fixed(ideal, 20, model="b/model")
    out = judged(rows, [MODEL, "b/model"])["by_model"]
    for part in out.values():
        levels = {contrast["level"] for contrast in part["contrasts"].values()}
        assert levels == {0.975} and "97.5% intervals" in part["verdict"]["sentence"]
        assert part["verdict"]["word"] == "evidence-weighing"
        assert "illusion of control" in part["verdict"]["sentence"]


# --- the page ----------------------------------------------------------------------------------


def test_the_page_shows_each_cell_and_contrast():
    part = part_of(fixed(ideal, 20))
    [fold] = report.details({MODEL: part})
    foot = document.Foot("0", {}, "")
    page = document.markdown(document.Document("m", "", "", foot, gist=fold.parts))
    assert "lines as usual, 18 of 20 alike: evidence says late | 40/40 | 100%" in page
    assert "| 18 − 2 of 20 alike, lines as usual, low half | +100.0" in page


# --- the dealing -------------------------------------------------------------------------------


def test_outcomes_have_the_ratios_that_the_words_rest_on():
    thresholds = {"near": 0.6, "far": 0.8}
    for b, cell in product(range(28), mirror.CELLS):
        half = mirror.half_of(b)
        T, R, P, S = mirror.outcomes(b, 5, cell, half).values()
        if cell in ("M18", "M2"):
            T, R, P, S = P, S, T, R
        assert 5 == T < R < P < S
        tempted, saved = S - T, P - R
        threshold = tempted / (tempted + saved)
        assert threshold == pytest.approx(thresholds.get(cell, 2 / 3))
        if cell in mirror.GAMES:
            ratio = (S - P) / (R - T)
            assert 8 <= (ratio if half == "high" else 1 / ratio) <= 10


SIZES = [(28, 2), (20, 2), (28, 4), (20, 4)]


@pytest.mark.parametrize("bulletins, blocks", SIZES)
def test_halves_classes_and_their_order_are_balanced(bulletins, blocks):
    met = Counter()
    for b, k in product(range(bulletins), range(blocks)):
        met[mirror.half_of(b), *mirror.classes(b, k)] += 1
    assert len(met) == 8 and max(met.values()) == min(met.values())


def test_the_rate_that_applies_is_that_of_the_class_which_decided_the_entry():
    rates = {"PD2": 2, "M2": 2, "near": 14, "far": 14}
    for cell, high in product(mirror.CELLS, mirror.CLASSES):
        peer, alike = mirror.applies(cell, high)
        rate = rates.get(cell, 18)
        assert alike[peer] == rate and sum(alike.values()) == 20
        assert (peer == high) is (rate > 10)
