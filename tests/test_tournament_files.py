"""Derived files of a tournament small enough to work out by hand, and the table of their shapes."""

import json
import math
import random
from collections import Counter
from itertools import pairwise, product
from statistics import fmean

import pytest
from tournaments import cooperating, dealt, said

from cirrus.ask.respondents import read_cues
from cirrus.judge import games
from cirrus.judge.games import derive
from common import UsageError, shape
from common.artifacts import canonical_json, sha256
from common.wire import NOT_RUN, Reply


def derived_from(t, reply_of):
    """The JSON files of a run, read."""
    study = {"config": t.config, "prompts": t.domain.files, "provider": "https://x"}
    files, _ = derive(study, t.domain, reply_of, {"code_sha256": "0" * 64, "charged_usd": 0.006})
    return {name: json.loads(data) for name, data in files.items() if name.endswith(".json")}


def tiny(answers):
    """(design, its JSON files) of two agents that meet twice; `answers`: {"e1/a": text, reply}."""
    def reply_of(request):
        answer = answers.get(request.id[-4:]) if request.stage == "decision" else None
        return answer if isinstance(answer, Reply) else said(answer) if (
            answer is not None) else cooperating(request)
    t = dealt(agents=2, rounds=1, games_per_pair=2, label_schemes=["L1"])
    return t, derived_from(t, reply_of)


PAYOFFS = {("COORDINATE", "COORDINATE"): [3, 3], ("COORDINATE", "PREEMPT"): [0, 5],
           ("PREEMPT", "COORDINATE"): [5, 0], ("PREEMPT", "PREEMPT"): [1, 1]}


def test_payoffs_power_and_scores_follow_the_specification_wave_by_wave():
    """Power ← clip(power·exp(0.02·(π − π̄)), 0.9, 1.1); score += ln(1 + power before·π)."""
    t = dealt(agents=3, rounds=3, label_schemes=["L1"], baselines=["AlwaysD", "AlwaysC"])
    rng = random.Random(4)

    def answer(request):
        return rng.choice([cooperating(request), said("Decision: PREEMPT"), said("well")])
    files = derived_from(t, answer)
    power, scores, played = {}, {}, Counter()
    for number, wave in product(range(1, 4), range(1, 4)):
        data, earned = files[f"round_{number}_games.json"], {}
        who = {name: agent["id"] for name, agent in data["agents"].items()}
        games = [game for game in data["games"] if game["encounter"] == wave]
        for game in games:
            acts = tuple(game["decision"][name] for name in game["pair"])
            gained = PAYOFFS.get(acts)
            assert game["raw_payoffs"] == (gained and dict(zip(game["pair"], gained, strict=True)))
            for name, gain in zip(game["pair"], gained or (), strict=False):
                earned.setdefault(who[name], []).append(gain)
        means = {agent: fmean(gains) for agent, gains in earned.items()}
        for agent, gains in earned.items():
            before = power.get(agent, 1)
            scores.setdefault(agent, []).extend(math.log(1 + before * gain) for gain in gains)
            played[agent] += len(gains)
            step = math.exp(.02 * (means[agent] - fmean(means.values())))
            power[agent] = min(1.1, max(.9, before * step))
        assert all(after == pytest.approx(power.get(who[name], 1), rel=1e-11)
                   for game in games for name, after in game["power_after"].items())
    assert {.9, 1.1} <= {*power.values()}
    standings = files["acausal_manifest.json"]["standings"]
    assert {row["id"]: (row["games"], row["score"]) for row in standings} == {
        agent: (played[agent], pytest.approx(sum(gains), rel=1e-11))
        for agent, gains in scores.items()}


@pytest.mark.parametrize(("text", "status"), [
    ("I won't COORDINATE", "unreadable"), ("Decision: [COORDINATE|PREEMPT]", "ambiguous"),
    ("Decision: Option A", "wrong_label"), (said("Decision: COORD", "truncated"), "truncated"),
    (said("", "empty"), "empty")])
def test_a_game_without_two_readable_decisions_has_no_payoffs_and_says_so(text, status):
    _, files = tiny({"e1/b": text})
    game = files["round_1_games.json"]["games"][0]
    assert game["raw_payoffs"] is None
    assert game["parse_status"] == status
    assert sorted(answer["status"] for answer in game["answers"].values()) == sorted(
        ["ok", status])
    assert sorted(game["decision"].values(), key=str) == ["COORDINATE", None]
    assert set(game["power_after"].values()) == {1.0}
    assert files["acausal_manifest.json"]["statuses"]["game"] == {"ok": 1, status: 1}


def test_a_game_has_the_worse_of_two_statuses():
    answers = {"ok": "Decision: COORDINATE", "wrong_label": "Decision: Option A",
               "ambiguous": "Decision: [COORDINATE|PREEMPT]",
               "refused": "I can't help with that request.", "unreadable": "well", **{
                   outcome: said("", outcome) for outcome in (
                       "truncated", "empty", "blocked", "provider_error", "not_run")}}
    for better, worse in pairwise(answers):
        _, files = tiny({"e1/a": answers[worse], "e1/b": answers[better]})
        assert files["round_1_games.json"]["games"][0]["parse_status"] == worse


def test_an_encounter_that_was_not_begun_is_left_out():
    _, files = tiny({"e1/a": NOT_RUN, "e1/b": NOT_RUN})
    manifest, games = files["acausal_manifest.json"], files["round_1_games.json"]["games"]
    assert len(games) < manifest["rounds"][0]["games"] == 2 and not manifest["complete"]


def test_the_manifest_adds_up():
    _, files = tiny({})
    manifest = files["acausal_manifest.json"]
    assert manifest["outcomes"] == {"strategy": {"ok": 2}, "decision": {"ok": 4}}
    assert manifest["cost"] == {"usd": pytest.approx(0.006), "unknown": 0, "charged_usd": 0.006,
                                "by_stage": {"strategy": pytest.approx(0.002),
                                             "decision": pytest.approx(0.004)}}
    assert manifest["tokens"]["decision"] == {"prompt": 40, "output": 20, "reasoning": 0}
    assert manifest["served"] == {"m/strategy": {"m-served": 2}, "m/decision": {"m-served": 4}}
    assert manifest["complete"] is True and manifest["simulated"] is False
    assert manifest["upstreams"] == {"m/strategy": {"upstream": 2}, "m/decision": {"upstream": 4}}
    assert manifest["statuses"]["decision"] == {"ok": 4}
    assert [(one["games"], one["played"]) for one in manifest["rounds"]] == [(2, 2)]
    for name in ("config", "prompts"):
        assert manifest[f"{name}_sha256"] == sha256(canonical_json(manifest[name]))


@pytest.mark.parametrize("outcome", ["not_run", "provider_error"])
def test_what_nobody_knows_is_counted_and_what_was_not_answered_is_no_answer(outcome):
    unknown = Reply("ok", "Decision: COORDINATE")
    _, files = tiny({"e1/b": unknown, "e2/a": Reply(outcome)})
    manifest = files["acausal_manifest.json"]
    assert manifest["outcomes"]["decision"] == {"ok": 3, outcome: 1}
    assert manifest["served"]["m/decision"] == {"m-served": 2, "None": 1}
    assert manifest["upstreams"]["m/decision"] == {"upstream": 2, "None": 1}
    assert manifest["tokens"]["decision"] == {"prompt": 20, "output": 10, "reasoning": 0}
    assert (manifest["cost"]["unknown"], manifest["complete"]) == (1, False)
    assert manifest["cost"]["by_stage"]["decision"] == pytest.approx(.002)
    assert [(one["games"], one["played"]) for one in manifest["rounds"]] == [(2, 1)]
    cut = files["round_1_games.json"]["games"][0]["answers"]
    assert sorted(str(one["cost_usd"]) for one in cut.values()) == ["0.001", "None"]


def test_baselines_play_as_in_the_literature_without_a_call_and_stand_apart():
    """An agent cooperates unless told to; what cannot be read changes nothing."""
    acts, calls = "?CD?CC", Counter()

    def scripted(request):
        calls[request.stage] += 1
        if request.stage == "strategy":
            return cooperating(request)
        act, cues = acts[int(request.id[-3]) - 1], read_cues(request.user)
        return said({"?": "well", "C": cues.cooperative, "D": cues.other}[act])
    rules = {"AlwaysC": "CCCCCC", "AlwaysD": "DDDDDD", "TitForTat": "CCCDDC",
             "GrimTrigger": "CCCDDD"}
    t = dealt(agents=2, rounds=1, games_per_pair=6, baselines=[*rules])
    files = derived_from(t, scripted)
    games, manifest = files["round_1_games.json"], files["acausal_manifest.json"]
    who = {name: agent["baseline"] for name, agent in games["agents"].items()}
    played = Counter()
    for game in games["games"]:
        pair = frozenset(who[name] for name in game["pair"])
        assert game["baseline"] == (pair != {None})
        for name in game["pair"]:
            act = {"COORDINATE": "C", "PREEMPT": "D", None: "?"}[game["decision"][name]]
            played[who[name], pair, game["encounter"], act] += 1
    for rule, line in rules.items():
        pair = frozenset((rule, None))
        assert all(played[rule, pair, e, act] == played[None, pair, e, acts[e - 1]] == 2
                   for e, act in enumerate(line, 1))
    assert all(played["TitForTat", frozenset(("AlwaysD", "TitForTat")), e, act]
               for e, act in enumerate("CDDDDD", 1))
    free = next(answer for game in games["games"] for name, answer in game["answers"].items()
                if who[name])
    assert (free["status"], free["cost_usd"], free["tokens"]["prompt"]) == ("ok", 0, 0)
    assert {free[name] for name in ("text", "policy_id", "model", "provider")} == {None}
    assert calls == {"strategy": len(files["strategies_r1.json"]), "decision": 6 * (2 + 8)}
    assert sum(manifest["statuses"]["decision"].values()) == 60   # of models alone
    assert [(agent["baseline"], agent["model_decision"]) for agent in manifest["agents"]] == [
        (None, "m/decision")] * 2 + [(name, None) for name in rules]


# --- the table of shapes ---

@pytest.mark.parametrize(("path", "good", "bad"), [
    (("round",), [1], [0, 1.5, "1"]), (("domain",), ["hospital"], [" "]),
    (("games", 0, "pair", 0), ["0123456789abcdef" * 4], ["0" * 63, "0" * 65, "G" * 64, 7]),
    (("games", 0, "pair"), [["0" * 64] * 2], [["0" * 64], ["0" * 64] * 3]),
    (("games", 0, "power_after", 0), [.9, 1.1], [.899, 1.101, "1"]),
    (("games", 0, "answers", 0, "status"), ["ok", "refused"], ["fine"]),
    (("games", 0, "answers", 0, "tokens", "prompt"), [0, None], [-1, .5]),
    (("games", 0, "answers", 0, "cost_usd"), [0, .5, None], [-.001, "1"])])
def test_values_on_either_side_of_what_a_field_may_hold(path, good, bad):
    """A number stands for an entry of a list, or for the value of a map's first key."""
    _, files = tiny({})
    data = at = files["round_1_games.json"]
    for key in path[:-1]:
        at = at[key if isinstance(at, list) or key in at else next(iter(at))]
    last = path[-1] if isinstance(at, list) or isinstance(path[-1], str) else next(iter(at))
    for value in good:
        at[last] = value
        assert shape.check(games.GAMES, data, "") is data
    for value in bad:
        at[last] = value
        with pytest.raises(UsageError, match=str(last) if isinstance(last, str) else "pair"):
            shape.check(games.GAMES, data, "")
