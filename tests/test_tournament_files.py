"""Derived files of a tournament small enough to work out by hand, and the table of their shapes."""

import gzip
import json
import math
import random
from collections import Counter, defaultdict
from itertools import pairwise, product
from statistics import fmean

import pytest
from tournaments import cooperating, dealt, text_reply

from cirrus.ask.respondents import read_cues
from cirrus.judge import games
from cirrus.judge.games import derive
from common import UsageError, shape
from common.artifacts import canonical_json, sha256
from common.wire import NOT_RUN, Reply


def derived_from(t, reply_of):
    """The files of a run, read: its JSON, and its transcripts."""
    study = {"config": t.config, "prompts": t.domain.files, "provider": "https://x"}
    files, _ = derive(study, t.domain, reply_of, {"code_sha256": "0" * 64, "charged_usd": 0.006})
    return {name: json.loads(data) if name.endswith(".json") else gzip.decompress(data).decode()
            for name, data in files.items()}


def tiny(answers):
    """The JSON files of two agents that meet twice; `answers`: {"e1/a": text or reply}."""
    def reply_of(request):
        answer = answers.get(request.id[-4:], cooperating(request))
        return text_reply(answer) if isinstance(answer, str) else answer
    return derived_from(dealt(agents=2, rounds=1, games_per_pair=2, label_schemes=["L1"]), reply_of)


PAYOFFS = {("COORDINATE", "COORDINATE"): [3, 3], ("COORDINATE", "PREEMPT"): [0, 5],
           ("PREEMPT", "COORDINATE"): [5, 0], ("PREEMPT", "PREEMPT"): [1, 1]}


def test_payoffs_power_and_scores_follow_the_specification_wave_by_wave():
    """Power ← clip(power·exp(0.02·(π − π̄)), 0.9, 1.1); score += ln(1 + power before·π)."""
    t = dealt(agents=3, rounds=3, label_schemes=["L1"], baselines=["AlwaysD", "AlwaysC"])
    rng = random.Random(4)

    def answer(request):
        return rng.choice([cooperating(request), *map(text_reply, ("Decision: PREEMPT", "well"))])
    files = derived_from(t, answer)
    power, scores, played = defaultdict(lambda: 1.0), Counter(), Counter()
    for number, wave in product(range(1, 4), range(1, 4)):
        data, earned = files[f"round_{number}_games.json"], defaultdict(list)
        names = {anon: agent["id"] for anon, agent in data["agents"].items()}
        games = [game for game in data["games"] if game["encounter"] == wave]
        for game in games:
            gains = PAYOFFS.get(tuple(game["decision"][anon] for anon in game["pair"]))
            assert game["raw_payoffs"] == (gains and dict(zip(game["pair"], gains, strict=True)))
            for anon, gain in zip(game["pair"], gains or (), strict=False):
                earned[names[anon]].append(gain)
        mean = fmean(map(fmean, earned.values()))
        for agent, gains in earned.items():
            played[agent] += len(gains)
            scores[agent] += sum(math.log(1 + power[agent] * gain) for gain in gains)
            step = math.exp(.02 * (fmean(gains) - mean))
            power[agent] = min(1.1, max(.9, power[agent] * step))
        assert all(after == pytest.approx(power[names[anon]], rel=1e-11)
                   for game in games for anon, after in game["power_after"].items())
    assert {.9, 1.1} <= {*power.values()}
    assert {row["id"]: (row["games"], row["score"])
            for row in files["acausal_manifest.json"]["standings"]} == {
        agent: (played[agent], pytest.approx(score, rel=1e-11)) for agent, score in scores.items()}


def test_a_game_has_the_worse_of_two_statuses_and_without_two_decisions_no_payoffs():
    answers = {"ok": "Decision: COORDINATE", "wrong_label": "Decision: Option A",
               "ambiguous": "Decision: [COORDINATE|PREEMPT]",
               "refused": "I can't help with that request.", "unreadable": "I won't COORDINATE",
               "truncated": text_reply("Decision: COORDINATE", "truncated"), **{
                   outcome: text_reply("", outcome) for outcome in (
                       "empty", "blocked", "provider_error", "not_run")}}
    for better, worse in pairwise(answers):
        files = tiny({"e1/a": answers[worse], "e1/b": answers[better]})
        game = files["round_1_games.json"]["games"][0]
        assert (game["parse_status"], game["raw_payoffs"]) == (worse, None)
        assert {answer["status"] for answer in game["answers"].values()} == {better, worse}
        assert [*game["decision"].values()].count("COORDINATE") == (better == "ok")
        assert {*game["power_after"].values()} == {1.0}
        assert files["acausal_manifest.json"]["statuses"]["game"][worse] == 1


def test_an_encounter_that_was_not_begun_is_left_out():
    files = tiny({"e1/a": NOT_RUN, "e1/b": NOT_RUN})
    manifest, games = files["acausal_manifest.json"], files["round_1_games.json"]["games"]
    assert len(games) < manifest["rounds"][0]["games"] == 2 and not manifest["complete"]


def sums(manifest):
    """What a manifest adds up, and of decisions where a stage has its part."""
    return {"complete": manifest["complete"], "unknown": manifest["cost"]["unknown"],
            "games": [(each["games"], each["played"]) for each in manifest["rounds"]],
            "usd": {stage: round(usd, 9) for stage, usd in manifest["cost"]["by_stage"].items()},
            **{key: manifest[key]["decision"] for key in ("outcomes", "tokens", "statuses")},
            **{key: manifest[key]["m/decision"] for key in ("served", "upstreams")}}


def test_the_manifest_adds_up():
    manifest = tiny({})["acausal_manifest.json"]
    assert sums(manifest) == {
        "complete": True, "unknown": 0, "games": [(2, 2)],
        "usd": {"strategy": .002, "decision": .004}, "outcomes": {"ok": 4}, "statuses": {"ok": 4},
        "tokens": {"prompt": 40, "output": 20, "reasoning": 0},
        "served": {"m-served": 4}, "upstreams": {"upstream": 4}}
    assert (manifest["simulated"], manifest["outcomes"]["strategy"], manifest["served"].keys()) == (
        False, {"ok": 2}, {"m/strategy", "m/decision"})
    assert (manifest["cost"]["usd"], manifest["cost"]["charged_usd"]) == (pytest.approx(.006), .006)
    for name in ("config", "prompts"):
        assert manifest[f"{name}_sha256"] == sha256(canonical_json(manifest[name]))


@pytest.mark.parametrize("outcome", ["not_run", "provider_error"])
def test_what_nobody_knows_is_counted_and_what_was_not_answered_is_no_answer(outcome):
    files = tiny({"e1/b": Reply("ok", "Decision: COORDINATE"), "e2/a": Reply(outcome)})
    assert sums(files["acausal_manifest.json"]) == {
        "complete": False, "unknown": 1, "games": [(2, 1)],
        "usd": {"strategy": .002, "decision": .002}, "outcomes": {"ok": 3, outcome: 1},
        "statuses": {"ok": 3, outcome: 1}, "tokens": {"prompt": 20, "output": 10, "reasoning": 0},
        "served": {"m-served": 2, "None": 1}, "upstreams": {"upstream": 2, "None": 1}}
    answers = files["round_1_games.json"]["games"][0]["answers"]
    assert {str(answer["cost_usd"]) for answer in answers.values()} == {"0.001", "None"}


def test_thoughts_are_beside_policies_and_decisions_and_are_read_for_markers():
    files = derived_from(dealt(agents=2, rounds=1), lambda request: cooperating(request)._replace(
        reasoning="Weigh payoffs.", quantization="fp8"))
    policies, games = files["strategies_r1.json"], files["round_1_games.json"]["games"]
    assert all(policy["reasoning_markers"].keys() == policy["markers"].keys()
               for policy in policies)
    assert {(row["reasoning"], row["quantization"]) for rows in (policies, *(
        game["answers"].values() for game in games)) for row in rows} == {("Weigh payoffs.", "fp8")}
    transcript = files[policies[0]["transcript_path_gz"]]
    assert transcript.count("--- reasoning\nWeigh payoffs.") == 4  # a policy, three decisions


def test_baselines_play_as_in_the_literature_without_a_call_and_are_counted_apart():
    """An agent cooperates unless `acts` say otherwise; what cannot be read changes nothing."""
    acts, calls = "?CD?CC", Counter()

    def scripted(request):
        calls[request.stage] += 1
        if request.stage == "strategy":
            return cooperating(request)
        act, cues = acts[int(request.id[-3]) - 1], read_cues(request.user)
        return text_reply({"?": "well", "C": cues.cooperative, "D": cues.other}[act])
    rules = {"AlwaysC": "CCCCCC", "AlwaysD": "DDDDDD", "TitForTat": "CCCDDC",
             "GrimTrigger": "CCCDDD"}
    t = dealt(agents=2, rounds=1, games_per_pair=6, baselines=[*rules])
    files = derived_from(t, scripted)
    data, manifest = files["round_1_games.json"], files["acausal_manifest.json"]
    lines = defaultdict(str)   # the acts of an agent against another
    names = {anon: agent["id"].removeprefix("baseline-") for anon, agent in data["agents"].items()}
    for game in data["games"]:
        sides = [names[anon] for anon in game["pair"]]
        assert game["baseline"] == any(name in rules for name in sides)
        for anon, pair in zip(game["pair"], (tuple(sides), tuple(sides[::-1])), strict=True):
            lines[pair] += {"COORDINATE": "C", "PREEMPT": "D", None: "?"}[game["decision"][anon]]
    assert lines["TitForTat", "AlwaysD"] == "CDDDDD" and {
        lines[agent, rule] for agent in ("agent-01", "agent-02") for rule in rules} == {acts}
    assert {rule: lines[rule, "agent-01"] for rule in rules} == rules == {
        rule: lines[rule, "agent-02"] for rule in rules}
    free = next(answer for game in data["games"] for anon, answer in game["answers"].items()
                if names[anon] in rules)
    assert (free["status"], free["cost_usd"], set(free["tokens"].values())) == ("ok", 0, {0})
    assert {free[name] for name in ("text", "policy_id", "model", "provider")} == {None}
    assert calls == {"strategy": len(files["strategies_r1.json"]), "decision": 6 * (2 + 8)}
    assert sum(manifest["statuses"]["decision"].values()) == 60   # of models alone
    assert [(agent["baseline"], agent["model_decision"]) for agent in manifest["agents"]] == [
        (None, "m/decision")] * 2 + [(name, None) for name in rules]


def test_values_on_either_side_of_what_a_field_may_hold():
    data = tiny({})["round_1_games.json"]
    game = data["games"][0]
    name, answer = game["pair"][0], game["answers"][game["pair"][0]]
    for place, key, good, bad in (
            (data, "round", [1], [0, 1.5, "1"]), (data, "domain", ["hospital"], [" "]),
            (game["pair"], 0, ["0123456789abcdef" * 4], ["0" * 63, "0" * 65, "G" * 64, 7]),
            (game, "pair", [["0" * 64] * 2], [["0" * 64], ["0" * 64] * 3]),
            (game["power_after"], name, [.9, 1.1], [.899, 1.101, "1"]),
            (answer, "status", ["ok", "refused"], ["fine"]),
            (answer["tokens"], "prompt", [0, None], [-1, .5]),
            (answer, "cost_usd", [0, .5, None], [-.001, "1"])):
        for value in bad:
            place[key] = value
            with pytest.raises(UsageError, match=str(key)):
                shape.check(games.GAMES, data, "")
        for value in good:
            place[key] = value
            assert shape.check(games.GAMES, data, "") is data
