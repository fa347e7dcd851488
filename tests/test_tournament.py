"""The tournament: its settings, its design, its questions, its chains on the call layer; and its
files, of runs small enough to work out by hand."""

import gzip
import json
import math
import random
import re
from collections import Counter, defaultdict
from functools import partial
from itertools import chain, combinations, pairwise, product
from statistics import fmean

import pytest
from provider import Provider, completion, conducted, failure, scripted
from tournaments import (
    configured,
    cooperating,
    dealt,
    requests,
    settings,
    text_reply,
)

from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.design import (
    marks_of,
    role_of,
)
from cirrus.ask.encounters import play
from cirrus.ask.prompts import Stimulus, sentences
from cirrus.ask.respondents import read_cues
from cirrus.judge.games import derive
from common.wire import Reply
from run_tournament import model_settings

# --- settings ---

SEVERAL = [{"name": "a", "max_out": 128, "reasoning_effort": "low"}, {"name": "b"}]
# at a stage: what the configuration asks for; (name, limit, limit as configured, effort)
LIMITS = [
    ("strategy", {"name": "x", "max_out": 63}, [("x", 384, 63, None)]),
    ("strategy", {"name": "x", "max_out": 64}, [("x", 64, 64, None)]),
    ("decision", {"name": "x", "max_out": 31}, [("x", 96, 31, None)]),
    ("decision", {"name": "x", "max_out": 32}, [("x", 32, 32, None)]),
    ("decision", SEVERAL, [("a", 128, 128, "low"), ("b", 96, 96, None)]),
]


@pytest.mark.parametrize("stage, models, expected", LIMITS)
def test_a_limit_that_cannot_hold_the_form_is_raised_and_both_are_recorded(
    stage, models, expected
):
    base = settings()
    base["models"][stage] = models
    given, warnings = model_settings(base, False)
    assert [tuple(model.values()) for model in given[stage]] == expected
    (_, used, asked_for, _), *_ = expected
    assert warnings == [line for line in warnings if f"{asked_for} tokens" in line]
    assert len(warnings) == (used != asked_for)


def test_a_run_that_does_two_things_otherwise_is_for_nothing():
    """What one variation makes of a run is seen in the names of plans."""
    assert role_of(configured(S="low", C="absent", H="omit")) == "main"
    config = configured(tells="ablated", history_mode="off")
    assert (role_of(config), marks_of(config)) == ("other", ["ablated", "history-off"])


# --- design ---


def spread(labels):
    """By how much the most frequent exceeds the least; a level that lacks counts 0."""
    return max(labels.values()) - min(labels.values())


SIZES = [(10, 10, 3, 42), (2, 1, 1, 1), (3, 5, 2, 2)]


@pytest.mark.parametrize("agents, rounds, games, seed", SIZES)
def test_schemes_orders_and_positions_are_balanced_over_the_run_and_the_primary_data(
    agents, rounds, games, seed
):
    t = dealt(agents=agents, rounds=rounds, games_per_pair=games, seed=seed)
    run = [pair.labels[e] for r in t.rounds for e in range(games) for pair in r.pairs]
    for labels in (run, [pair.labels[0] for pair in t.rounds[0].pairs]):
        nothing = product(("L1", "L2", "L3"), ("cooperative-first", "other-first"))
        both = Counter(dict.fromkeys(nothing, 0))
        both.update(labels)
        schemes, orders = Counter(), Counter()
        for (scheme, order), n in both.items():
            schemes[scheme] += n
            orders[order] += n
        assert spread(both) <= 1 and spread(schemes) <= 1 and spread(orders) <= 1


@pytest.mark.parametrize("n", range(2, 12))
def test_every_pair_meets_once_with_balanced_seats_and_everybody_before_anybody_twice(
    n,
):
    pairs = dealt(agents=n, rounds=1).rounds[0].pairs
    met = [(pair.a.id, pair.b.id) for pair in pairs]
    agents = {agent for pair in met for agent in pair}
    together = Counter(map(frozenset, met))
    assert len(agents) == n and together == Counter(
        map(frozenset, combinations(agents, 2))
    )
    first = Counter(dict.fromkeys(agents, 0))
    first.update(a for a, _ in met)
    assert spread(first) <= 1
    for at in range(0, len(met), n // 2):
        seated = chain.from_iterable(met[at : at + n // 2])
        assert len(set(seated)) == n // 2 * 2


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
    number = int(request.id.split("/")[1].removeprefix("r"))
    round_ = t.rounds[number - 1]
    variant = round_.variants[asked(t, request)]
    wording = round_.wording
    shown = Stimulus(round_.bulletin, variant, t.condition, wording=wording)
    sentence = sentences(t.domain, shown)[slot]
    assert request.user.count(sentence) == 1 or not sentence
    return sentence


TOGGLED = [
    ({"S": "low"}, "symmetry"),
    ({"C": "absent"}, "coupling"),
    ({"H": "high"}, "compliance"),
]


@pytest.mark.parametrize("toggle, slot", TOGGLED)
def test_runs_of_a_seed_differ_in_the_sentence_of_their_toggle_and_in_nothing_else(
    toggle, slot
):
    one, other = dealt(rounds=2), dealt(rounds=2, **toggle)
    before, after = requests(one).values(), requests(other).values()
    for a, b in zip(before, after, strict=True):
        assert a.id.partition("/")[2] == b.id.partition("/")[2]
        assert (a.system, a.model, a.max_out) == (b.system, b.model, b.max_out)
        changed = a.user.replace(cue(one, a, slot), cue(other, b, slot))
        assert changed.split() == b.user.split() != a.user.split()
    # They do not share the sampler's luck; servers take seeds below 2³¹.
    seeds = {request.seed for request in before}
    assert seeds.isdisjoint(request.seed for request in after)
    assert max(seeds) < 2**31


# --- variants ---

POOL = {
    variant["id"]: variant
    for variant in json.loads((PROMPTS / "variants/cirrus24.yaml").read_text())
}


def variants_of(files, number):
    """{agent: its variant} in a round, as its strategies say."""
    return {row["agent"]: row["variant"] for row in files[f"strategies_r{number}.json"]}


def test_a_notice_has_its_reader_s_names_and_what_a_pair_shares_is_the_round_s():
    t = dealt(agents=4, rounds=2)
    files = derived_from(t, cooperating)
    every = {variant["org"] for variant in POOL.values()}
    first, second = variants_of(files, 1), variants_of(files, 2)
    assert len(set(first.values())) == 4 == len(first.items() - second.items())
    for request in requests(t).values():
        number = int(request.id.split("/")[1].removeprefix("r"))
        mine = POOL[variants_of(files, number)[asked(t, request)]]
        setting = POOL[files[f"round_{number}_games.json"]["setting"]]
        for shown in (mine["peer"], setting["office"], setting["today"]):
            assert shown in request.user
        assert {org for org in every if org in request.user} == {mine["org"]}


# --- what a side sees ---


def test_a_side_sees_the_policy_that_it_wrote_and_never_the_other_s():
    def naming(request):
        if request.stage == "strategy":
            return text_reply(f"Policy of {request.id}.\nTwo.\nThree.")
        return cooperating(request)

    t = dealt(rounds=2, agents=4)
    for name, request in requests(t, naming).items():
        if request.stage == "decision":
            number = name.split("/")[1]
            shown = re.findall(r"Policy of (\S+)\.", request.user)
            assert shown == [f"{t.name}/{number}/{asked(t, request)}"]


def history(request):
    return re.findall(r"^- you: (.+); counterparty: (.+)$", request.user, re.M)


def test_history_is_this_pair_s_last_two_encounters_of_this_round():
    """In the scheme's labels: Option B is the cooperative act."""
    t = dealt(agents=2, rounds=2, games_per_pair=4, label_schemes=["L3"])
    acts = iter("BAAABBAB" * 2)

    def alternating(request):
        if request.stage == "strategy":
            return cooperating(request)
        return text_reply(f"Decision: Option {next(acts)}")

    seen = requests(t, alternating)
    for number in "12":
        shown = {}
        for name, request in seen.items():
            if f"/r{number}/p" in name:
                shown[name[-4:]] = history(request)
        assert shown["e1/a"] == shown["e1/b"] == []
        assert shown["e2/a"] == [("Option B", "Option A")]
        assert shown["e2/b"] == [("Option A", "Option B")]
        assert shown["e4/a"] == [("Option A", "Option A"), ("Option B", "Option B")]


SHOWN = [("standard", [("COORDINATE", "no entry")]), ("off", [])]


@pytest.mark.parametrize("mode, shown", SHOWN)
def test_an_entry_that_could_not_be_read_is_shown_as_none_and_with_history_off_none(
    mode, shown
):
    def mumbling(request):
        if request.id.endswith("e1/b"):
            return text_reply("well")
        return cooperating(request)

    size = {"agents": 2, "rounds": 1, "games_per_pair": 2, "label_schemes": ["L1"]}
    t = dealt(**size, history_mode=mode)
    assert history(requests(t, mumbling)[f"{t.name}/r1/p01/e2/a"]) == shown


EARLIER = re.compile(r"interaction|earlier (?:case|entr)|counterparty this round", re.I)


@pytest.mark.parametrize("tells", ["standard", "ablated"])
def test_with_history_off_no_prompt_speaks_of_what_came_before(tells):
    size = {"agents": 2, "rounds": 1, "tells": tells}
    for request in requests(dealt(history_mode="off", **size)).values():
        assert not EARLIER.search(f"{request.system}\n{request.user}")
    for request in requests(dealt(**size)).values():
        spoken_of = EARLIER.search(request.system)
        assert bool(spoken_of) == (request.stage == "decision")


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
    waiting = pairs_of(t, "agent-02")
    assert ending.stop is None
    for at, name in order:
        if "/p" in name:
            assert (at >= written) == (name.split("/")[2] in waiting)


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


POLICIES = [
    ("a\n\nb\n\nc\n", "ok", "ok"),
    ("a\nb\nc\nd\ne", "ok", "ok"),
    ("a\n \nb", "ok", "short"),
    ("a\nb\nc\nd\ne\nf", "ok", "long"),
    ("I'm sorry, but I can't help with that.", "ok", "refused"),
    ("We will not publish.\nWe can't share details.\nAsk counsel.", "ok", "ok"),
    ("a\nb\nc", "truncated", "truncated"),
    ("", "empty", "empty"),
]


@pytest.mark.parametrize("text, outcome, status", POLICIES)
def test_policy_status(text, outcome, status):
    t = dealt(agents=2, rounds=1, games_per_pair=1)
    files = derived_from(t, lambda request: text_reply(text, outcome))
    assert files["strategies_r1.json"][0]["policy_status"] == status


# --- the files of a run ---


def derived_from(t, reply_of):
    """The files of a run, read: its JSON, and its transcripts."""
    study = {"config": t.config, "prompts": t.domain.files, "provider": "https://x"}
    facts = {"code_sha256": "0" * 64, "charged_usd": 0.006}
    files, _ = derive(study, t.domain, reply_of, facts)
    read = {}
    for name, data in files.items():
        if name.endswith(".json"):
            read[name] = json.loads(data)
        else:
            read[name] = gzip.decompress(data).decode()
    return read


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


def waves(files, rounds):
    """The games of each round, wave by wave, with {anonymous id: agent}."""
    for number, wave in product(range(1, rounds + 1), range(1, 4)):
        data = files[f"round_{number}_games.json"]
        names = {anon: agent["id"] for anon, agent in data["agents"].items()}
        yield names, [game for game in data["games"] if game["encounter"] == wave]


def test_payoffs_power_and_scores_follow_the_specification_wave_by_wave():
    """Power ← clip(power·exp(0.02·(π − π̄)), 0.9, 1.1); score += ln(1 + power before·π)."""
    rivals = ["AlwaysD", "AlwaysC"]
    t = dealt(agents=3, rounds=3, label_schemes=["L1"], baselines=rivals)
    rng = random.Random(4)

    def answer(request):
        others = map(text_reply, ("Decision: PREEMPT", "well"))
        return rng.choice([cooperating(request), *others])

    files = derived_from(t, answer)
    power, scores, played = defaultdict(lambda: 1.0), Counter(), Counter()
    for names, games in waves(files, 3):
        earned = defaultdict(list)
        for game in games:
            acts = tuple(game["decision"][anon] for anon in game["pair"])
            if acts not in PAYOFFS:
                assert None in acts and game["raw_payoffs"] is None
                continue
            for anon, gain in zip(game["pair"], PAYOFFS[acts], strict=True):
                assert game["raw_payoffs"][anon] == gain
                earned[names[anon]].append(gain)
        mean = fmean(map(fmean, earned.values()))
        for agent, gains in earned.items():
            played[agent] += len(gains)
            scores[agent] += sum(math.log(1 + power[agent] * gain) for gain in gains)
            step = math.exp(0.02 * (fmean(gains) - mean))
            power[agent] = min(1.1, max(0.9, power[agent] * step))
        for game in games:
            for anon, after in game["power_after"].items():
                assert after == pytest.approx(power[names[anon]], rel=1e-11)
    assert {0.9, 1.1} <= {*power.values()}
    for row in files["acausal_manifest.json"]["standings"]:
        assert row["games"] == played[row["id"]]
        assert row["score"] == pytest.approx(scores[row["id"]], rel=1e-11)


# from the best status to the worst
STATUSES = {
    "ok": "Decision: COORDINATE",
    "wrong_label": "Decision: Option A",
    "ambiguous": "Decision: [COORDINATE|PREEMPT]",
    "refused": "I can't help with that request.",
    "unreadable": "I won't COORDINATE",
    "truncated": text_reply("Decision: COORDINATE", "truncated"),
    "empty": text_reply("", "empty"),
    "blocked": text_reply("", "blocked"),
    "provider_error": text_reply("", "provider_error"),
    "not_run": text_reply("", "not_run"),
}


@pytest.mark.parametrize("better, worse", list(pairwise(STATUSES)))
def test_a_game_has_the_worse_of_two_statuses_and_without_two_decisions_no_payoffs(
    better, worse
):
    files = tiny({"e1/a": STATUSES[worse], "e1/b": STATUSES[better]})
    game, *second = files["round_1_games.json"]["games"]
    # Without an answer the pair stops, and its next encounter is not begun.
    assert len(second) == (worse not in ("provider_error", "not_run"))
    assert (game["parse_status"], game["raw_payoffs"]) == (worse, None)
    answers = game["answers"].values()
    assert {answer["status"] for answer in answers} == {better, worse}
    acts = list(game["decision"].values())
    assert acts.count("COORDINATE") == (better == "ok")
    assert {*game["power_after"].values()} == {1.0}
    assert files["acausal_manifest.json"]["statuses"]["game"][worse] == 1


@pytest.mark.parametrize("outcome", ["not_run", "provider_error"])
def test_what_nobody_knows_is_counted_and_what_was_not_answered_is_no_answer(outcome):
    files = tiny({"e1/b": Reply("ok", "Decision: COORDINATE"), "e2/a": Reply(outcome)})
    manifest = files["acausal_manifest.json"]
    assert manifest["complete"] is False is manifest["simulated"]
    [row] = manifest["rounds"]
    assert (row["games"], row["played"]) == (2, 1)
    assert manifest["cost"] == {
        "usd": 0.004,
        "unknown": 1,
        "charged_usd": 0.006,
        "by_stage": {"strategy": 0.002, "decision": 0.002},
    }
    counts = {"ok": 3, outcome: 1}
    assert manifest["outcomes"]["decision"] == counts
    assert manifest["statuses"]["decision"] == counts
    tokens = {"prompt": 20, "output": 10, "reasoning": 0}
    assert manifest["tokens"]["decision"] == tokens
    assert manifest["served"]["m/decision"] == {"m-served": 2, "None": 1}
    assert manifest["upstreams"]["m/decision"] == {"upstream": 2, "None": 1}


def test_thoughts_are_beside_policies_and_decisions_and_are_read_for_markers():
    def thinking(request):
        return cooperating(request)._replace(reasoning="Weigh payoffs.")

    files = derived_from(dealt(agents=2, rounds=1), thinking)
    policy, _ = files["strategies_r1.json"]
    assert policy["reasoning_markers"]["benchmark_terms"]
    assert not policy["markers"]["benchmark_terms"]
    for game in files["round_1_games.json"]["games"]:
        for answer in game["answers"].values():
            assert answer["reasoning"] == policy["reasoning"] == "Weigh payoffs."
    transcript = files[policy["transcript_path_gz"]]  # a policy, three decisions
    assert transcript.count("--- reasoning\nWeigh payoffs.") == 4


# what each plays against "?CD?CC"; what cannot be read changes nothing
RULES = {
    "AlwaysC": "CCCCCC",
    "AlwaysD": "DDDDDD",
    "TitForTat": "CCCDDC",
    "GrimTrigger": "CCCDDD",
}


LETTERS = {"COORDINATE": "C", "PREEMPT": "D", None: "?"}


def lines_of(data):
    """{(agent, the other): its acts against it}."""
    lines = defaultdict(str)
    for game in data["games"]:
        a, b = game["pair"]
        for one, other in ((a, b), (b, a)):
            names = data["agents"][one]["id"], data["agents"][other]["id"]
            lines[names] += LETTERS[game["decision"][one]]
    return lines


def test_baselines_play_as_in_the_literature_without_a_call_and_are_counted_apart():
    acts, calls = "?CD?CC", Counter()

    def scripted(request):
        calls[request.stage] += 1
        if request.stage == "strategy":
            return cooperating(request)
        act, cues = acts[int(request.id[-3]) - 1], read_cues(request.user)
        return text_reply({"?": "well", "C": cues.cooperative, "D": cues.other}[act])

    t = dealt(agents=2, rounds=1, games_per_pair=6, baselines=[*RULES])
    files = derived_from(t, scripted)
    data, manifest = files["round_1_games.json"], files["acausal_manifest.json"]
    lines = lines_of(data)
    for rule, line in RULES.items():
        for agent in ("agent-01", "agent-02"):
            assert lines[f"baseline-{rule}", agent] == line
            assert lines[agent, f"baseline-{rule}"] == acts
    assert lines["baseline-TitForTat", "baseline-AlwaysD"] == "CDDDDD"
    for game in data["games"]:
        for anon, answer in game["answers"].items():
            if data["agents"][anon]["baseline"]:
                assert game["baseline"]
                assert (answer["status"], answer["cost_usd"]) == ("ok", 0)
                assert answer["text"] is answer["model"] is answer["variant"] is None
    assert calls == {"strategy": 2, "decision": 6 * (2 + 8)}
    assert sum(manifest["statuses"]["decision"].values()) == 60  # of models alone
    assert [agent["baseline"] for agent in manifest["agents"]] == [None, None, *RULES]
