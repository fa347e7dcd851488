"""Every figure of a small pilot's analysis, by hand; one respondent, six bulletins."""

import math
from statistics import NormalDist
from types import SimpleNamespace

import pytest

import stats
from cirrus.judge import effects
from cirrus.judge import pilot as judge
from cirrus.judge.effects import HA, HP, LA, LP, NAMES

Z = NormalDist().inv_cdf(.975)
# Decisions of each cell, bulletin by bulletin; None is missing.
PLANTED = {HP: [[1, 1], [1, None, None], [1, 1], [1, 1], [1, 1], [1, 0]],
           HA: [[1, 0]] * 6, LP: [[0, 1]] * 6,
           LA: [[0, None], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]}
COUNTS = {HP: (10, 11, 2), HA: (6, 12, 0), LP: (6, 12, 0), LA: (0, 11, 1)}


def row(cell, bulletin, at, y, **more):
    return {"S": cell[0], "C": cell[1], "H": "low", "model": "m", "bulletin": f"b{bulletin}",
            "variant": "v", "label_scheme": ("L1", "L2")[bulletin % 2], "text": "x", "cost_usd": .5,
            "order": ("cooperative-first", "other-first")[at % 2], "cooperates": y, "run": bulletin,
            "status": "unreadable" if y is None else "ok", "served_model": "m-1", "provider": None,
            } | more


def rows(planted=PLANTED, **more):
    return [row(cell, bulletin, at, y, **more) for cell, bulletins in planted.items()
            for bulletin, values in enumerate(bulletins) for at, y in enumerate(values)]


def analysed(listed, **more):
    config = {"models": ["m"], "seed": 1, "runs": 6, "compliance": "low"} | more
    return judge.analyse(listed, {"config": config, "provider": "http://127.0.0.1"}, None)


OUT = analysed(rows())


def pooled(cell):
    return [y for values in PLANTED[cell] for y in values if y is not None]


@pytest.mark.parametrize("cell", PLANTED)
def test_a_cell_is_k_of_n_with_an_interval_no_narrower_than_wilson_s(cell):
    k, n, missing = COUNTS[cell]
    found = OUT["pooled"]["cells"][NAMES[cell]]
    assert (found["k"], found["n"], found["missing"], found["mean"]) == (k, n, missing, k / n)
    middle, half = (k + Z * Z / 2) / (n + Z * Z), Z * math.sqrt(
        k * (n - k) / n + Z * Z / 4) / (n + Z * Z)
    assert 0 <= found["low"] <= middle - half + 1e-9 and middle + half - 1e-9 <= found["high"] <= 1
    assert OUT["models"]["m"]["cells"][NAMES[cell]] == found


@pytest.mark.parametrize("low, high, limits", [
    (.4, .6, (.4, .6)), (.55, .6, (.5, .6)), (.4, .45, (.4, .5)), (None, None, (None, None))])
def test_an_interval_over_bulletins_is_drawn_out_to_the_share_of_decisions(low, high, limits):
    found = effects.around(.5, SimpleNamespace(low=low, high=high, why=None))
    assert (found["low"], found["high"]) == limits


def test_a_cell_without_a_readable_decision_has_no_share():
    out = analysed(rows(PLANTED | {LA: [[None, None]] * 6}))
    found = out["pooled"]["cells"][NAMES[LA]]
    assert [found[key] for key in ("k", "n", "missing", "mean", "low")] == [0, 0, 12, None, None]
    assert out["pooled"]["effects"]["primary"]["d"]["value"] is None
    assert out["pooled"]["exploratory"]["welch"]["p"] is None


def test_effects_are_means_of_differences_inside_bulletins():
    values = {name: entry["value"] for name, entry in OUT["pooled"]["effects"].items()}
    hp, rest = 5.5 / 6, .5   # HP is 1 in five bulletins and 1/2 in one; LA is 0
    assert values == pytest.approx({
        "primary": hp, "S": (hp + rest) / 2 - rest / 2, "C": (hp + rest) / 2 - rest / 2,
        "S_at_C_present": hp - rest, "S_at_C_absent": rest, "C_at_S_high": hp - rest,
        "C_at_S_low": rest})
    assert OUT["pooled"]["interaction"]["value"] == pytest.approx(hp - rest - rest)


def test_sizes_take_both_sides_decisions_as_independent_trials():
    x, y = pooled(HP), pooled(LA)
    effects, exploratory = OUT["pooled"]["effects"], OUT["pooled"]["exploratory"]
    assert effects["primary"]["d"] == stats.cohens_d(x, y)._asdict()
    # S: both cells of a side
    assert effects["S"]["d"] == stats.cohens_d(x + pooled(HA), pooled(LP) + y)._asdict()
    assert exploratory == {"sign_flip_p": 2 / 2 ** 6, "welch": stats.welch_t_test(x, y)._asdict()}


def test_missing_decisions_are_filled_in_each_way():
    """HP's second bulletin is 1 of 3 or 3 of 3; LA's first 0 of 2 or 1 of 2."""
    assert OUT["missing"]["by_cell"] == {NAMES[cell]: m for cell, (_, _, m) in COUNTS.items()}
    assert OUT["missing"]["primary"] == pytest.approx({
        "all_cooperative": (5.5 - .5) / 6, "none_cooperative": (4.5 + 1 / 3) / 6,
        "lowest": (4.5 + 1 / 3 - .5) / 6, "highest": 5.5 / 6})


def test_labels_and_places():
    shares = OUT["labels"]["schemes"]   # even bulletins under words: HP 6/6, 3/6, 3/6, 0/5
    assert {name: (one["k"], one["n"]) for name, one in shares.items()} == {
        "L1": (12, 23), "L2": (10, 23)}
    assert OUT["labels"]["largest_difference"] == pytest.approx(2 / 23)
    # First: HP 6, HA 6 of 6, LP none of 6, LA none of 6; second: HP 1 of 5, HA 6, LP 0, LA 5 of 5
    position = OUT["position"]
    assert (position["k"], position["n"]) == (24, 46)
    words = analysed([row(HP, 0, 0, 1), row(HP, 1, 0, None)])["labels"]   # no letter was read
    assert (words["schemes"]["L2"]["mean"], words["largest_difference"]) == (None, 0)
    nothing = judge.position([row(HP, 0, 0, None)])
    assert (nothing["n"], nothing["share"]) == (0, None)


def test_how_the_trials_ended_and_what_they_cost():
    listed = rows() + [row(HP, 0, 0, None, status=status, text=text, cost_usd=None) for status, text
                       in (("not_run", ""), ("provider_error", ""), ("blocked", ""), ("ok", "x"),
                           ("refused", "Sorry."))]
    out = analysed(listed)
    assert out["outcomes"]["status"] == {"ok": 47, "unreadable": 3, "not_run": 1, "blocked": 1,
                                         "provider_error": 1, "refused": 1}
    assert out["outcomes"]["by_cell"][NAMES[LA]] == {"ok": 11, "unreadable": 1}
    assert (out["outcomes"]["answered"], out["outcomes"]["read"]) == (52, 47)
    assert out["cost"] == {"usd": 24.5, "unknown": 3, "why": "3 answers came without a cost"}
    assert OUT["cost"] == {"usd": 24.5, "unknown": 0, "why": None}
    assert out["verdict"]["why"] == (
        "2 trials of 54 without an answer; the same command resumes the run")
    assert judge.served_by(listed + [row(HP, 0, 0, 1, served_model="m-0", provider="p")]) == {
        "served_model": ["m-0", "m-1"], "provider": ["p"]}


@pytest.mark.parametrize("compliance, quiet", [("low", True), ("omit", True), ("high", False)])
def test_compliance_is_excluded_only_by_a_study_without_its_pressure(compliance, quiet):
    effects = judge.findings(analysed(rows(), compliance=compliance)).effects
    assert effects["H_low"] == (effects["primary"] if quiet else None)


def test_models_are_judged_by_their_own_rows_and_nothing_is_simulated_here():
    out = analysed(rows() + rows({cell: [[0]] * 6 for cell in PLANTED}, model="n"),
                   models=["m", "n"])
    assert out["models"]["m"]["effects"] == OUT["models"]["m"]["effects"]
    assert out["models"]["n"]["effects"]["primary"]["value"] == 0
    found = judge.findings(out)
    assert found.corners == {"HP": (10, 17, 2), "LA": (0, 17, 1)}   # 6 decisions of n in each
    assert found.model_corners == {"m": {"HP": COUNTS[HP], "LA": COUNTS[LA]},
                                   "n": {"HP": (0, 6, 0), "LA": (0, 6, 0)}}
    assert (out["simulated"], out["stamp"]) == (False, None)
    assert (out["design"]["trials"], out["design"]["bulletins"], out["design"]["variants"]) == (
        len(rows()) + 24, 6, 1)


def test_a_bulletin_that_lost_one_cell_still_serves_the_contrasts_that_do_not_need_it():
    effects = analysed(rows(PLANTED | {HA: [[None, None], *[[1, 0]] * 5]}))["pooled"]["effects"]
    assert (effects["primary"]["units"], effects["C_at_S_high"]["units"]) == (6, 5)


def test_decisions_that_never_differ_have_no_d_and_an_interval_of_some_width():
    primary = analysed(rows({cell: [[1] * 4] * 6 for cell in PLANTED}))["pooled"]["effects"][
        "primary"]
    assert primary["value"] == 0 and primary["d"]["value"] is None
    assert -.2 < primary["low"] < 0 < primary["high"] < .2


def test_p_values_stand_under_exploratory_only():
    def keys(value, path=()):
        for name, item in value.items() if isinstance(value, dict) else ():
            yield (*path, name)
            yield from keys(item, (*path, name))
    assert all("exploratory" in path for path in keys(OUT) if path[-1] in ("p", "sign_flip_p"))
