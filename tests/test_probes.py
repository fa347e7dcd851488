"""Probes: strict forms, and what a model's answers to them allow."""

import json

import pytest
from domains import both

import run_pilot
from cirrus.ask import pilot, probes
from cirrus.ask.bulletins import FORBIDDEN, PROMPTS
from cirrus.ask.populations import Mind
from cirrus.ask.prompts import load_domain
from cirrus.judge.mechanism import probes_of
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
        assert not FORBIDDEN.search(probe.request.user.rpartition("\n\nNothing is filed")[2])
        assert not FORBIDDEN.search("\n".join(probe.request.user.splitlines()[-8:])), question
        assert "{" not in probe.request.user


@pytest.mark.parametrize("kind, text, expected", [
    ("payoffs", "Order: 2 > 1 > 4 > 3", [1, 0, 3, 2]), ("payoffs", "**Order:** [2, 1, 4, 3].",
                                                         [1, 0, 3, 2]),
    ("payoffs", "Order: 2 > 1 > 4", None), ("payoffs", "2 is best", None),
    ("beliefs", "Number: 70", 70), ("beliefs", "70 of 100", 70), ("beliefs", "Number: 70%", 70),
    ("beliefs", "Number: 170", None), ("beliefs", "about 70", None), ("beliefs", "60-80", None),
    ("influence", "Answer: No.", "no"), ("influence", "no, since it is sealed", None),
    ("notice", "Answer: not stated", "not stated"), ("realism", "Source: training exercise",
                                                    "training exercise"),
    ("realism", "Source: a test", None), ("influence", "", None)])
def test_only_the_form_filled_in_is_an_answer(kind, text, expected, domain_cvd):
    probe = dealt(domain_cvd, kind)[0]
    answer, status = probes.read(probe, text)
    if kind == "payoffs" and expected:
        expected = [probe.shown[at] for at in expected]
    assert (answer, status == "ok") == (expected, expected is not None)


@pytest.fixture
def domain_cvd():
    from domains import DOMAINS
    return DOMAINS["cvd"]


EXPECTING = Mind(diagnostic=60)
ALL = {"payoffs", "beliefs", "marginal", "influence"}


@both
@pytest.mark.parametrize("mind, lacks", [
    (EXPECTING, set()), (Mind(), {"beliefs"}),
    (EXPECTING._replace(payoffs=False), {"payoffs"}),
    (EXPECTING._replace(influence=True), {"influence"}),
    (EXPECTING._replace(marginal=25), {"marginal"})])
def test_each_mind_lacks_what_it_gets_wrong(mind, lacks, domain):
    further = probes_of(list(answered(domain, mind)))["further"]
    assert {name for name, held in further.items() if not held} == lacks


def test_who_answers_nothing_readable_earns_nothing(domain_cvd):
    further = probes_of(list(answered(domain_cvd, lambda probe: "Hard to say.")))["further"]
    assert not any(further.values())


def test_a_kind_that_was_not_asked_is_not_passed(domain_cvd):
    further = probes_of(list(answered(domain_cvd, EXPECTING, "payoffs", "influence")))["further"]
    assert {name for name, held in further.items() if held} == {"payoffs", "influence"}


def test_a_believer_without_a_difference_between_desk_and_rule_is_stopped(domain_cvd):
    def projects(probe):  # its own entry tells of the other's, however that was made
        return f"Number: { {'joint': 80, 'other': 20, 'any': 50}[probe.given]}"
    further = probes_of(list(answered(domain_cvd, projects, "beliefs")))["further"]
    assert not further["beliefs"] and further["marginal"]


@pytest.mark.parametrize("flags, named", [
    ("--design mechanism --probes payofs", "payofs"), ("--probes payoffs", "--design mechanism"),
    ("--design mechanism --probes payoffs,payoffs", "payoffs")])
def test_a_wrong_probe_is_one_line(flags, named):
    from common import UsageError
    with pytest.raises(UsageError, match=named):
        run_pilot.main([*flags.split(), "--dry-run"])


def test_superrational_needs_the_probes(tmp_path, capsys):
    base = ["--design", "mechanism", "--models", "superrational", "--runs", "6", "--out",
            str(tmp_path)]
    for flags, expected in (([], "correlation-sensitive"),
                            (["--probes", "payoffs,beliefs,influence"], "superrational")):
        run_pilot.main([*base, *flags, "--run-id", expected])
        out = json.loads((tmp_path / expected / "pilot-analysis.json").read_text())
        assert out["verdict"]["word"] == expected
        assert (tmp_path / expected / "probes.jsonl.gz").exists() == bool(flags)
    assert "SIMULATED" in capsys.readouterr().out
