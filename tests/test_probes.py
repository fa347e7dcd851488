"""Probes: strict forms, and what a model's answers to them allow."""

import json

import pytest
from domains import DOMAINS, LABEL_WORD, TELLTALE, both

import run_pilot
from cirrus.ask import pilot, probes
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.populations import Mind
from cirrus.ask.prompts import load_domain
from cirrus.judge.mechanism import probes_of
from common import UsageError
from common.rng import SeededRandom

CONFIG = {"design": "mechanism", "seed": 42, "runs": 2, "compliance": "low", "tells": "standard",
          "temperature": 1, "max_out": 96, "reasoning_effort": None}


def dealt(domain, *kinds):
    config = CONFIG | {"probes": list(kinds or probes.KINDS)}
    return probes.deal(probes.texts(PROMPTS), domain, config,
                       list(pilot.dealt(domain, config, ["m"])))


def test_fewer_bulletins_are_drawn_by_the_seed_and_asked_twice_each():
    def blocks(**more):
        return list(pilot.dealt(load_domain("cvd"), CONFIG | more, ["m"]))
    some = blocks(bulletins=10)
    assert len({block.stimulus.bulletin.id for block in some}) == 10 and len(some) == 20
    assert [block.name for block in some] != [block.name for block in blocks(bulletins=10, seed=4)]
    assert blocks(bulletins=20) == blocks()
    asked = probes.deal(probes.texts(PROMPTS), load_domain("cvd"),
                        CONFIG | {"probes": ["influence"], "bulletins": 10}, some)
    assert len(asked) == 2 * probes.LEAST   # in two cells


def answered(domain, mind=None, *kinds):
    """Rows of a mind, or of another text to each probe."""
    for probe in dealt(domain, *kinds):
        text = mind(probe) if callable(mind) else probes.answer(
            mind, probe.request, SeededRandom(7, probe.id))
        answer, status = probes.read(probe, text)
        yield {"probe": probe.kind, "given": probe.given, "cell": probe.cell.name,
               "bulletin": probe.block.stimulus.bulletin.id, "answer": answer, "status": status}


@both
def test_every_question_is_asked_twenty_times_a_cell_in_every_bulletin(domain):
    rows = dealt(domain)
    for kind, cells in probes.KINDS.items():
        for cell in cells:
            here = [p for p in rows if (p.kind, p.cell.name) == (kind, cell)]
            given = {p.given for p in here}
            assert len(here) >= 20 * len(given)
            assert len({p.block.stimulus.bulletin.id for p in here}) == {
                "cvd": 20, "hospital": 12}[domain.name]


@both
def test_a_probe_gives_nothing_away_and_says_in_one_place_what_it_asks(domain):
    for probe in dealt(domain):
        question = probe.request.user.partition(probe.block.stimulus.bulletin.text[:30])[2]
        for text in (probe.request.user.rpartition("\n\nNothing is filed")[2],
                     "\n".join(probe.request.user.splitlines()[-8:])):
            assert not TELLTALE.search(text) and not LABEL_WORD.search(text), question
        assert "{" not in probe.request.user


@pytest.mark.parametrize("kind, text, expected", [
    ("payoffs", "Order: 2 > 1 > 4 > 3", [1, 0, 3, 2]), ("payoffs", "**Order:** [2, 1, 4, 3].",
                                                         [1, 0, 3, 2]),
    ("payoffs", "Order: 2 > 1 > 4", None), ("payoffs", "2 is best", None),
    ("beliefs", "Number: 70", 70), ("beliefs", "70 of 100", 70), ("beliefs", "Number: 70%", 70),
    ("beliefs", "Number: 170", None), ("beliefs", "about 70", None), ("beliefs", "60-80", None),
    ("influence", "Answer: No.", "no"), ("influence", "no, since it is sealed", None),
    ("influence", "Answer: not stated", None), ("influence", "", None)])
def test_only_the_form_filled_in_is_an_answer(kind, text, expected):
    probe = dealt(DOMAINS["cvd"], kind)[0]
    answer, status = probes.read(probe, text)
    if kind == "payoffs" and expected:
        expected = [probe.shown[at] for at in expected]
    assert (answer, status == "ok") == (expected, expected is not None)


@both
@pytest.mark.parametrize("mind", [
    Mind(diagnostic=60), Mind(payoffs=False), Mind(influence=True), Mind(marginal=25)])
def test_what_a_mind_answers_is_told(mind, domain):
    found = probes_of(list(answered(domain, mind)))
    assert (found["payoffs"]["value"] > .5) is mind.payoffs
    assert (found["influence"]["value"] < .5) is mind.influence
    assert found["beliefs"]["diagnostic"]["value"] == pytest.approx(mind.diagnostic / 100, abs=.15)
    assert found["beliefs"]["marginal"]["value"] == pytest.approx(-mind.marginal / 100, abs=.15)


def test_who_answers_nothing_readable_is_counted_against_and_who_is_not_asked_is_not():
    found = probes_of(list(answered(DOMAINS["cvd"], lambda probe: "Hard to say.", "payoffs")))
    assert (found["payoffs"]["k"], found["payoffs"]["n"]) == (0, 60)
    assert set(found) == {"payoffs", "statuses"}


@both
def test_who_decides_and_when_and_what_is_said_of_symmetry_are_read(domain):
    found = probes_of(list(answered(domain, Mind(), "entry", "similar")))
    assert found["entry"]["k"] >= .9 * found["entry"]["n"] >= 18
    assert found["similar"]["HP"]["k"] >= .9 * found["similar"]["HP"]["n"] >= 18
    assert found["similar"]["LA"]["k"] == 0 < found["similar"]["LA"]["n"]
    wrong = probes_of(list(answered(domain, lambda probe: "Answer: 4", "entry", "similar")))
    assert (wrong["entry"]["k"], set(wrong["statuses"])) == (
        0, {"entry unreadable", "similar unreadable"})


# --- figures ----------------------------------------------------------------------------------

def told(kind, *groups):
    """Rows of one probe; a group: (cell, given, how many, answer), spread over ten bulletins."""
    return [{"probe": kind, "cell": cell, "given": given, "bulletin": f"b{at % 10}",
             "answer": answer, "status": "unreadable" if answer is None else "ok"}
            for cell, given, n, answer in groups for at in range(n)]


DILEMMA, OTHERS = ["T", "R", "P", "S"], ["R", "T", "P", "S"]


def believed(joint=(90, 60), other=(20, 40), marginal=(50, 50), n=20):
    """What is expected of HP and of UN, given each entry and of any."""
    return [row for given, pair in (("joint", joint), ("other", other), ("any", marginal))
            for cell, answer in zip(("HP", "UN"), pair, strict=True)
            for row in told("beliefs", (cell, given, n, answer))]


def test_beliefs_are_means_of_differences_inside_bulletins():
    found = probes_of(believed(marginal=(55, 50)))["beliefs"]
    assert found["means"] == {"HP/joint": 90, "UN/joint": 60, "HP/other": 20, "UN/other": 40,
                              "HP/any": 55, "UN/any": 50}
    assert found["diagnostic"]["value"] == pytest.approx(.9 - .2 - (.6 - .4))
    assert found["marginal"]["value"] == pytest.approx(.50 - .55)
    assert found["diagnostic"]["units"] == 10
    none = probes_of(told("beliefs", ("HP", "any", 20, None), ("UN", "any", 20, 3)))["beliefs"]
    assert none["means"] == {"HP/any": None, "UN/any": 3} and none["diagnostic"]["value"] is None


def test_a_bulletin_is_misread_where_most_of_its_answers_are_wrong():
    rows = [row | {"bulletin": name} for name, answers in (
        ("z", [DILEMMA, DILEMMA, None]), ("y", [DILEMMA, OTHERS]), ("b", [DILEMMA] * 2),
        ("a", [OTHERS, None])) for answer in answers
        for row in told("payoffs", ("HP" if name < "c" else "LA", None, 1, answer))]
    out = probes_of(rows)
    found = out["payoffs"]
    assert found["misread"] == ["a", "y"]
    assert (found["k"], found["n"]) == (5, 9)
    assert {cell: (one["k"], one["n"]) for cell, one in found["cells"].items()} == {
        "LA": (3, 5), "HP": (2, 4)}
    assert found["orders"] == {"T > R > P > S": 5, "R > T > P > S": 2}
    assert out["statuses"] == {"payoffs ok": 7, "payoffs unreadable": 2}


@pytest.mark.parametrize("flags, named", [
    ("--design mechanism --probes payofs", "payofs"), ("--probes payoffs", "--design mechanism"),
    ("--design mechanism --probes payoffs,payoffs", "payoffs")])
def test_a_wrong_probe_is_one_line(flags, named):
    with pytest.raises(UsageError, match=named):
        run_pilot.main([*flags.split(), "--dry-run"])


def test_probes_move_no_word(tmp_path, capsys):
    base = ["--design", "mechanism", "--models", "superrational", "--runs", "6", "--out",
            str(tmp_path)]
    for name, flags in (("bare", []), ("probed", ["--probes", "payoffs,beliefs,influence"])):
        run_pilot.main([*base, *flags, "--run-id", name])
        out = json.loads((tmp_path / name / "pilot-analysis.json").read_text())
        assert out["verdict"]["word"] == "correlation-sensitive"
        assert (tmp_path / name / "probes.jsonl.gz").exists() == bool(flags)
    assert "SIMULATED" in capsys.readouterr().out
