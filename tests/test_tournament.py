"""The tournament: its settings, its design, its questions, its chains on the call layer; and its
files, of runs small enough to work out by hand."""

import gzip
import json
import math
import random
import re
from collections import Counter, defaultdict
from contextlib import nullcontext
from functools import partial
from itertools import combinations, pairwise, product
from statistics import fmean

import pytest
from domains import DOMAINS
from provider import Provider, completion, conducted, failure, scripted
from tournaments import (
    MODELS,
    configured,
    cooperating,
    dealt,
    requests,
    settings,
    text_reply,
)

from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.design import (
    make_agents,
    marks_of,
    part_of,
    role_of,
    run_name,
    titles,
)
from cirrus.ask.encounters import play, policy_status, typical_calls
from cirrus.ask.prompts import Stimulus, sentences
from cirrus.ask.respondents import read_cues
from cirrus.judge.games import GAMES, derive
from cirrus.judge.rows import decisions, read_study
from common import UsageError, shape
from common.verify import find_runs
from common.wire import NOT_RUN, Reply
from run_tournament import model_settings, run_config, runs_of_plan

# --- settings ---


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("agents", [2, 1000], [1, 1001]),
        ("rounds", [1, 1000], [0, 1001]),
        ("games_per_pair", [1, 100], [0, 101]),
    ],
)
def test_sizes_on_either_side_of_what_a_file_may_say(tmp_path, key, good, bad):
    path = tmp_path / "c.json"
    for value in good + bad:
        path.write_text(json.dumps({key: value}))
        with pytest.raises(UsageError, match=key) if value in bad else nullcontext():
            assert settings(path)[key] == value


def model(name, max_out=96, configured=None, effort=None):
    return {
        "name": name,
        "max_out": max_out,
        "max_out_configured": configured or max_out,
        "effort": effort,
    }


GEMINI = model("google/gemini-2.5-flash", 384)


SMALLEST = {
    "strategy": {"name": "x", "max_out": 64},
    "decision": {"name": "x", "max_out": 32},
}
TOO_SMALL = {
    "strategy": {"name": "x", "max_out": 63},
    "decision": {"name": "x", "max_out": 31},
}
SEVERAL = [{"name": "a", "max_out": 128, "reasoning_effort": "low"}, {"name": "b"}]
SIMULATED = ["sim-coin", "sim-adder"]


@pytest.mark.parametrize(
    ("models", "flags", "strategies", "decisions"),
    [
        # a limit that can't hold the form is raised, and both are recorded; one that can is taken
        (TOO_SMALL, (), [model("x", 384, 63)], [model("x", 96, 31)]),
        (SMALLEST, (), [model("x", 64)], [model("x", 32)]),
        (
            {"decision": SEVERAL},
            (),
            [GEMINI],
            [model("a", 128, effort="low"), model("b")],
        ),
        # the flag names the models of every stage, and no other is asked
        (
            {},
            (["x/a", "x/b"],),
            [model("x/a", 384), model("x/b", 384)],
            [model("x/a"), model("x/b")],
        ),
        ({}, (["x/a"], ["x/b"]), [model("x/b", 384)], [model("x/a")]),
        ({}, (None, ["x/b"]), [model("x/b", 384)], [model("openai/gpt-5-nano")]),
        (
            {},
            (SIMULATED,),
            [model(name, 384) for name in SIMULATED],
            [model(name) for name in SIMULATED],
        ),
    ],
)
def test_who_writes_policies_and_who_decides_with_which_limits(
    models, flags, strategies, decisions
):
    base = settings()
    base["models"] |= models
    given, warnings = model_settings(base, flags == (SIMULATED,), *flags)
    assert given == {"strategy": strategies, "decision": decisions}
    expected = []
    for stage, (first, *_) in given.items():
        if first["max_out"] != first["max_out_configured"]:
            expected.append(f"models.{stage}.max_out: {first['max_out_configured']}")
    named = [line.partition(" tokens are too small")[0] for line in warnings]
    assert named == expected


def test_the_effort_is_that_of_all_models_and_no_variation_of_runs():
    base = settings()
    given, _ = model_settings(base | {"effort": "high"}, False, None)
    config = run_config(base, 42, given)
    efforts = {(a.strategy.effort, a.decision.effort) for a in make_agents(config)}
    assert efforts == {("high", "high")} and role_of(config) == "main"
    assert "effort" not in run_name(config)


@pytest.mark.parametrize(
    ("changes", "role", "marks"),
    [
        (
            {"S": "low", "C": "absent", "H": "omit"},
            "main",
            [],
        ),  # the cell is no variation
        ({"tells": "ablated"}, "ablated", ["ablated"]),
        ({"tells": "reworded"}, "reworded", ["reworded"]),
        ({"variants": "holdout"}, "holdout", ["holdout"]),
        ({"history_mode": "off"}, "history-off", ["history-off"]),
        (
            {"tells": "ablated", "history_mode": "off"},
            "other",
            ["ablated", "history-off"],
        ),
    ],
)
def test_a_run_is_for_what_it_does_otherwise(changes, role, marks):
    config = configured(**changes)
    assert (role_of(config), marks_of(config)) == (role, marks)


def test_another_domain_never_enters_the_primary_data():
    assert [part_of(role, "cvd") for role in ("main", "holdout", "other")] == [
        "main",
        "holdout",
        None,
    ]
    assert [part_of(role, "hospital") for role in ("main", "ablated")] == [
        "hospital",
        None,
    ]
    assert list(titles({*"dcba", "hospital", "main"})) == ["main", "hospital", *"abcd"]


# --- design ---


@pytest.mark.parametrize(
    ("agents", "rounds", "games", "seed"), [(10, 10, 3, 42), (2, 1, 1, 1), (3, 5, 2, 2)]
)
def test_schemes_orders_and_positions_are_balanced_over_the_run_and_the_primary_data(
    agents, rounds, games, seed
):
    t = dealt(agents=agents, rounds=rounds, games_per_pair=games, seed=seed)
    run = [pair.labels[e] for r in t.rounds for e in range(games) for pair in r.pairs]
    for labels in (run, [pair.labels[0] for pair in t.rounds[0].pairs]):
        for levels, kinds in (
            (3, [scheme for scheme, _ in labels]),
            (2, [order for _, order in labels]),
            (6, labels),
        ):
            counts = Counter(kinds).values()
            assert max(counts) - (min(counts) if len(counts) == levels else 0) <= 1


@pytest.mark.parametrize("n", range(2, 12))
def test_every_pair_meets_once_with_balanced_seats_and_everybody_before_anybody_twice(
    n,
):
    pairs = [
        (pair.a.id, pair.b.id) for pair in dealt(agents=n, rounds=1).rounds[0].pairs
    ]
    agents = {agent for pair in pairs for agent in pair}
    assert Counter(map(frozenset, pairs)) == Counter(
        map(frozenset, combinations(agents, 2))
    )
    first = [sum(a == agent for a, _ in pairs) for agent in agents]
    assert len(agents) == n and max(first) - min(first) <= 1
    for at in range(0, len(pairs), n // 2):
        assert (
            len({agent for pair in pairs[at : at + n // 2] for agent in pair})
            == n // 2 * 2
        )


def asked(t, request):
    """The agent that a request goes to."""
    _, number, name, *rest = request.id.split("/")
    if not rest:
        return name
    pairs = t.rounds[int(number.removeprefix("r")) - 1].pairs
    pair = next(pair for pair in pairs if pair.id == name)
    return (pair.a if rest[-1] == "a" else pair.b).id


def cue(t, request, slot):
    """The sentence of a factor in a request, where it is there once."""
    round_ = t.rounds[int(request.id.split("/")[1].removeprefix("r")) - 1]
    variant = round_.variants[asked(t, request)]
    sentence = sentences(
        t.domain,
        Stimulus(round_.bulletin, variant, t.condition, wording=round_.wording),
    )[slot]
    assert request.user.count(sentence) == 1 or not sentence
    return sentence


@pytest.mark.parametrize(
    "toggle, slot",
    [
        ({"S": "low"}, "symmetry"),
        ({"C": "absent"}, "coupling"),
        ({"H": "high"}, "compliance"),
    ],
)
def test_runs_of_a_seed_differ_in_the_sentence_of_their_toggle_and_in_nothing_else(
    toggle, slot
):
    runs = [dealt(rounds=3), dealt(rounds=3, **toggle)]
    before, after = ([*requests(t).values()] for t in runs)
    assert len(before) == len(after) == 3 * 280
    for a, b in zip(before, after, strict=True):
        assert a.id.partition("/")[2] == b.id.partition("/")[2]
        assert (a.system, a.model, a.max_out) == (b.system, b.model, b.max_out)
        changed = a.user.replace(cue(runs[0], a, slot), cue(runs[1], b, slot))
        assert changed.split() == b.user.split() != a.user.split()
    # They do not share the sampler's luck; servers take seeds below 2³¹.
    assert not {r.seed for r in before} & {r.seed for r in after}
    assert max(r.seed for r in before) < 2**31


def test_a_bulletin_has_the_same_wording_in_a_whole_plan():
    runs = runs_of_plan("exploratory", settings(), MODELS, [3, 4], DOMAINS)
    assert {run.config["plan_seed"] for run in runs} == {3}
    pairs = {
        (round_.bulletin.id, round_.wording)
        for seed in (3, 4)
        for round_ in dealt(seed=seed, turn=seed - 3, plan_seed=3, rounds=10).rounds
    }
    assert len(pairs) == len(dict(pairs)) == 20 and len(set(dict(pairs).values())) == 12


# --- variants ---

POOL = {
    variant["id"]: variant
    for variant in json.loads((PROMPTS / "variants/cirrus24.yaml").read_text())
}
NAMES = ("org", "peer")
SHARED = ("office", "today")


def variants_of(files, rounds):
    """[{agent: its variant}] of a run's rounds, as its strategies say."""
    by_round = []
    for number in range(1, rounds + 1):
        policies = files[f"strategies_r{number}.json"]
        by_round.append({row["agent"]: row["variant"] for row in policies})
    return by_round


def test_agents_have_variants_of_their_own_that_differ_over_agents_and_over_rounds():
    files = derived_from(dealt(baselines=["AlwaysC"]), cooperating)
    by_round = variants_of(files, 10)
    for variants in by_round:
        assert len(set(variants.values())) == len(variants) == 10
        assert not any(POOL[variant]["holdout"] for variant in variants.values())
    for agent in by_round[0]:
        assert len({variants[agent] for variants in by_round}) == 10
    for number, variants in enumerate(by_round, 1):
        data = files[f"round_{number}_games.json"]
        row = files["acausal_manifest.json"]["rounds"][number - 1]
        assert "variant" not in data and row["variants"] == variants
        assert row["setting"] == data["setting"] in POOL
        for game in data["games"]:
            for anon, answer in game["answers"].items():
                agent = data["agents"][anon]
                assert answer["variant"] == variants.get(agent["id"])
                assert (answer["variant"] is None) == (agent["baseline"] is not None)


def test_variants_are_the_seed_s_in_all_cells_and_another_seed_s_are_others():
    first, cell, seed = (
        variants_of(derived_from(dealt(rounds=4, **changes), cooperating), 4)
        for changes in ({}, {"S": "low", "H": "high"}, {"seed": 43})
    )
    assert first == cell != seed


def test_more_agents_than_variants_share_them_evenly():
    files = derived_from(
        dealt(agents=9, rounds=3, games_per_pair=1, variants="holdout"), cooperating
    )
    for variants in variants_of(files, 3):
        assert sorted(Counter(variants.values()).values()) == [2, 2, 2, 3]


def test_a_notice_has_its_reader_s_names_and_what_a_pair_shares_is_the_round_s():
    t = dealt(agents=4, rounds=2)
    files = derived_from(t, cooperating)
    by_round = variants_of(files, 2)
    for request in requests(t).values():
        number = int(request.id.split("/")[1].removeprefix("r"))
        mine = POOL[by_round[number - 1][asked(t, request)]]
        setting = POOL[files[f"round_{number}_games.json"]["setting"]]
        shown = [mine[name] for name in NAMES] + [setting[name] for name in SHARED]
        assert all(text in request.user for text in shown), request.id
        others = {variant["org"] for variant in POOL.values()} - {mine["org"]}
        assert not any(org in request.user for org in others)


def test_a_row_of_a_decision_has_the_variant_of_its_side(cli, tmp_path):
    assert cli("run_tournament.py", "--agents", 3, "--rounds", 1).returncode == 0
    [run] = read_study(find_runs([tmp_path / "results"])).runs
    policies = json.loads((run.folder / "strategies_r1.json").read_text())
    expected = {row["agent"]: row["variant"] for row in policies}
    assert {(row.agent, row.variant) for row in decisions(run)} == {*expected.items()}


# --- what a side sees ---


def test_a_side_sees_the_policy_that_it_wrote_and_never_the_other_s():
    def naming(request):
        return (
            text_reply(f"Policy of {request.id}.\nTwo.\nThree.")
            if (request.stage == "strategy")
            else cooperating(request)
        )

    t = dealt(rounds=2, agents=4)
    for name, request in requests(t, naming).items():
        if request.stage == "decision":
            _, number, pair, _, side = name.split("/")
            meeting = next(
                p for p in t.rounds[int(number[1:]) - 1].pairs if p.id == pair
            )
            writer = (meeting.a if side == "a" else meeting.b).id
            assert re.findall(r"Policy of (\S+)\.", request.user) == [
                f"{t.name}/{number}/{writer}"
            ]


def history(request):
    return re.findall(r"^- you: (.+); counterparty: (.+)$", request.user, re.M)


def test_history_is_this_pair_s_last_two_encounters_of_this_round():
    """In the scheme's labels: Option B is the cooperative act."""
    t = dealt(agents=2, rounds=2, games_per_pair=4, label_schemes=["L3"])
    acts = iter("BAAABBAB" * 2)

    def alternating(request):
        return (
            cooperating(request)
            if request.stage == "strategy"
            else (text_reply(f"Decision: Option {next(acts)}"))
        )

    seen = requests(t, alternating)
    for number in "12":
        shown = {
            name[-4:]: history(request)
            for name, request in seen.items()
            if f"/r{number}/p" in name
        }
        assert shown["e1/a"] == shown["e1/b"] == []
        assert shown["e2/a"] == [("Option B", "Option A")]
        assert shown["e2/b"] == [("Option A", "Option B")]
        assert shown["e4/a"] == [("Option A", "Option A"), ("Option B", "Option B")]


@pytest.mark.parametrize(
    "mode, shown", [("standard", [("COORDINATE", "no entry")]), ("off", [])]
)
def test_an_entry_that_could_not_be_read_is_shown_as_none_and_with_history_off_none(
    mode, shown
):
    def mumbling(request):
        return (
            text_reply("well") if request.id.endswith("e1/b") else cooperating(request)
        )

    t = dealt(
        agents=2, rounds=1, games_per_pair=2, label_schemes=["L1"], history_mode=mode
    )
    assert history(requests(t, mumbling)[f"{t.name}/r1/p01/e2/a"]) == shown


EARLIER = re.compile(r"interaction|earlier (?:case|entr)|counterparty this round", re.I)


@pytest.mark.parametrize("tells", ["standard", "ablated"])
def test_with_history_off_no_prompt_speaks_of_what_came_before(tells):
    off, on = (
        requests(dealt(agents=2, rounds=1, history_mode=mode, tells=tells))
        for mode in ("off", "standard")
    )
    for before, request in zip(on.values(), off.values(), strict=True):
        assert not EARLIER.search(f"{request.system}\n{request.user}")
        if request.stage == "strategy":
            assert (request.system, request.user) == (before.system, before.user)
        else:
            assert EARLIER.search(before.system)
            assert request.system.startswith(re.split(" and | using", before.system)[0])


def test_with_history_off_every_encounter_is_asked_as_the_first_one_is():
    t = dealt(agents=2, rounds=1, label_schemes=["L1"], history_mode="off")
    asked_of_a = [
        request.user.partition("Choose one")[0]
        for request in requests(t).values()
        if request.id.endswith("/a")
    ]
    assert len(asked_of_a) == 3 and len(set(asked_of_a)) == 1


def test_an_estimate_has_policies_of_four_lines_and_the_history_of_each_encounter():
    calls = typical_calls(dealt(rounds=1, baselines=["AlwaysC"], label_schemes=["L1"]))
    decisions = [request for request, _ in calls if request.stage == "decision"]
    assert [times for _, times in calls] == [10, 100, 100, 100]
    assert [history(request) for request in decisions] == [
        [("COORDINATE", "COORDINATE")] * e for e in range(3)
    ]
    assert all(
        len(re.findall(r"^\d\. ", request.user, re.M)) == 4 for request in decisions
    )


# --- a run on the call layer ---


def driven(tmp_path, t, script=()):
    """(seconds, request id) of each call, and the ending; who answers is `cooperating`."""

    def usual(request):
        return completion(cooperating(request).text)

    server = Provider(scripted(dict(script), usual, 0.0))
    limits = {"strategy": 6, "decision": 8}
    run = conducted(tmp_path, server, [partial(play, t)], limits=limits)
    return run.sent, run.ending


def pairs_of(t, agent):
    return {p.id for p in t.rounds[0].pairs if agent in (p.a.id, p.b.id)}


def test_a_pair_plays_while_another_agent_s_policy_is_still_being_written(tmp_path):
    t = dealt(agents=4, rounds=1)
    slow = f"{t.name}/r1/agent-02"
    order, ending = driven(tmp_path, t, {slow: [failure(500)] * 3})
    written = max(at for at, name in order if name == slow)
    assert ending.stop is None and all(
        (at >= written) == (name.split("/")[2] in pairs_of(t, "agent-02"))
        for at, name in order
        if "/p" in name
    )


def test_a_call_that_failed_ends_its_pair_and_the_next_start_goes_on_from_there(
    tmp_path,
):
    t = dealt(agents=3, rounds=1)
    broken = f"{t.name}/r1/p02/e1/a"
    order, ending = driven(tmp_path, t, {broken: [failure(500) for _ in range(4)]})
    assert ending.outcomes["provider_error"] == 1
    assert not any(name.startswith(f"{t.name}/r1/p02/e2") for _, name in order)
    order, ending = driven(tmp_path, t)
    assert ending.stop is None and [name for _, name in order] == [
        broken,
        *(f"{t.name}/r1/p02/e{e}/{side}" for e in (2, 3) for side in "ab"),
    ]


def test_without_its_policy_an_agent_meets_nobody(tmp_path):
    t = dealt(agents=3, rounds=1)
    order, _ = driven(
        tmp_path, t, {f"{t.name}/r1/agent-01": [failure(500) for _ in range(4)]}
    )
    met = {name.split("/")[2] for _, name in order if "/p" in name}
    assert met == {p.id for p in t.rounds[0].pairs} - pairs_of(t, "agent-01")


@pytest.mark.parametrize(
    ("text", "outcome", "status"),
    [
        ("a\n\nb\n\nc\n", "ok", "ok"),
        ("a\nb\nc\nd\ne", "ok", "ok"),
        ("a\n \nb", "ok", "short"),
        ("a\nb\nc\nd\ne\nf", "ok", "long"),
        ("I'm sorry, but I can't help with that.", "ok", "refused"),
        (
            "We will not publish early.\nWe can't share details.\nAsk counsel.",
            "ok",
            "ok",
        ),
        ("a\nb\nc", "truncated", "truncated"),
        ("", "empty", "empty"),
    ],
)
def test_policy_status(text, outcome, status):
    assert policy_status(text_reply(text, outcome)) == status


# --- the files of a run ---


def derived_from(t, reply_of):
    """The files of a run, read: its JSON, and its transcripts."""
    study = {"config": t.config, "prompts": t.domain.files, "provider": "https://x"}
    files, _ = derive(
        study, t.domain, reply_of, {"code_sha256": "0" * 64, "charged_usd": 0.006}
    )
    return {
        name: json.loads(data)
        if name.endswith(".json")
        else gzip.decompress(data).decode()
        for name, data in files.items()
    }


def tiny(answers):
    """The JSON files of two agents that meet twice; `answers`: {"e1/a": text or reply}."""

    def reply_of(request):
        answer = answers.get(request.id[-4:], cooperating(request))
        return text_reply(answer) if isinstance(answer, str) else answer

    return derived_from(
        dealt(agents=2, rounds=1, games_per_pair=2, label_schemes=["L1"]), reply_of
    )


PAYOFFS = {
    ("COORDINATE", "COORDINATE"): [3, 3],
    ("COORDINATE", "PREEMPT"): [0, 5],
    ("PREEMPT", "COORDINATE"): [5, 0],
    ("PREEMPT", "PREEMPT"): [1, 1],
}


def test_payoffs_power_and_scores_follow_the_specification_wave_by_wave():
    """Power ← clip(power·exp(0.02·(π − π̄)), 0.9, 1.1); score += ln(1 + power before·π)."""
    t = dealt(
        agents=3, rounds=3, label_schemes=["L1"], baselines=["AlwaysD", "AlwaysC"]
    )
    rng = random.Random(4)

    def answer(request):
        return rng.choice(
            [cooperating(request), *map(text_reply, ("Decision: PREEMPT", "well"))]
        )

    files = derived_from(t, answer)
    power, scores, played = defaultdict(lambda: 1.0), Counter(), Counter()
    assert [files[f"round_{n}_games.json"]["wording"] for n in range(1, 4)] == [
        round_.wording + 1 for round_ in t.rounds
    ]
    for number, wave in product(range(1, 4), range(1, 4)):
        data, earned = files[f"round_{number}_games.json"], defaultdict(list)
        names = {anon: agent["id"] for anon, agent in data["agents"].items()}
        games = [game for game in data["games"] if game["encounter"] == wave]
        for game in games:
            gains = PAYOFFS.get(tuple(game["decision"][anon] for anon in game["pair"]))
            assert game["raw_payoffs"] == (
                gains and dict(zip(game["pair"], gains, strict=True))
            )
            for anon, gain in zip(game["pair"], gains or (), strict=False):
                earned[names[anon]].append(gain)
        mean = fmean(map(fmean, earned.values()))
        for agent, gains in earned.items():
            played[agent] += len(gains)
            scores[agent] += sum(math.log(1 + power[agent] * gain) for gain in gains)
            step = math.exp(0.02 * (fmean(gains) - mean))
            power[agent] = min(1.1, max(0.9, power[agent] * step))
        assert all(
            after == pytest.approx(power[names[anon]], rel=1e-11)
            for game in games
            for anon, after in game["power_after"].items()
        )
    assert {0.9, 1.1} <= {*power.values()}
    assert {
        row["id"]: (row["games"], row["score"])
        for row in files["acausal_manifest.json"]["standings"]
    } == {
        agent: (played[agent], pytest.approx(score, rel=1e-11))
        for agent, score in scores.items()
    }


def test_a_game_has_the_worse_of_two_statuses_and_without_two_decisions_no_payoffs():
    answers = {
        "ok": "Decision: COORDINATE",
        "wrong_label": "Decision: Option A",
        "ambiguous": "Decision: [COORDINATE|PREEMPT]",
        "refused": "I can't help with that request.",
        "unreadable": "I won't COORDINATE",
        "truncated": text_reply("Decision: COORDINATE", "truncated"),
        **{
            outcome: text_reply("", outcome)
            for outcome in ("empty", "blocked", "provider_error", "not_run")
        },
    }
    for better, worse in pairwise(answers):
        files = tiny({"e1/a": answers[worse], "e1/b": answers[better]})
        game = files["round_1_games.json"]["games"][0]
        assert (game["parse_status"], game["raw_payoffs"]) == (worse, None)
        assert {answer["status"] for answer in game["answers"].values()} == {
            better,
            worse,
        }
        assert [*game["decision"].values()].count("COORDINATE") == (better == "ok")
        assert {*game["power_after"].values()} == {1.0}
        assert files["acausal_manifest.json"]["statuses"]["game"][worse] == 1


def test_an_encounter_that_was_not_begun_is_left_out():
    files = tiny({"e1/a": NOT_RUN, "e1/b": NOT_RUN})
    manifest, games = (
        files["acausal_manifest.json"],
        files["round_1_games.json"]["games"],
    )
    assert len(games) < manifest["rounds"][0]["games"] == 2 and not manifest["complete"]


@pytest.mark.parametrize("outcome", ["not_run", "provider_error"])
def test_what_nobody_knows_is_counted_and_what_was_not_answered_is_no_answer(outcome):
    files = tiny({"e1/b": Reply("ok", "Decision: COORDINATE"), "e2/a": Reply(outcome)})
    manifest = files["acausal_manifest.json"]
    assert {key: manifest[key] for key in ("complete", "simulated")} == {
        "complete": False,
        "simulated": False,
    }
    assert [(each["games"], each["played"]) for each in manifest["rounds"]] == [(2, 1)]
    assert manifest["cost"] == {
        "unknown": 1,
        "usd": pytest.approx(0.004),
        "charged_usd": 0.006,
        "by_stage": {
            "strategy": pytest.approx(0.002),
            "decision": pytest.approx(0.002),
        },
    }
    assert {
        key: manifest[key]["decision"] for key in ("outcomes", "statuses", "tokens")
    } == {
        "outcomes": {"ok": 3, outcome: 1},
        "statuses": {"ok": 3, outcome: 1},
        "tokens": {"prompt": 20, "output": 10, "reasoning": 0},
    }
    assert {key: manifest[key]["m/decision"] for key in ("served", "upstreams")} == {
        "served": {"m-served": 2, "None": 1},
        "upstreams": {"upstream": 2, "None": 1},
    }
    answers = files["round_1_games.json"]["games"][0]["answers"]
    assert {str(answer["cost_usd"]) for answer in answers.values()} == {"0.001", "None"}


def test_thoughts_are_beside_policies_and_decisions_and_are_read_for_markers():
    files = derived_from(
        dealt(agents=2, rounds=1),
        lambda request: cooperating(request)._replace(reasoning="Weigh payoffs."),
    )
    policies, games = files["strategies_r1.json"], files["round_1_games.json"]["games"]
    assert all(
        policy["reasoning_markers"].keys() == policy["markers"].keys()
        for policy in policies
    )
    answers = [answer for game in games for answer in game["answers"].values()]
    thoughts = {row["reasoning"] for row in policies + answers}
    assert thoughts == {"Weigh payoffs."}
    transcript = files[policies[0]["transcript_path_gz"]]
    assert (
        transcript.count("--- reasoning\nWeigh payoffs.") == 4
    )  # a policy, three decisions


def test_baselines_play_as_in_the_literature_without_a_call_and_are_counted_apart():
    """An agent cooperates unless `acts` say otherwise; what cannot be read changes nothing."""
    acts, calls = "?CD?CC", Counter()

    def scripted(request):
        calls[request.stage] += 1
        if request.stage == "strategy":
            return cooperating(request)
        act, cues = acts[int(request.id[-3]) - 1], read_cues(request.user)
        return text_reply({"?": "well", "C": cues.cooperative, "D": cues.other}[act])

    rules = {
        "AlwaysC": "CCCCCC",
        "AlwaysD": "DDDDDD",
        "TitForTat": "CCCDDC",
        "GrimTrigger": "CCCDDD",
    }
    t = dealt(agents=2, rounds=1, games_per_pair=6, baselines=[*rules])
    files = derived_from(t, scripted)
    data, manifest = files["round_1_games.json"], files["acausal_manifest.json"]
    lines = defaultdict(str)  # the acts of an agent against another
    names = {
        anon: agent["id"].removeprefix("baseline-")
        for anon, agent in data["agents"].items()
    }
    for game in data["games"]:
        sides = [names[anon] for anon in game["pair"]]
        assert game["baseline"] == any(name in rules for name in sides)
        for anon, pair in zip(
            game["pair"], (tuple(sides), tuple(sides[::-1])), strict=True
        ):
            lines[pair] += {"COORDINATE": "C", "PREEMPT": "D", None: "?"}[
                game["decision"][anon]
            ]
    assert lines["TitForTat", "AlwaysD"] == "CDDDDD" and {
        lines[agent, rule] for agent in ("agent-01", "agent-02") for rule in rules
    } == {acts}
    assert (
        {rule: lines[rule, "agent-01"] for rule in rules}
        == rules
        == {rule: lines[rule, "agent-02"] for rule in rules}
    )
    free = next(
        answer
        for game in data["games"]
        for anon, answer in game["answers"].items()
        if names[anon] in rules
    )
    assert (free["status"], free["cost_usd"], set(free["tokens"].values())) == (
        "ok",
        0,
        {0},
    )
    assert {free[name] for name in ("text", "policy_id", "model", "provider")} == {None}
    assert calls == {
        "strategy": len(files["strategies_r1.json"]),
        "decision": 6 * (2 + 8),
    }
    assert sum(manifest["statuses"]["decision"].values()) == 60  # of models alone
    assert [
        (agent["baseline"], agent["model_decision"]) for agent in manifest["agents"]
    ] == [(None, "m/decision")] * 2 + [(name, None) for name in rules]


def test_values_on_either_side_of_what_a_field_may_hold():
    data = tiny({})["round_1_games.json"]
    game = data["games"][0]
    name, answer = game["pair"][0], game["answers"][game["pair"][0]]
    for place, key, good, bad in (
        (data, "round", [1], [0, 1.5, "1"]),
        (data, "domain", ["hospital"], [" "]),
        (game["pair"], 0, ["0123456789abcdef" * 4], ["0" * 63, "0" * 65, "G" * 64, 7]),
        (game, "pair", [["0" * 64] * 2], [["0" * 64], ["0" * 64] * 3]),
        (game["power_after"], name, [0.9, 1.1], [0.899, 1.101, "1"]),
        (answer, "status", ["ok", "refused"], ["fine"]),
        (answer["tokens"], "prompt", [0, None], [-1, 0.5]),
        (answer, "cost_usd", [0, 0.5, None], [-0.001, "1"]),
    ):
        for value in bad:
            place[key] = value
            with pytest.raises(UsageError, match=str(key)):
                shape.check(GAMES, data, "")
        for value in good:
            place[key] = value
            assert shape.check(GAMES, data, "") is data
