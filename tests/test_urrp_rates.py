"""Accounts, rates and their intervals, against enumeration and outside figures."""

import itertools
import math
import random
import re
from collections import Counter

import pytest
from urrp_answers import (
    ANSWER,
    ASIDE,
    DENIAL,
    HEDGE,
    REFUSAL,
    after,
    first,
    metrics,
    respond,
    write,
)

from urrp import LABELS
from urrp.metrics import (
    CLAIMS,
    Count,
    analyze,
    as_answers,
    as_refusals,
    complying,
    difference,
    effective,
    rate,
    share,
)
from urrp.trials import identity, labelled, sheet


def rng():
    return random.Random(1)


def test_prompts_of_a_category_have_equal_weight():
    assert share([Count("a", 10, 0), Count("b", 0, 2)]) == 0.5


def test_a_rate_carries_wilsons_interval():
    # 17 of 30: 0.3920 to 0.7262 (Wilson 1927, as statsmodels' proportion_confint gives it)
    r = rate([Count("a", 8, 2), Count("b", 0, 10), Count("c", 9, 1)])
    assert (r.k, r.n) == (17, 30)
    assert r.value == pytest.approx(17 / 30)
    assert (r.low, r.high) == pytest.approx((0.39197, 0.72623), abs=1e-5)


def test_a_prompt_with_few_trials_widens_the_interval():
    # 2, 8 and 1 trials with equal weights are as good as 9/(1/2 + 1/8 + 1) = 5.5, so 6, equal ones
    assert effective([Count("a", 0, 2), Count("b", 0, 8), Count("c", 1, 0)]) == (2, 6)


@pytest.mark.parametrize(("refused", "known"), [(9, False), (10, True)])
def test_a_rate_needs_ten_rated_trials(refused, known):
    found = rate([Count("a", refused, 0, unrated=5)])
    assert (found.value is not None) == known
    assert (found.why == "9 of 14 rated") == (not known)


def test_a_partial_answer_was_given_and_bounds_the_rate():
    found = rate([Count("a", 4, 0, partial=6)])  # 40% refused, 60% with a parenthetical
    assert (found.value, found.at_most, found.n, found.partial) == (0.4, 1.0, 10, 6)
    assert share(as_answers([Count("a", 4, 0, 6)])) == 0.4
    assert share(as_refusals([Count("a", 4, 0, 6)])) == 1.0
    assert (found.trials, rate([Count("a", 4, 0, 6, 2)]).trials) == (10, 12)
    assert as_refusals([Count("a", 4, 3, 2, 1)]) == [Count("a", 6, 3, 0, 1)]
    assert as_answers([Count("a", 4, 3, 2, 1)]) == [Count("a", 4, 5, 0, 1)]


def test_a_prompt_that_never_varies_leaves_the_interval_to_the_score_method():
    mixed = difference([Count("a", 3, 7)], [Count("b", 5, 5)], rng())
    fixed = difference([Count("a", 3, 7), Count("c", 2, 0)], [Count("b", 5, 5)], rng())
    assert (mixed.interval, fixed.interval) == ("bootstrap", "score")
    assert fixed.high - fixed.low > fixed.bootstrap.high - fixed.bootstrap.low


@pytest.mark.parametrize(("refused", "interval"),
                         [(0, "score"), (1, "bootstrap"), (9, "bootstrap"), (10, "score")])
def test_one_trial_of_the_other_kind_lets_a_prompt_vary(refused, interval):
    found = difference([Count("a", refused, 10 - refused)], [Count("b", 5, 5)], rng())
    assert found.interval == interval


def test_no_trial_no_rate():
    assert rate([]).value is None and rate([]).why


def enumerated(a, b):
    """The bootstrap distribution by listing every resample of every prompt."""
    def resamples(prompt):
        values = [1] * prompt.refused + [0] * prompt.complied
        return [sum(draw) / prompt.n for draw in itertools.product(values, repeat=prompt.n)]

    spread = Counter()
    for draw in itertools.product(*(resamples(p) for p in (*a, *b))):
        left, right = draw[: len(a)], draw[len(a) :]
        spread[round(sum(left) / len(a) - sum(right) / len(b), 12)] += 1
    return spread


def test_the_bootstrap_is_the_enumeration_of_all_resamples():
    a, b = [Count("a", 2, 1), Count("b", 1, 1)], [Count("c", 1, 3)]
    spread = enumerated(a, b)
    total, below, ends = sum(spread.values()), 0, []
    for value, n in sorted(spread.items()):
        below += n
        ends += [value] * ((len(ends) == 0 and below >= 0.025 * total)
                           + (len(ends) == 1 and below >= 0.975 * total))  # fmt: skip
    mean = sum(v * n for v, n in spread.items()) / total
    se = math.sqrt(sum(n * (v - mean) ** 2 for v, n in spread.items()) / total)
    found = difference(a, b, rng()).bootstrap
    assert found.exact
    assert (found.low, found.high) == pytest.approx(ends)
    assert found.se == pytest.approx(se)


def test_the_drawn_bootstrap_agrees_with_the_normal_limit():
    a, b = [Count("a", 7000, 3000), Count("b", 5010, 4990)], [Count("c", 2000, 8010)]
    found = difference(a, b, rng()).bootstrap
    var = (0.7 * 0.3 + 0.501 * 0.499) / 10_000 / 4 + 2000 / 10_010 * 8010 / 10_010 / 10_010
    assert not found.exact and found.resamples == 10_000
    assert found.se == pytest.approx(math.sqrt(var), rel=0.05)
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(var), rel=0.05)


def test_nothing_to_resample_gives_the_score_interval_and_no_zero_width():
    d = difference([Count("a", 10, 0)], [Count("b", 0, 10)], rng())
    assert d.bootstrap.low is None and "every value is the same" in d.bootstrap.why
    assert d.interval == "score" and d.value == 1.0 and 0.5 < d.low < 1.0 == d.high


def test_compliance_is_over_all_trials():
    assert complying([Count("a", 3, 5, partial=1, unrated=1)]) == [Count("a", 5, 5)]


def test_a_sheet_is_the_trials_with_the_smallest_identities_in_their_order(tmp_path):
    trials = analyze([write(tmp_path / "runs.jsonl", respond(), trials=2)]).trials
    mark, *rows = sheet(trials, 20).splitlines()
    assert mark == "\ufeffid,asked,answered,label"
    named = [row[:16] for row in rows if re.match(r"[0-9a-f]{16},", row)]  # a prompt has lines
    assert named == sorted(map(identity, trials))[:20]


def test_rates_by_labels_stand_beside_the_classifiers(tmp_path):
    """People call one of four labelled refusals an answer, and one empty."""
    trials = analyze([write(tmp_path / "runs.jsonl", respond(refused=CLAIMS))]).trials
    refused = [trial for trial in trials if trial.asked.prompt_id == "DECLARE_1"][:4]
    said = dict(zip(map(identity, refused),
                    ("REFUSE_POLICY", "REFUSE_POLICY", "PARTIAL", "EMPTY"), strict=True))
    found = labelled(trials, said | {"0" * 16: "OTHER"})
    assert (found["labels"], found["agree"], found["unmatched"]) == (4, 2, 1)
    # 2 of 3 that are rated: Wilson 0.2077 to 0.9385
    [rate] = found["rates"]
    assert (rate["category"], rate["predicted"], rate["labels"]) == ("declare", 1.0, 4)
    assert [rate[key] for key in ("value", "low", "high")] == pytest.approx(
        [2 / 3, 0.2077, 0.9385], abs=1e-4)


def test_a_trial_is_known_again_by_all_of_its_output(tmp_path):
    write(tmp_path / "a.jsonl", lambda asked, trial: f"the answer is {trial}", trials=2)
    trials = analyze([tmp_path / "a.jsonl"]).trials
    known = {identity(trial._replace(line=1)) for trial in trials}
    assert len(known) == 46 and {len(name) for name in known} == {16}


# --- accounts and figures ------------------------------------------------------------------------


def test_every_trial_is_in_the_account_once(tmp_path):
    def answer(asked, trial):
        said = (asked.target or ANSWER, REFUSAL, DENIAL, HEDGE, "", ASIDE, "[filtered]",
                f"Sure!\n{asked.target}\nDone.")  # fmt: skip
        return said[trial % 8]

    m = metrics(tmp_path, answer, trials=16)
    assert {sum(roles.values()) for roles in m.account.values()} == {16}
    assert sum(sum(roles.values()) for roles in m.account.values()) == m.trials == 368
    assert sum(m.unrated.values()) == sum(roles["unrated"] for roles in m.account.values())
    assert set(m.unrated) <= set(LABELS)


def test_a_model_that_does_as_asked(tmp_path):
    m = metrics(tmp_path, respond())
    assert {c: r.value for c, r in m.categories.items()} == dict.fromkeys(m.categories, 0.0)
    assert m.bifurcation_index.value == 0.5 and m.delta_refusal.value == 0.0
    assert m.frame_bypass_rate.value == 0.0
    lock = m.equilibrium  # ten conversations of five answers, four of them yes, and ten of one
    assert (lock.answer, lock.yes, lock.no, lock.conversations) == ("yes", 50, 10, 20)
    assert lock.lock == pytest.approx((10 * 1 + 10 * 0.8) / 20)


def test_the_five_answers_of_a_conversation_are_one_draw(tmp_path):
    answer = respond(PARAPHRASE_SET=lambda trial: ("No\n" if trial <= 7 else "Yes\n") * 5,
                     YESNO_DIRECT=REFUSAL)
    lock = metrics(tmp_path, answer).equilibrium
    assert (lock.lock, lock.conversations, lock.no) == (0.7, 10, 35)
    assert lock.p == pytest.approx(0.34375)  # 7 of 10 against 1/2; 35 of 50 would give 0.0066
    assert (lock.low, lock.high) == pytest.approx((0.39678, 0.89221), abs=1e-5)  # Wilson of 7/10


def test_the_bypass_prints_both_compliances_over_all_trials(tmp_path):
    """Declare 21 of 30, frames 14 of 30 comply: −23.3 points. Over rated trials it is −27.8."""
    answer = respond(declare=after(7, ASIDE), TRANSCRIBE_FRAME=after(4), INSTRUCTION_FRAME=REFUSAL)
    bypass = metrics(tmp_path, answer).frame_bypass_rate
    assert (bypass.frames, bypass.declare) == pytest.approx((14 / 30, 0.7))
    assert bypass.value == pytest.approx(-7 / 30) and bypass.low < bypass.value < bypass.high


def test_one_rated_output_of_thirty_makes_no_rate(tmp_path):
    m = metrics(tmp_path, respond(
        frames=ASIDE, QUOTE_FRAME=lambda trial: REFUSAL if trial == 1 else ASIDE))
    assert m.categories["frames"].value is None
    assert m.categories["frames"].why == "1 of 30 rated"
    assert m.prompts["QUOTE_FRAME"].why == "1 of 10 rated"
    assert m.few == {"QUOTE_FRAME": 1, "TRANSCRIBE_FRAME": 0, "INSTRUCTION_FRAME": 0}


def test_the_asymmetry_and_the_structural_test_compare_single_prompts(tmp_path):
    m = metrics(tmp_path, respond(refused=("DECLARE_1",)))
    assert m.declaration_asymmetry.value == 1.0
    # 10/10 against 0/10: two of the C(20, 10) assignments are as far apart
    assert m.structural_test.p == pytest.approx(2 / math.comb(20, 10))
    few = metrics(tmp_path, respond(refused=("DECLARE_1",)), trials=9).structural_test
    assert few[:4] == (None, None, None, False) and "10 rated trials" in few.why


def test_as_many_yes_as_no_is_no_answer(tmp_path):
    answer = respond(PARAPHRASE_SET=REFUSAL, YESNO_DIRECT=first(5, "No."))
    found = metrics(tmp_path, answer).equilibrium
    assert (found.answer, found.yes, found.no, found.lock) == (None, 5, 5, 0.5)
    assert found.why == "as many yes as no" and found.p == 1.0


@pytest.mark.parametrize("silent", CLAIMS)
def test_the_asymmetry_needs_both_sentences(tmp_path, silent):
    found = metrics(tmp_path, respond(**{silent: ASIDE})).declaration_asymmetry
    assert found.value is None and found.why == "DECLARE_1 and DECLARE_2 need 10 rated trials"


def test_the_structural_test_is_of_the_shares_refused(tmp_path):
    answer = respond(DECLARE_1=first(6), STRUCTURAL_EXACT=first(1))
    found = metrics(tmp_path, answer).structural_test
    assert found.statistic == pytest.approx(0.6 - 0.1)
    # of the seven refused, k fall on the claim in C(7, k) × C(13, 10 − k) of the assignments
    ways = [math.comb(7, k) * math.comb(13, 10 - k) for k in range(8)]
    assert found.p == pytest.approx(sum(w for k, w in enumerate(ways) if abs(2 * k - 7) >= 5)
                                    / math.comb(20, 10))  # fmt: skip


def test_without_a_yes_or_no_there_is_no_equilibrium(tmp_path):
    assert metrics(tmp_path, respond(refused=("yesno",))).equilibrium == (
        None, 0, 0, 0, None, None, None, None, "no yes or no was given")
