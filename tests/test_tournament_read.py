"""run_tournament.py --read probability: what was planted is read, drawn from, resumed, analysed;
what fakes it is no decider."""

import csv
import json
import math
import re
from itertools import pairwise, product

import pytest
from speaker import CUT, Speaker, decides, form
from study_rows import decision
from tournaments import answered, dealt, derived, said

import analyze
import run_tournament
from cirrus.ask.cues import read_cues
from cirrus.ask.encounters import drawn, encounter_id, replay
from cirrus.judge import gates
from cirrus.judge.study import _repeated, tables_of
from cirrus.judge.tripwires import position
from common import PROVIDER, USAGE, UsageError
from common.preflight import needs_of
from common.wire import Terms

POLICY = "Keep the agreed date.\nFile as agreed.\nTell the desk.\n"
SHARES = {True: .8, False: .3}   # of the cooperative label, with symmetry and cue and with neither
MASS = .98 / .992
EXTREMES = (("high", "present", "low"), ("low", "absent", "low"))


def speaks(says, **server):
    """A server that writes policies and, asked for a decision, has what `says` gives."""
    def replies(prompt):
        writes = form(prompt) is None and "yes or no" not in prompt
        return {(POLICY,): 1.0} if writes else says(prompt)
    return Speaker(replies, **server)


def planted(prompt, labels):
    cues = read_cues(re.search(r"<\|im_start\|>user\n(.*?)<\|im_end\|>", prompt, re.S)[1])
    share = SHARES[cues.symmetric and cues.coupled]
    return share if labels[0] == cues.cooperative else 1 - share


def played(folder, speaker, *flags, rounds=6, writer="m"):
    """(how it ended, folders of its two runs) of a plan of the two extreme cells."""
    folder.mkdir(exist_ok=True)
    plan, config = folder / "two.json", folder / "live.json"
    plan.write_text(json.dumps({"runs": [
        {"toggles": dict(zip("SCH", cell, strict=True))} for cell in EXTREMES]}))
    config.write_text(json.dumps({"models": {"strategy": {"name": writer}}}))
    with speaker:
        done = run_tournament.main([
            "--plan", str(plan), "--read", "probability", "--base-url", speaker.url,
            "--models", "m", "--agents", "2", "--rounds", str(rounds), "--config", str(config),
            "--limit-usd", "1000", "--out", str(folder / "out"), *flags])
    return done, sorted((folder / "out").glob("*/cvd-*"))


def answers(run):
    """(encounter, side, answer, act) of every decision of a run."""
    for path in sorted(run.glob("round_*_games.json")):
        for game in json.loads(path.read_text("utf-8"))["games"]:
            for side, name in zip("ab", game["pair"], strict=True):
                yield game, side, game["answers"][name], game["decision"][name]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """(runs, analysis) of a tournament whose shares are known."""
    done, runs = played(tmp_path_factory.mktemp("read"), speaks(decides(planted)))
    assert done.code == 0, done.error
    analyze.main([str(runs[0].parent)])
    return runs, json.loads((runs[0].parent / "acausal-analysis.json").read_text("utf-8"))


# --- what is read ------------------------------------------------------------------------------

def test_the_planted_share_is_read_of_every_decision_and_the_act_is_drawn_from_it(whole):
    runs, _ = whole
    for run, share in zip(runs, SHARES.values(), strict=True):
        rows = list(answers(run))
        assert len(rows) == 36
        for game, side, answer, act in rows:
            assert answer["cooperates"] == pytest.approx(share)
            assert answer["mass"] == pytest.approx(MASS) and answer["opened"] == "Decision: **"
            assert answer["status"] == "ok" and answer["answers"] == 2
            expected = drawn(42, f"{game['id']}/{side}", answer["cooperates"])
            assert act == {"C": "COORDINATE", "D": "PREEMPT"}[expected] and game["raw_payoffs"]
        assert abs(sum(act == "COORDINATE" for *_, act in rows) / 36 - share) < .2


def tells(request):
    """A reply whose tokens tell .7 for the cooperative label; a policy."""
    if not request.top:
        return said(POLICY)
    if request.follows:
        return said("**")._replace(opened=request.opening, steps=(("**", {"**": 0.0}),))
    cues = read_cues(request.user)
    chances = {cues.cooperative: math.log(.7), cues.other: math.log(.3)}
    return said(cues.cooperative)._replace(
        opened=request.opening, steps=((cues.cooperative, chances), ("**", {"**": 0.0})))


def test_each_side_sees_what_was_drawn_of_the_other():
    t = dealt(read="probability", opening="Decision: **", agents=4, rounds=1)
    asked = {}

    def reply_of(request):
        asked[request.id] = request
        return tells(request)
    for encounters in replay(t, t.rounds[0], reply_of).encounters:
        for before, now in pairwise(encounters):
            name = encounter_id(t, t.rounds[0], now.pair, now.number)
            assert read_cues(asked[f"{name}/a"].user).peer == before.b.act
            assert read_cues(asked[f"{name}/b"].user).peer == before.a.act
            assert now.a.read["cooperates"] == pytest.approx(.7) and f"{name}/a~2" in asked
    assert {(request.stage, request.temperature) for request in asked.values()} == {
        ("strategy", .7), ("decision", 1)}


def test_a_draw_follows_its_share_and_its_name():
    acts = [drawn(1, f"r/r1/p{n}/e1/a", .3) for n in range(2000)]
    assert .27 < acts.count("C") / 2000 < .33 and drawn(1, "x", None) is None
    assert acts != [drawn(2, f"r/r1/p{n}/e1/a", .3) for n in range(2000)]


def test_a_run_of_it_follows_from_its_journal(whole):
    assert analyze.main(["--verify", str(whole[0][0].parent)]).code == 0


def test_a_run_that_was_broken_off_between_two_answers_of_a_reading_is_resumed(whole, tmp_path):
    class Breaks(Speaker):
        def answer(self, path, body):
            return None if len(self.asked) > 61 else super().answer(path, body)
    healthy = speaks(decides(planted))
    broken = Breaks(healthy.says)
    done, runs = played(tmp_path, broken, "--concurrency", "1")
    assert done.code == PROVIDER
    names = answered(tmp_path).keys()
    assert any(f"{name}~2" not in names for name in names if re.search(r"/e\d/[ab]$", name))
    done, runs = played(tmp_path, healthy)
    assert done.code == 0 and set(answered(tmp_path).values()) == {1}
    assert [derived(run) for run in runs] == [derived(run) for run in whole[0]]


# --- what is analysed --------------------------------------------------------------------------

def test_the_shares_are_what_is_compared(whole):
    runs, out = whole
    primary = out["established"]["effects"]["primary"]
    assert primary["value"] == pytest.approx(.5) and primary["units"] == 6
    assert "m free (the two labels hold 98.8% of its probability)" in out["verdict"]["sentence"]
    with open(runs[0].parent / "exports" / "decisions.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {round(float(row["cooperates"]), 9) for row in rows} == {.8, .3}
    assert {row["opened"] for row in rows} == {"Decision: **"}


def test_what_only_decisions_of_0_and_1_have_is_left_out_and_says_so(whole):
    out = whole[1]
    for model in (out["primary"]["model"]["with_policy"], out["markers"]["validity"]):
        assert "no shares to fit" in model["why"]
    wires = {wire["tripwire"]: wire for wire in out["tripwires"]}
    assert wires["truncation"]["tripped"] is None
    assert "could be cut off" in wires["truncation"]["figure"]
    assert all(counts == {} for counts in out["markers"]["rationales"].values())


def shares(by_scheme):
    """First encounters of two cells on eight bulletins, every scheme and order, as shares."""
    for bulletin, (scheme, y), order, cell in product(
            range(8), by_scheme.items(), ("cooperative-first", "other-first"),
            EXTREMES):
        share = y - .3 * (cell[0] == "low")
        yield decision(cell, 1, f"agent-{bulletin}", bulletin=f"b{bulletin}", label_scheme=scheme,
                       option_order=order)._replace(
            cooperates=share, first_taken=share if order == "cooperative-first" else 1 - share,
            answers=2, mass=.98, p_cooperate=.98 * share, p_other=.98 * (1 - share), echoed=0.0)


@pytest.mark.parametrize("by_scheme, verdict", [
    ({"L1": .8, "L2": .8, "L3": .8}, "pass"), ({"L1": .81, "L2": .8, "L3": .8}, "pass"),
    ({"L1": .9, "L2": .8, "L3": .8}, "fail")])
def test_label_invariance_is_decided_by_few_shares(by_scheme, verdict):
    rows = list(shares(by_scheme))
    gate = gates.labels(gates.Evidence({}, {"main": rows}, tables_of(rows)))
    assert gate["established"]["verdict"] == verdict


def test_a_reader_of_places_rings_the_position_tripwire():
    wire = position([row._replace(first_taken=.7) for row in shares({"L1": .8, "L2": .8})])
    assert wire["tripped"] and "the first has 70.0% of the two labels'" in wire["figure"]


# --- what would fake it ------------------------------------------------------------------------

def test_a_reader_that_copies_the_form_is_no_decider(tmp_path):
    def copies(prompt):
        said = decides(planted)(prompt)
        if labels := form(prompt):
            said[("Decision", ":", " **", *CUT[labels[0]], "|", labels[1], "]")] = .97
        return said
    _, runs = played(tmp_path, speaks(copies, gives={"chat"}))
    rows = [answer for run in runs for _, _, answer, _ in answers(run)]
    assert all(row["mass"] < .6 and row["echoed"] > .4 and row["opened"] is None for row in rows)
    analyze.main([str(runs[0].parent)])
    out = json.loads((runs[0].parent / "acausal-analysis.json").read_text("utf-8"))
    assert "forced (of the two labels it would take one" in out["verdict"]["sentence"]
    assert any("its reading is forced" in line for line in out["claims"]["may_not"])


@pytest.mark.parametrize("reading, word", [
    ({"kind": "free", "whole": True}, "correlation-sensitive"),
    ({"kind": "free", "whole": False}, "cue-responsive"),
    ({"kind": "forced", "whole": False}, "cue-responsive")])
def test_a_forced_reading_repeats_no_higher_word(reading, word):
    models = {"m": "cue-responsive"}
    own = {"word": "cue-responsive", "models": models, "scope": "here", "sentence": "Cue."}
    mechanism = {"word": "correlation-sensitive", "models": {"m": "correlation-sensitive"},
                 "scope": "there", "sentence": "More."}
    found = _repeated({"verdict": own, "gates": [{"established": {"verdict": "pass"}}],
                       "reading": {"m": reading | {"mass": .99, "openings": ["Decision: **"]}}},
                      mechanism)
    assert found["word"] == word


def test_a_reply_that_was_reasoned_is_missing(tmp_path):
    _, runs = played(tmp_path, speaks(decides(planted), gives={"chat"},
                                      extra={"reasoning": "Hm."}), rounds=1)
    for _, _, answer, act in answers(runs[0]):
        assert (answer["status"], answer["cooperates"], act) == ("reasoned", None, None)


# --- before the first call ---------------------------------------------------------------------

def test_a_server_without_probabilities_is_named_before_anything_is_asked(tmp_path):
    speaker = speaks(decides(planted), gives=set())
    done, _ = played(tmp_path, speaker)
    assert done.code == USAGE
    assert "m: its server gives no log-probabilities; use --read text" in done.error
    assert not any("Decision" in json.dumps(body) for body in speaker.asked)


def test_who_only_writes_policies_needs_no_probabilities(tmp_path):
    class Writer(Speaker):
        def answer(self, path, body):
            self.gives = set() if body["model"] == "writer" else {"chat"}
            return super().answer(path, body)
    done, _ = played(tmp_path, Writer(speaks(decides(planted)).says), rounds=1, writer="writer")
    assert done.code == 0, done.error


@pytest.mark.parametrize("read, needs", [
    (None, ("temperature", "logprobs")), (("m",), ("temperature", "logprobs")),
    (("other",), ("temperature",))])
def test_probabilities_are_needed_of_whom_they_are_read(read, needs):
    assert needs_of("m", ("temperature", "logprobs"), Terms(read=read)) == needs


def test_who_is_to_reason_first_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"m would reason .*\(effort high\); add --effort none"):
        played(tmp_path, speaks(decides(planted)), "--effort", "high")


def test_simulated_respondents_have_none(tmp_path):
    with pytest.raises(UsageError, match="no probabilities to tell"):
        run_tournament.main(["--read", "probability", "--provider", "simulated"])


def test_a_dry_run_counts_as_many_answers_as_a_reading_can_take(tmp_path):
    done, runs = played(tmp_path, speaks(decides(planted)), "--dry-run", rounds=2)
    # Of each run 2 rounds × (2 policies + 3 games × 2 sides × 6 answers).
    assert done.facts["calls"] == 2 * 2 * (2 + 3 * 2 * 6) and "at most 76 calls" in done.text
    assert not runs
