"""Derived files of a tournament small enough to work out by hand, and the table of their shapes."""

import json
from collections import Counter

import pytest
from domains import DOMAINS
from tournaments import asked, configured, cooperating, said

from cirrus.ask.design import design
from cirrus.ask.encounters import request_ids
from cirrus.judge import games
from cirrus.judge.games import derive
from common import UsageError
from common.artifacts import canonical_json, sha256
from common.wire import NOT_RUN, Reply


def tiny(answers):
    """(design, its JSON files) of two agents that meet twice; `answers`: {"e1/a": text, reply}."""
    config = configured(agents=2, rounds=1, games_per_pair=2, label_schemes=["L1"])
    t = design(DOMAINS["cvd"], config)
    replies = {}
    for name in request_ids(t):
        text = "One.\nTwo.\nThree." if "/agent-" in name else answers.get(
            name[-4:], "Decision: COORDINATE")
        replies[name] = text if isinstance(text, Reply) else said(text)
    study = {"config": config, "prompts": DOMAINS["cvd"].files, "provider": "https://x"}
    files, _ = derive(study, DOMAINS["cvd"], lambda request: replies.get(request.id, NOT_RUN),
                      {"code_sha256": "0" * 64, "charged_usd": 0.006})
    return t, {name: json.loads(data) for name, data in files.items() if name.endswith(".json")}


def test_payoffs_power_and_scores_of_two_games():
    t, files = tiny({"e1/a": "Decision: PREEMPT", "e2/a": "PREEMPT", "e2/b": "PREEMPT"})
    a, b = (t.rounds[0].anon[agent.id] for agent in (t.rounds[0].pairs[0].a,
                                                    t.rounds[0].pairs[0].b))
    first, second = files["round_1_games.json"]["games"]
    assert first["decision"] == {a: "PREEMPT", b: "COORDINATE"}
    cooperative = {"cooperative-first": "left", "other-first": "right"}[first["order"]]
    assert first["labels"][cooperative] == "COORDINATE" and "PREEMPT" in first["labels"].values()
    assert first["raw_payoffs"] == {a: 5, b: 0}
    assert first["power_after"] == {a: pytest.approx(1.05127109637602404),
                                    b: pytest.approx(0.95122942450071401)}
    assert (first["first_encounter"], second["first_encounter"]) == (True, False)
    assert second["raw_payoffs"] == {a: 1, b: 1}
    assert second["power_after"] == first["power_after"]  # equal payoffs move nobody
    scores = {row["id"]: row["score"] for row in files["acausal_manifest.json"]["standings"]}
    # ln 6 + ln(1 + e^0.05·1) and ln 1 + ln(1 + e^-0.05·1), by bc
    assert scores[t.rounds[0].pairs[0].a.id] == pytest.approx(1.79175946922805500
                                                              + 0.71845964801328629, rel=1e-11)
    assert scores[t.rounds[0].pairs[0].b.id] == pytest.approx(0.66845964801328629, rel=1e-11)


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


def test_an_encounter_that_was_not_begun_is_left_out():
    _, files = tiny({"e1/a": NOT_RUN, "e1/b": NOT_RUN})
    manifest, games = files["acausal_manifest.json"], files["round_1_games.json"]["games"]
    assert len(games) < manifest["rounds"][0]["games"] == 2 and not manifest["complete"]


def test_baselines_play_without_a_call_and_stand_apart():
    config = configured(agents=2, rounds=1, label_schemes=["L1"],
                        baselines=["TitForTat", "AlwaysD"])
    t = design(DOMAINS["cvd"], config)
    requests = asked(t)
    assert Counter(r.stage for r in requests.values()) == {"strategy": 2, "decision": 3 * (2 + 4)}
    replies = {name: cooperating(request) for name, request in requests.items()}
    study = {"config": config, "prompts": {}, "provider": "https://x"}
    files, manifest = derive(study, DOMAINS["cvd"], lambda request: replies[request.id],
                      {"code_sha256": "0" * 64, "charged_usd": 0})
    games = json.loads(files["round_1_games.json"])
    who = {name: agent["baseline"] for name, agent in games["agents"].items()}
    played = {}
    for game in games["games"]:
        rules = sorted(str(who[name]) for name in game["pair"])
        assert game["baseline"] == (rules != ["None", "None"])
        played.setdefault(tuple(rules), []).append(
            tuple(game["decision"][name] for name in sorted(game["pair"],
                                                           key=lambda n: str(who[n]))))
    assert played["AlwaysD", "TitForTat"] == [
        ("PREEMPT", "COORDINATE"), ("PREEMPT", "PREEMPT"), ("PREEMPT", "PREEMPT")]
    assert played["None", "TitForTat"] == [("COORDINATE", "COORDINATE")] * 6
    assert len(json.loads(files["strategies_r1.json"])) == 2
    rule = next(answer for game in games["games"] for name, answer in game["answers"].items()
                if who[name])
    assert rule == {"status": "ok", "tokens": {"prompt": 0, "output": 0, "reasoning": 0,
                                               "truncated": False}, "cost_usd": 0,
                    **dict.fromkeys(("text", "policy_id", "model", "served_model", "provider"))}
    assert manifest["statuses"]["decision"] == {"ok": 3 * (2 + 4)}   # of models alone
    assert [(agent["baseline"], agent["model_decision"]) for agent in manifest["agents"]] == [
        (None, "m/decision")] * 2 + [("TitForTat", None), ("AlwaysD", None)]


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
        assert games.check("round_1_games.json", data) is data
    for value in bad:
        at[last] = value
        with pytest.raises(UsageError, match=str(last) if isinstance(last, str) else "pair"):
            games.check("round_1_games.json", data)


@pytest.mark.parametrize(("name", "shaped"), [
    ("round_12_games.json", True), ("strategies_r1.json", True), ("acausal_manifest.json", True),
    ("manifest.json", False), ("round_1_games.json.bak", False), ("round_x_games.json", False)])
def test_a_derived_file_is_known_by_its_name(name, shaped):
    assert (games.kind_of(name) is not None) == shaped
