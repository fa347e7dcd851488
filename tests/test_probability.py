"""Decisions read as probabilities: what was planted is what is read, and what fakes it shows."""

import gzip
import importlib.util
import json
from itertools import pairwise, takewhile

import pytest
from conftest import ROOT
from speaker import CAN, CUT, Speaker, decides, form
from test_mechanism import answers, shares, study

import analyze
import run_pilot
from cirrus.ask.pilot import by_prompt, design
from cirrus.ask.prompts import load_domain
from cirrus.judge import effects
from common import UsageError
from common.artifacts import json_file
from common.parsing import next_text, stands, unfollowed, walk
from common.preflight import Unheard, way_of
from common.wire import Exchange

RUN = ROOT / "results" / "examples" / "pilot-smollm2-read"
WORDS, LETTERS = ("COORDINATE", "PREEMPT"), ("Option A", "Option B")


# --- where a text stands -----------------------------------------------------------------------

@pytest.mark.parametrize("text, kind, option", [
    ("Decision: [", "open", None), ("Decision: [Option", "open", None),
    ("Decision: [Option A", "label", 0), ("Decision: [Option A]", "ended", 0),
    ("**Decision:** option b\n", "ended", 1), ("Option B.\nBecause", "ended", 1),
    ("Decision: [Option A|", "beyond", 0), ("Decision: Option A: file", "beyond", 0),
    ("Decision: [Option AB", "beyond", 0), ("Decision: Option A (", "beyond", 0),
    ("\n\nDec", "open", None), ("I won't", "none", None), ("Decision: [\n", "none", None)])
def test_a_text_stands_where_the_strict_parser_would_read_it(text, kind, option):
    assert stands(text, LETTERS)[:2] == (kind, option)


# --- adding up ---------------------------------------------------------------------------------

def ln(**chances):
    from math import log
    return {token.replace("_", " "): log(p) for token, p in chances.items()}


def test_labels_of_several_tokens_are_chained_and_all_spellings_added():
    nodes = {"[": ln(CO=.5, Co=.1, PRE=.2), "[CO": ln(ORDINATE=.9), "[COORDINATE": {"]": -.1053605},
             "[Co": ln(ordinate=.5), "[Coordinate": ln(**{"]": 1.0}), "[PRE": ln(EMPT=1.0),
             "[PREEMPT": ln(**{"]": .5, "|": .5})}
    walked = walk(nodes, "[", WORDS)
    assert walked.probabilities == pytest.approx((.5 * .9 * .9 + .1 * .5, .2 * .5))
    assert walked.echoed == pytest.approx(.1) and not walked.further


def test_labels_that_share_their_first_token_are_told_apart_by_the_next():
    nodes = {"[": ln(Option=.8), "[Option": ln(_A=.25, _B=.75), "[Option A": ln(**{"]": 1.0})}
    walked = walk(nodes, "[", LETTERS)
    assert walked.probabilities == pytest.approx((.2, 0))
    assert next_text(walked, LETTERS) == "[Option B"
    assert unfollowed(walked, LETTERS).probabilities == pytest.approx((.2, .6))


def test_a_label_that_nobody_lists_may_hide_as_much_as_the_least_that_is_listed():
    nodes = {"[": ln(CO=.5, X=.04), "[CO": ln(ORDINATE=1.0), "[COORDINATE": ln(**{"]": 1.0})}
    assert walk(nodes, "[", WORDS).hidden == pytest.approx(.04)


# --- which way a server has --------------------------------------------------------------------

FAIR = decides(lambda prompt, labels: .5)


@pytest.mark.parametrize("server, way", [
    ({}, "continue"), ({"gives": {"completions", "chat"}}, "completions"),
    ({"gives": {"chat"}}, "reply"), ({"gives": set()}, None),
    ({"gives": {"completions", "chat"}, "template": "header"}, "reply"),
    ({"cools": True, "gives": {"completions"}}, None),
    # A sampled answer that ends at once tells nothing, and proves nothing.
    ({"silent": 5}, "continue"), ({"gives": {"completions", "chat"}, "silent": 19}, "completions"),
    ({"gives": {"completions"}, "silent": 99}, None)])
def test_the_best_way_that_a_server_really_has(server, way):
    speaker = Speaker(FAIR, **server)

    found = way_of(replies(speaker)[0], "m", lambda seconds: None)
    speaker.server.server_close()
    assert (found and found.name) == way


def replies(speaker, *, at=0, path="", said=None, times=1):
    """The server's answers, but for `times` of them to `path` from the `at`-th on: `said`."""
    asked = []

    def post(where, body):
        asked.append((where, body))
        there = sum(one == (path or one) for one, _ in asked) - 1
        if said is not None and where == (path or where) and at <= there < at + times:
            return said
        answer = speaker.answer(where, body)
        return Exchange(200, {}, json.dumps(answer)) if answer else Exchange(404, {}, "")
    return post, asked


BUSY = Exchange(200, {}, '{"error": {"code": 429, "message": "slow down"}}')


@pytest.mark.parametrize("at", [0, 1, 2, 3])
@pytest.mark.parametrize("said", [
    BUSY, Exchange(429, {}, ""), Exchange(425, {}, ""), Exchange(None, {}, "", "timed out"),
    Exchange(200, {}, '{"choices": [', "cut off")])
def test_a_question_without_an_answer_says_nothing_of_a_server(at, said):
    """Whichever of the questions it is: what was asked instead would be another study."""
    post, asked = replies(Speaker(FAIR), at=at, said=said)
    with pytest.raises(Unheard):
        way_of(post, "m", lambda seconds: None)
    assert len(asked) == at + 1    # nobody is asked in vain


@pytest.mark.parametrize("said", [
    Exchange(401, {}, ""), Exchange(402, {}, ""), Exchange(404, {}, '{"error": "no model m"}'),
    Exchange(500, {}, ""), Exchange(200, {"content-type": "text/html"}, "<html>Hello</html>")])
def test_a_server_that_answers_nothing_at_all_is_not_said_to_give_no_probabilities(said):
    post, _ = replies(Speaker(FAIR), said=said, times=99)
    with pytest.raises(Unheard):
        way_of(post, "m", lambda seconds: None)


@pytest.mark.parametrize("times, way, waits", [
    (1, "completions", [1.0]), (2, "completions", [1.0, 2.0]), (99, "reply", [1.0, 2.0, 0.0])])
def test_an_error_that_stays_is_told_from_one_that_passes(times, way, waits):
    """A busy server answers 503 once or twice, a proxy that lacks the endpoint for ever."""
    post, _ = replies(Speaker(FAIR, {"completions", "chat"}), path="/completions", times=times,
                      said=Exchange(503, {}, ""))
    waited = []
    assert way_of(post, "m", waited.append).name == way and waited[:3] == waits


def test_a_server_that_counts_an_opening_and_drops_it_opens_nothing():
    """It goes on as it would begin."""
    class Dropping(Speaker):
        def _go_on(self, rendered, text, body):
            return super()._go_on(rendered, "", body)
    post, _ = replies(Dropping(FAIR))
    assert way_of(post, "m").name == "reply"


def test_a_server_that_takes_no_seed_is_asked_without_one():
    def post(path, body):
        return Exchange(400, {}, "") if "seed" in body else good(path, body)
    good, _ = replies(Speaker(FAIR))
    assert way_of(post, "m").name == "continue"


def test_a_run_is_read_in_one_way(tmp_path, capsys):
    """Begun where turns are opened, resumed where none is: refused, and nothing is lost."""
    whole, part = Speaker(PLACE), Speaker(PLACE, {"chat"})
    real, left = whole.answer, iter([True] * 30)
    whole.answer = lambda path, body: real(path, body) if next(left, False) else {"status": 401}
    assert run_of(tmp_path, whole).code == 5
    with pytest.raises(UsageError, match="begun where turns can be opened, and now no turn can"):
        pilot(tmp_path, part)
    assert pilot(tmp_path, Speaker(PLACE))[3].code == 0


# --- a whole pilot -----------------------------------------------------------------------------

def run_of(tmp_path, speaker, *flags):
    with speaker:
        return run_pilot.main(["--read", "probability", "--base-url", speaker.url, "--models", "m",
                               "--runs", "6", "--out", str(tmp_path), "--run-id", "p",
                               "--limit-usd", "1000", *flags])


def pilot(tmp_path, speaker, *flags):
    """(analysis, rows, folder) of a pilot with --read probability."""
    done = run_of(tmp_path, speaker, *flags)
    folder = tmp_path / "p"
    with gzip.open(folder / "trials.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = list(map(json.loads, file))
    return json.loads((folder / "pilot-analysis.json").read_text()), rows, folder, done


PLACE = decides(lambda prompt, labels: .7)  # whatever stands first


@pytest.mark.parametrize("gives, mass, answers", [
    (CAN, .98 / .992, 2), ({"completions", "chat"}, .98 / .992, 2), ({"chat"}, .98, 1)])
def test_what_was_planted_is_read_by_every_way(gives, mass, answers, tmp_path):
    out, rows, folder, done = pilot(tmp_path, Speaker(PLACE, gives))
    assert done.code == 0 and analyze.main(["--verify", str(folder)]).code == 0
    for row in rows:
        first = row["order"] == "cooperative-first"
        assert row["cooperates"] == pytest.approx(.7 if first else .3)
        assert row["mass"] == pytest.approx(mass) and row["decision"] is None
        assert row["answers"] == answers
    one = out["reading"]["m"]
    assert (one["kind"], round(one["leanings"]["place"]["value"], 6)) == ("free", .7)
    said = f"free (the two labels hold {100 * mass:.1f}% of its probability"
    assert said in out["verdict"]["sentence"]
    assert out["design"]["read"] == "probability" and out["design"]["opening"] == "Decision: **"


# --- what would fake it ------------------------------------------------------------------------

def test_a_reader_that_copies_the_form_decides_nothing(tmp_path):
    def copies(prompt):
        planted = PLACE(prompt)
        if labels := form(prompt):
            planted[("Decision", ":", " **", *CUT[labels[0]], "|", labels[1], "]")] = .97
        return planted
    out, rows, _, _ = pilot(tmp_path, Speaker(copies, {"chat"}))
    assert all(row["mass"] < .6 and row["echoed"] > .4 for row in rows)
    assert out["reading"]["m"]["kind"] == "forced"
    assert "forced (of the two labels it would take one" in out["verdict"]["sentence"]
    assert any("its reading is forced" in line for line in out["claims"]["may_not"])


def test_a_label_below_the_list_is_missing_and_no_decision(tmp_path):
    out, rows, _, _ = pilot(tmp_path, Speaker(
        lambda prompt: {**decides(lambda *_: .05)(prompt),
                        ("Decision", ":", " **", "x"): .2}, top=2))
    # "Option" is listed, and then both letters are; PREEMPT begins with a token of its own.
    assert {(row["label_scheme"] == "L1", row["status"], row["cooperates"] is None)
            for row in rows} == {(True, "unlisted", True), (False, "ok", False)}
    assert out["verdict"]["word"] == "not evaluable"


def test_a_reply_that_was_reasoned_is_missing(tmp_path):
    _, rows, _, _ = pilot(tmp_path, Speaker(PLACE, {"chat"}, extra={"reasoning": "Hm."}))
    assert {(row["status"], row["cooperates"]) for row in rows} == {("reasoned", None)}


@pytest.mark.parametrize("flags, named", [
    (["--models", "m"], "gives no log-probabilities; use --read text"),
    (["--models", "o3-mini"], "reasons before it answers"),
    (["--models", "m", "--effort", "high"], "add --effort none"),
    (["--models", "m", "--reason", "first"], "considerations come before"),
    (["--models", "m", "--temperature", "0.5"], "another distribution")])
def test_what_can_t_be_read_is_one_line_before_the_first_call(flags, named, tmp_path):
    with Speaker(FAIR, set()) as speaker, pytest.raises(UsageError, match=named) as error:
        run_pilot.main(["--read", "probability", "--base-url", speaker.url, "--out", str(tmp_path),
                        *flags])
    assert "\n" not in str(error.value) and not any("Decision" in json.dumps(body)
                                                    for body in speaker.asked)


def test_simulated_respondents_have_no_probabilities(tmp_path):
    with pytest.raises(UsageError, match="no probabilities to tell"):
        run_pilot.main(["--read", "probability", "--provider", "simulated", "--out", str(tmp_path)])


# --- what the words need -----------------------------------------------------------------------

def nine(mass, hp=.85, rest=.35):
    """Rows of a mechanism study that only its first cell moves, as probabilities."""
    for row in answers(shares(.5), bulletins=12, blocks=12):
        wobble = .02 * (hash_of(row["bulletin"] + row["cell"]) - .5)
        y = (hp if row["cell"] == "HP" else rest) + wobble
        yield row | {"cooperates": y, "p_cooperate": y * mass, "p_other": (1 - y) * mass,
                     "mass": mass, "echoed": 0.0, "opened": "Decision: [", "answers": 2}


def hash_of(name):
    return sum(map(ord, name)) % 17 / 16


@pytest.mark.parametrize("mass, word, kind", [
    (.99, "correlation-sensitive", "free"), (.95, "cue-responsive", "free"),
    (.43, "cue-responsive", "forced")])
def test_a_forced_reading_or_much_left_over_costs_the_higher_words(mass, word, kind):
    out = study(nine(mass), read="probability", opening="Decision: [")
    part = out["mechanism"]["by_model"]["m"]
    assert (part["verdict"]["word"], out["reading"]["m"]["kind"]) == (word, kind)
    assert f"{100 * mass:.1f}%" in part["verdict"]["sentence"]


def read_row(mass, cell="HP", **more):
    return {"mass": mass, "cell": cell, "echoed": .0, "opened": "Decision: [", "answers": 2,
            "label_scheme": "L1", "order": "cooperative-first", "bulletin": "b", "cooperates": .5,
            "p_cooperate": mass and mass / 2, "p_other": mass and mass / 2} | more


@pytest.mark.parametrize("masses, kind, whole", [
    # .98 leaves .02, which as 1 - .98 is a little more
    ([.98, .98], "free", True), ([.99, .97], "free", True), ([.9799] * 2, "free", False),
    ([.9] * 7, "free", False), ([.1, .8] * 9, "forced", False), ([.8999], "forced", False),
    ([None], None, False), ([None, .99], "free", True)])
def test_a_reading_is_free_from_nine_tenths_and_whole_where_a_fiftieth_is_left(masses, kind, whole):
    one = effects.reading_of([read_row(mass) for mass in masses])
    assert (one["kind"], one["whole"]) == (kind, whole)
    read = [mass for mass in masses if mass is not None]
    assert (one["trials"], one["answers"]) == (len(masses), 2 * len(masses))
    assert one["most_left"] == pytest.approx(1 - sum(read) / len(read) if read else 1)
    assert effects.whole_reading({"m": one}) is whole


def test_one_cell_that_leaves_more_is_enough_and_cells_are_named_by_their_cues():
    rows = [read_row(.99), read_row(.97, "LA")]
    assert not effects.reading_of(rows)["whole"] and effects.reading_of(rows[:1])["whole"]
    pilot_rows = [read_row(.99, None, S="high", C="absent"),
                  read_row(.97, None, S="low", C="absent", opened=None)]
    one = effects.reading_of(pilot_rows)
    assert {name: cell["n"] for name, cell in one["cells"].items()} == {
        "S.high-C.absent": 1, "S.low-C.absent": 1} and one["openings"] == ["Decision: [", ""]
    several = effects.reading_of([read_row(.99, opened=text) for text in "dbeac"])
    assert several["openings"] == [*"abcde"]
    whole, part = effects.reading_of([read_row(.99)]), effects.reading_of(rows)
    assert not effects.whole_reading({"a": whole, "b": part}) and effects.whole_reading({})


LABELS = "two labels hold 95.0% of its probability"


@pytest.mark.parametrize("kind, openings, said", [
    ("free", ["x"], f"m free (the {LABELS})"), (None, [], "m could not be read"),
    ("free", [], f"m free (the {LABELS}, in the reply itself)"),
    ("free", ["x", ""], f"m free (the {LABELS}, some in the reply itself)"),
    ("forced", [], "m forced (of the two labels it would take one; it gives them 95.0% of its "
     "probability, in the reply itself)")])
def test_a_sentence_says_how_decisions_were_read(kind, openings, said):
    parts = {"m": {"kind": kind, "mass": .95, "openings": openings}}
    assert effects.reading_sentence(parts) == f"Read as probabilities: {said}."
    assert effects.reading_sentence({}) == ""


@pytest.mark.parametrize("low, high, said", [
    (-.02, .02, "invariant"), (.50 - .52, .52 - .50, "invariant"), (-.02, .0201, "undecided"),
    (-.0201, .02, "undecided"), (.0201, .05, "varies"), (.52 - .50, .05, "undecided"),
    (-.05, -.0201, "varies"), (-.05, .50 - .52, "undecided"), (None, .1, "not evaluable"),
    (.1, None, "not evaluable")])
def test_two_points_either_way_are_invariant(low, high, said):
    assert effects._lies(low, high) == said


@pytest.mark.parametrize("values, low, verdict", [
    ([.01] * 6, .01, "invariant"), ([.03] * 6, .03, "varies"), ([.03], None, "not evaluable"),
    # 2⁻³ of the signs of four alike, 2⁻⁴ of five: a tenth lies between.
    ([.03] * 4, None, "not evaluable"), ([.01] * 2, None, "not evaluable"),
    ([.03] * 5, .03, "varies"), ([.01, .04] * 3, None, "undecided")])
def test_a_difference_between_schemes_is_of_bulletins_alone(values, low, verdict):
    rows = [read_row(.99, bulletin=f"b{at}", label_scheme=scheme, cooperates=.5 + y)
            for at, value in enumerate(values) for scheme, y in (("L1", value), ("L2", 0))]
    [(name, pair)] = effects.invariance(rows).items()
    assert (name, pair["verdict"], pair["units"]) == ("L1−L2", verdict, len(values))
    assert low is None or pair["low"] == pytest.approx(low)
    assert (pair["why"] is None) is (verdict != "not evaluable")


def test_leanings_are_shares_of_a_place_a_letter_and_a_word():
    """A cooperative share of .9 where it stands first and under A, .4 under the word."""
    rows = [read_row(.99, bulletin=f"b{at}", order=order, label_scheme=scheme, cooperates=y)
            for at in range(6) for scheme, order, y in (
                ("L2", "cooperative-first", .9), ("L3", "other-first", .2),
                ("L1", "cooperative-first", .4))] + [read_row(None, cooperates=None)]
    found = effects.leanings(rows)
    assert {name: one["value"] for name, one in found.items()} == pytest.approx({
        "place": (.9 + .8 + .4) / 3, "letter": (.9 + .8) / 2, "word": .4})
    assert {one["units"] for one in found.values()} == {6}


def test_what_a_model_goes_by_is_read_off_the_rows():
    rows = [row | {"cooperates": .9 if row["order"] == "cooperative-first" else .1}
            for row in nine(.99)]
    one = effects.reading_of(rows)
    assert one["leanings"]["place"]["value"] == pytest.approx(.9)
    assert one["leanings"]["letter"]["value"] == pytest.approx(.5)
    assert {pair["verdict"] for pair in one["invariance"].values()} == {"invariant"}


def test_prompts_that_begin_alike_are_asked_together():
    config = {"design": "mechanism", "seed": 42, "runs": 6, "compliance": "low", "temperature": 1,
              "tells": "standard", "max_out": 4, "reasoning_effort": None, "read": "probability"}
    blocks = design(load_domain("cvd"), config, ["m"])

    def anew(trials):
        texts = [trial.request.system + trial.request.user for trial in trials]
        shared = sum(len(list(takewhile(lambda both: both[0] == both[1], zip(*pair, strict=False))))
                     for pair in pairwise(texts))
        return 1 - shared / sum(map(len, texts))
    as_dealt = [trial for block in blocks for trial in block]
    assert anew(by_prompt(blocks)) < .35 < .6 < anew(as_dealt)


# --- the committed run -------------------------------------------------------------------------

@pytest.mark.parametrize("name, pages, value, limits, said", [
    ("pilot-smollm2-read", ["docs/real.md"], "−1.7 points", "−10.6 to +7.6", "95% interval"),
    ("mechanism-smollm2-read", ["docs/real.md", "README.md"], "−0.5 points", "−5.2 to +4.3",
     "10 of 120 decisions")])
def test_the_pages_say_what_the_committed_runs_hold(name, pages, value, limits, said):
    """By arithmetic of its own, from the trials."""
    run = ROOT / "results" / "examples" / name
    with gzip.open(run / "trials.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = list(map(json.loads, file))
    units = {}
    for row in rows:
        if (share := row["cooperates"]) is not None:
            first = share if row["order"] == "cooperative-first" else 1 - share
            units.setdefault(row["bulletin"], []).append(first)
    place = sum(sum(unit) / len(unit) for unit in units.values()) / len(units)
    mass = sum(row["p_cooperate"] + row["p_other"] for row in rows) / len(rows)
    for page in pages:
        text = (ROOT / page).read_text("utf-8")
        assert f"{100 * mass:.1f}%" in text and f"{100 * place:.0f}%" in text
        assert value in text and limits in text
    out = json.loads((run / "pilot-analysis.json").read_text("utf-8"))
    assert said in out["verdict"]["sentence"]
    assert not out["simulated"] and out["reading"]["smollm2-135m"]["kind"] == "forced"


def test_the_committed_agreement_follows_from_its_samples():
    spec = importlib.util.spec_from_file_location("agreement", ROOT / "benchmarks/agreement.py")
    agreement = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(agreement)
    run = RUN.with_name("mechanism-smollm2-read")
    samples = agreement.lines_of(agreement.OUT / "samples.jsonl.gz")
    assert len({one["seed"] for one in samples}) == len(samples)  # no luck is shared
    made = agreement.figures(run)
    assert json_file(made) == (agreement.OUT / "agreement.json").read_bytes()
    assert agreement.page(made) == (agreement.OUT / "agreement.md").read_text("utf-8")
    drawn = (agreement.OUT / "calibration.svg").read_text("utf-8")
    assert all(f">n={one['n']}<" in drawn for one in made["calibration"])
    row = {"options": ["PREEMPT", "COORDINATE"], "order": "other-first", "opened": "Decision: **"}
    assert [agreement.decided(text, row) for text in (
        "COORDINATE**\n", "preempt**", "[PREEMPT|COORD", "Call them", "PRE")] == [
        "cooperate", "other", "echo", "none", "none"]
