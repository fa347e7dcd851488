"""Asking: order, limits, retries, breakers, money, warm-ups, kills and resume, on a clock that takes
no time. The state machine holds random runs against promises that are stated here anew."""

import json
import math
import random
import signal
from collections import Counter, defaultdict
from functools import partial
from itertools import count, pairwise, product

import pytest
from provider import (
    DEADLINE_S,
    PRICE,
    Provider,
    call,
    completion,
    conducted,
    failure,
    request,
    scripted,
)

from common import Incomplete, Interrupted, OverBudget, UsageError, wire
from common.ask import neutral_warmups
from common.reading import read
from common.wire import PLAIN, WARMUP, Adapted, Exchange, Model

LOST = Exchange(None, {}, "", "ConnectionResetError: reset")
HTML = Exchange(200, {}, "<html>")
FLAGGED = failure(403, metadata={"reasons": ["violence"]})
FULL = failure(402, metadata={"limit_source": "openrouter_in_flight_budget"})
NO_KEY = failure(401, "no such key")


@pytest.fixture
def ask(bench):
    """As `bench`; an answer takes a second."""
    return partial(bench, seconds=1.0)


def outcomes(run):
    return [reply.outcome for reply in run.ending.results]


WORST = wire.worst_case(request("a"), PRICE, PRICE)


def order(run):
    return [name for _, name in run.sent]


def gaps(run, name):
    """Seconds between the attempts at a call."""
    times = [at for at, each in run.sent if each == name]
    return [after - before for before, after in pairwise(times)]


def sequence(names, **more):
    """A study that asks one after the other."""

    async def study(ask):
        texts = []
        for name in names:
            [reply] = await ask([request(name, **more)])
            texts.append(reply.text)
        return texts

    return study


def block(*names, **more):
    """A study that asks all at once."""

    async def study(ask):
        replies = await ask([request(name, **more) for name in names])
        return [reply.text for reply in replies]

    return study


# --- order and limits --------------------------------------------------------------------------


def test_replies_come_in_the_order_of_the_requests_whichever_is_the_first(ask):
    texts = {name: [completion(name)] for name in "abc"}
    run = ask("", texts, studies=[block(*"abc"), block()], seconds={"a": 3.0, "b": 2.0})
    assert run.ending.results == [["a", "b", "c"], []]


def test_a_slow_reply_delays_only_what_waits_for_it(ask):
    studies = [sequence(["slow", "s2"]), sequence(["a1", "a2"])]
    run = ask("", concurrency=2, seconds={"slow": 9.0}, studies=studies)
    assert order(run) == ["slow", "a1", "a2", "s2"]


def test_each_stage_has_a_limit_and_uses_it(ask):
    limits = {"strategy": 2, "decision": 5}
    studies = [
        call(request(f"{at}{stage}", stage)) for at in range(10) for stage in limits
    ]
    run = ask("", concurrency=limits, studies=studies)
    assert Counter((at, name[1:]) for at, name in run.sent) == {
        **{(at, "decision"): 5 for at in (0, 1)},
        **{(at, "strategy"): 2 for at in range(5)},
    }


def test_runs_and_models_take_turns(ask):
    names = ["a/1", "a/2", "a/3", "b/1", "b/2"]
    studies = [call(request(name)) for name in names]
    studies += [call(request("b/n", model="n"))]
    run = ask("", concurrency=1, studies=studies)
    assert order(run) == ["a/1", "b/1", "a/2", "b/n", "a/3", "b/2"]


@pytest.mark.parametrize("studies", [[block("a"), block("a")], [block("a", "a")]])
def test_an_id_that_is_used_twice_is_a_fault(ask, studies):
    with pytest.raises(ValueError, match="'a' is used twice"):
        ask("", studies=studies)


def test_an_id_with_another_question_is_refused(ask):
    ask("a")
    with pytest.raises(UsageError, match="a was asked in other words"):
        ask("a", studies=[call(request("a", user="another question"))])


# --- what passes: retries, deadlines, pauses, signals, waits ------------------------------------


def test_three_retries_go_when_due_by_chance_around_growing_waits(ask):
    for share in (0.5, 1.5):
        provider = Provider(scripted({f"{share}": [failure(500)] * 3}, seconds=0.0))
        provider.clock.jitter = {0.5: min, 1.5: max}[share]
        run = ask([f"{share}"], provider=provider)
        assert gaps(run, f"{share}") == pytest.approx([share, 2 * share, 4 * share])


def test_a_call_has_a_deadline_and_its_late_answer_is_none(ask):
    seconds = {"a": DEADLINE_S + 5, "b": DEADLINE_S - 5}
    run = ask("ab", {"a": [completion("late")]}, seconds=seconds)
    assert outcomes(run) == ["provider_error", "ok"]
    assert "no complete answer within 60 s" in run.ending.results[0].message
    assert len(gaps(run, "a")) == 3 and min(gaps(run, "a")) >= DEADLINE_S


def test_a_storm_pauses_a_model_for_thirty_seconds_and_the_third_sets_it_aside(ask):
    names = [f"{at:02d}" for at in range(40)]
    studies = [call(request(name)) for name in names]
    studies.append(sequence([f"n{at}" for at in range(30)], model="n"))
    script = {name: [failure(429, "slow down")] * 4 for name in names}
    run = ask("", script, studies=studies, concurrency=2)
    at = [second for second, name in run.sent if name in names]
    assert at[-2] - at[-3] >= 30 and at[-1] - at[-2] >= 30
    assert (run.aside, run.ending.stop) == ({"m": "failed"}, None)
    assert run.ending.outcomes == Counter(not_run=40, ok=30)
    again = ask("", studies=studies)  # it is tried again
    assert again.ending.outcomes == Counter(ok=70) and len(again.sent) == 40


def test_a_model_that_is_refused_is_set_aside_and_what_it_reserved_is_free(ask):
    """Both blocks of four fit, one after the other: 1 dollar a call."""
    studies = [block(*"abcd"), block(*"efgh", model="n")]
    script = {"a": [NO_KEY]}
    run = ask("", script, 5.0, completion(cost=0.9), DEAR, studies=studies)
    assert run.aside == {"m": "refused"} and run.ending.stop is None
    assert run.ending.outcomes == Counter(not_run=4, ok=4)
    assert order(run) == list("aefgh")
    assert order(ask("", price=DEAR, studies=studies)) == list("abcd")


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize(("at", "left"), [("b", 2), ("d", 0)])
def test_a_signal_ends_sending_and_keeps_what_came(ask, name, at, left):
    def answer(body, n):
        if body.request.id == at:
            signal.raise_signal(name)
        return completion(), 1.0

    def heed(*_):
        raise AssertionError

    before = signal.signal(name, heed)
    run = ask("abcd", provider=Provider(answer), concurrency=1)
    assert signal.signal(name, before) is heed  # as it was
    assert isinstance(run.ending.stop, Interrupted)  # also after the last call
    assert outcomes(run) == ["ok"] * (4 - left) + ["not_run"] * left


def test_after_a_signal_calls_in_flight_get_ten_seconds(ask):
    def answer(body, n):
        if body.request.id == "b":
            signal.raise_signal(signal.SIGINT)
        return completion(), {"a": 9.0, "b": 11.0}[body.request.id]

    run = ask("ab", provider=Provider(answer))
    assert run.ending.outcomes == Counter(ok=1)
    assert ask("ab").lost == pytest.approx(WORST)  # it may be billed


def test_a_second_signal_ends_at_once(ask):
    def answer(body, n):
        signal.raise_signal(signal.SIGINT)
        return completion(), 5.0

    with pytest.raises(KeyboardInterrupt):
        ask("ab", provider=Provider(answer))


def limited(seconds):
    return failure(429, headers={"retry-after": str(seconds)})


def test_a_wait_holds_its_model_and_no_other(ask):
    studies = [sequence("ab"), sequence("cd", model="n")]
    run = ask("", {"a": [limited(60)]}, concurrency=1, studies=studies)
    assert order(run) == ["a", "c", "d", "a", "b"] and run.sent[3][0] >= 60


@pytest.mark.parametrize(("names", "sent"), [("a", 19), ("ab", 22)])
def test_half_an_hour_of_waits_in_a_row_ends_the_run(ask, names, sent):
    """Eighteen of a hundred seconds pass. An answer begins a new row."""
    waits = [limited(100)] * (99 if names == "a" else 10)
    run = ask("", dict.fromkeys(names, waits), studies=[sequence(names)])
    assert len(run.sent) == sent
    assert isinstance(run.ending.stop, Incomplete) is (names == "a")


def test_an_account_that_bears_no_more_at_once_gets_half_as_many_and_waits(ask):
    run = ask("abcdefghijklmnop", {"e": [FULL], "f": [FULL]})
    flying = Counter(at for at, _ in run.sent if at > 1)
    assert run.ending.stop is None and max(flying.values()) <= 4
    assert min(gaps(run, "e")) >= 5


def test_a_wait_that_is_too_long_ends_the_run_and_says_until_when(ask):
    stop = str(ask("a", {"a": [limited(7200)]}).ending.stop)
    assert "it asks to wait 7200 s, until 2026-01-01 11:30 UTC; the same" in stop


# --- money -------------------------------------------------------------------------------------

# At worst a dollar a call; and about what the price says of so many tokens.
DEAR = Model(prompt=0.0, completion=1 / 16, price_from="catalogue")
NINETY = completion(cost=0.9, tokens=(10, 15))


def test_a_projection_above_the_limit_ends_the_run_early(ask):
    names = [f"{at:02d}" for at in range(20)]
    run = ask(names, limit=10.0, price=DEAR, usual=NINETY, concurrency=4)
    # the first reply tells: 20 × 0.90 is more than 10
    assert len(run.sent) == 1 and str(run.ending.stop) == (
        "limit $10: $0.9000 spent, $18.0000 projected; give a higher --limit-usd to resume"
    )


@pytest.mark.parametrize(
    ("limit", "price", "sent"),
    [(0.99, DEAR, 0), (1.0, DEAR, 1), (0.0, Model(0.0, 0.0), 1)],
)
def test_a_call_is_sent_where_its_worst_case_fits(ask, limit, price, sent):
    run = ask("a", limit=limit, price=price, usual=completion(cost=0))
    assert len(run.sent) == sent
    assert isinstance(run.ending.stop, OverBudget) is not bool(sent)


@pytest.mark.parametrize("price", [Model(), DEAR], ids=["unpriced", "priced"])
def test_no_price_is_believed_before_a_reply_of_this_start_and_model(ask, price):
    other = call(request("n", model="n"))
    for names, sent in (("abcdefgh", [2, 7]), ("abcdefghijkl", [1, 3])):
        studies = [*(call(request(name)) for name in names), other]
        run = ask("", limit=1000.0, price=price, studies=studies)
        assert [*Counter(at for at, _ in run.sent).values()] == sent


# --- warm-ups ----------------------------------------------------------------------------------


def warmups(*models, stages=("decision",)):
    """An answer can be read where it begins with "fine"."""
    pairs = product(models, stages)
    kinds = [request("", stage, model, temperature=0.7) for model, stage in pairs]
    asked = neutral_warmups(kinds)
    return [each._replace(reads=lambda text: text.startswith("fine")) for each in asked]


def refusal(name):
    return failure(400, f"Unsupported parameter: '{name}'", param=name)


def room_of(body):
    return body.get("max_tokens", body.get("max_completion_tokens"))


def picky(*refused, needs=2, says="fine"):
    """A server that refuses parameters, and writes so many tokens before it has answered."""

    def answer(body, _):
        for name in refused:
            if name in body:
                return refusal(name), 1.0
        room = room_of(body)
        if room < needs:
            cut = {"finish_reason": "length"}
            return completion("", tokens=(10, room), **cut), 1.0
        return completion(says, tokens=(10, needs)), 1.0

    return answer


def start(ask, answer, names="ab", model="m", **more):
    """A start with warm-ups, and what stands in its bodies."""
    provider = Provider(answer)
    made = [request(name, model=model, temperature=0.7, seed=1) for name in names]
    studies = [call(each) for each in made]
    more = {"warmups": warmups("m"), "studies": studies} | more
    run = ask("", provider=provider, **more)
    answers = run.answers()
    for each in [*made, *(warmup.request for warmup in more["warmups"])]:
        answers(each)
    assert answers.problems() == []  # what was sent is what the journal learned
    run.bodies = provider.bodies
    return run


KEY = ("", "m", "decision")
LEARNED = {
    "nothing": (picky(), PLAIN, 2),
    "a parameter": (picky("temperature"), Adapted(("temperature",)), 3),
    "two": (picky("seed", "temperature"), Adapted(("seed", "temperature")), 4),
    "the limit's name": (
        picky("max_tokens"),
        Adapted(limit="max_completion_tokens"),
        3,
    ),
    "room": (picky(needs=500), Adapted(room=2000), 2 + 3),
    "as much as there is": (picky(needs=40_000), Adapted(room=65_536), 2 + 6),
    "all": (
        picky("seed", "max_tokens", needs=40),
        Adapted(("seed",), "max_completion_tokens", room=160),
        2 + 3,
    ),
}


@pytest.mark.parametrize("what", LEARNED)
def test_two_calls_teach_what_a_server_takes_and_a_resume_knows_it(ask, what):
    answer, adapted, calls = LEARNED[what]
    run = start(ask, answer)
    assert order(run)[:calls] == sorted(order(run)[:calls])  # one by one
    assert order(run)[calls:] == ["a", "b"]
    assert run.asker.adapted[KEY]._replace(took=0, asked=0) == adapted
    again = start(ask, answer, "abc")
    assert again.asker.adapted == run.asker.adapted and order(again) == ["c"]
    for body in (run.bodies["b"], again.bodies["c"]):
        assert not set(adapted.left_out) & set(body)
        assert room_of(body) == (adapted.room or 16)
        assert ("max_tokens" in body) is not bool(adapted.limit)


@pytest.mark.parametrize(
    ("answer", "kind", "calls"),
    [
        (picky(needs=100_000), "form", 7 + 1),
        (picky("model"), "refused", 1),
        (lambda *_: (NO_KEY, 1.0), "refused", 1),
        (lambda *_: (failure(500), 1.0), "failed", 4),
        (lambda *_: (failure(413), 1.0), "refused", 1),  # no other attempt would do
        (lambda *_: (FLAGGED, 1.0), "form", 2),
    ],
)
def test_who_cannot_be_warmed_up_is_asked_nothing_else(ask, answer, kind, calls):
    run = start(ask, answer)
    assert run.aside == {"m": kind} and len(run.sent) == calls
    assert run.ending.outcomes == Counter(not_run=2) and run.ending.stop is None


# --- whatever happens --------------------------------------------------------------------------

ANSWERS = [completion(cost=WORST / 3)] * 12 + [
    completion(cost=None),
    completion(cost=2 * WORST),
    completion("", cost=WORST / 9),
    completion("x", cost=WORST, finish_reason="length"),
    FLAGGED,
    HTML,
    LOST,
    failure(500),
    failure(503),
    failure(429),
    limited(3),
    limited(40),
    FULL,
    Exchange(500, {}, json.dumps({"error": {"code": 500}, "usage": {"cost": WORST}})),
    completion(cost=WORST, finish_reason="error"),
]
BILLS = [[]] * 4 + [
    [each] * 6
    for each in (  # of a server that bills as it likes
        completion(cost=30 * WORST),
        completion(cost=1e6 * WORST),
        completion(cost=0),
        completion(cost=None, tokens=(10, 1600)),
        failure(503, usage={"cost": 9 * WORST}),
    )
]
FINAL = {"ok", "empty", "truncated", "blocked"}


def size_of(body):
    """Dollars that a call may cost by its price: a token a byte, and the whole room."""
    sent = sum(len(message["content"].encode()) + 32 for message in body["messages"])
    if len(body["messages"]) == 1:
        sent += 32
    return PRICE.cost(sent, room_of(body))


class Fate:
    """What is known of a model in a start: how dear it is, when it may be asked again. Of its
    breaker: test_budget.py."""

    def __init__(self):
        self.ratio, self.largest = 1.0, defaultdict(float)
        self.until, self.aside, self.priced = 0.0, False, False


class Promises:
    """What must hold whenever a call begins, and of what came: by the journal alone."""

    def __init__(self, provider, path, limit, limits):
        self.provider, self.path, self.limit, self.limits = (
            provider,
            path,
            limit,
            limits,
        )
        self.fates, self.failures = defaultdict(Fate), Counter()
        self.held, self.passed, self.dearest = 0.0, None, WORST
        self.sizes, self.flying = {}, {}
        self.answered, self.spent, self.open = journalled(path)
        self.spent += math.fsum(self.open.values())
        self.from_byte = path.stat().st_size if path.exists() else 0
        provider.on_start = self.starts

    def starts(self, body):
        req, now = body.request, self.provider.clock.now()
        self.follow()
        flying, fate = [*self.flying.values()], self.fates[req.model]
        assert req.id in self.flying, "left before it was written down"
        flying.remove(req)
        assert req.id not in self.answered, "sent again after its answer"
        if req.stage != WARMUP:
            stages = [each.stage for each in flying]
            assert stages.count(req.stage) < self.limits[req.stage]
            warm = {f"warmup/{req.model}/{req.stage}/{number}" for number in (1, 2)}
            assert warm <= self.answered, "asked before it was warm"
        assert now >= max(self.held, fate.until), "before a wait was over"
        assert not fate.aside, "asked after it was set aside"
        others = [each.model for each in flying]
        assert fate.priced or req.model not in others, "before its price was known"
        assert self.failures[req.id] <= 3, "a fourth retry"
        worst = math.fsum(map(self.worst, [*flying, req]))
        assert self.spent + worst <= self.limit * (1 + 1e-6), "could pass the limit"

    def worst(self, req):
        fate = self.fates[req.model]
        return max(self.sizes[req.id] * fate.ratio, fate.largest[req.stage])

    def follow(self, _=None):
        """Takes in what was journalled since."""
        with self.path.open("rb") as file:
            file.seek(self.from_byte)
            new = file.read()
        self.from_byte += len(new)
        for line in map(json.loads, new.splitlines()):
            if "sent" in line:
                body = self.provider.bodies[line["sent"]]
                self.flying[line["sent"]] = body.request
                self.sizes[line["sent"]] = size_of(body)
                assert line["worst_usd"] >= size_of(body) * (1 - 1e-9)
            else:
                self.lands(line, self.provider.clock.now())

    def lands(self, line, now):
        req = self.flying.pop(line["id"])
        reading, fate = read(Exchange(**line["response"])), self.fates[req.model]
        cost = wire.cost_of(reading.reply, PRICE) or 0.0
        fate.ratio = max(fate.ratio, cost / self.sizes[req.id])
        final = reading.kind == "final"
        if final and (cost or reading.reply.outcome != "blocked"):
            fate.largest[req.stage] = max(fate.largest[req.stage], cost)
            fate.priced = True
        self.dearest = max(self.dearest, line["charged_usd"])
        self.spent += line["charged_usd"]
        if self.passed is None and self.spent > self.limit:
            self.passed = len(self.flying) + 1  # with the call that passed it
        refused = reading.kind == "fatal" and "Unsupported" in reading.reply.message
        if line["outcome"] is None and (final or refused):
            assert req.stage == WARMUP, "an answer that is no outcome"
        elif final:
            self.answered.add(req.id)
        elif reading.kind == "fatal":
            fate.aside = True
        elif reading.wait or reading.limit:
            until = now + max(1.0, reading.wait or 5.0)
            if reading.limit:
                self.held = max(self.held, until)
            else:
                fate.until = max(fate.until, until)
        else:
            self.failures[req.id] += 1


def journalled(path):
    """({ids answered for good}, dollars charged or lost since, {id: dollars} of calls that are
    open)."""
    answered, usd, open_ = set(), [], {}
    for line in path.read_text().splitlines() if path.exists() else ():
        entry = json.loads(line)
        if "sent" in entry:
            usd.append(open_.pop(entry["sent"], 0.0))
            open_[entry["sent"]] = entry["worst_usd"]
            continue
        usd.append(entry["charged_usd"])
        del open_[entry["id"]]
        if entry["outcome"] in FINAL:
            assert entry["id"] not in answered
            answered.add(entry["id"])
    return answered, math.fsum(usd), open_


def study_of(rng, name):
    """A conversation of one to four steps, drawn once: it is the same at each start."""
    model, stage = rng.choice("mn"), rng.choice(("decision", "strategy"))
    steps = []
    for step in "stuv"[: rng.randint(1, 4)]:
        ids = [f"c{name:02d}/{step}{at}" for at in range(rng.choice((1, 1, 2, 4)))]
        steps.append([request(each, stage, model, temperature=0.7) for each in ids])

    async def study(ask):
        replies = []
        for requests in steps:
            replies += await ask(requests)
        return replies

    return study, [each for requests in steps for each in requests]


SECONDS = (0.0, 0.5, 1.0, 3.0, 20.0, 70.0)
TEACHING = [refusal("temperature"), completion("", finish_reason="length"), NO_KEY]


def weird(rng, answers):
    """Answers as of a server that does whatever there is."""

    def answer(body, _):
        exchange = rng.choice(answers)
        if rng.random() < 0.01:
            exchange = NO_KEY
        if body.request.stage == WARMUP and rng.random() < 0.2:
            exchange = rng.choice(TEACHING)
        if exchange is TEACHING[0] and "temperature" not in body:
            exchange = NO_KEY
        # No two come at one moment: each is known before another call leaves.
        return exchange, rng.choice(SECONDS) + rng.random() / 1000

    return answer


@pytest.mark.filterwarnings("ignore:coroutine 'BaseEventLoop.shutdown")  # killed there
@pytest.mark.parametrize("seed", range(150))
def test_whatever_happens_the_promises_hold_and_the_same_command_completes(
    tmp_path, seed
):
    rng, path = random.Random(seed), tmp_path / "journal.jsonl"
    drawn = [study_of(rng, at) for at in range(rng.randint(1, 12))]
    everything = [each for _, requests in drawn for each in requests]
    limits = {"decision": rng.choice((1, 2, 8)), "strategy": rng.choice((1, 3))}
    warm = warmups(*"mn", stages=limits)
    answer = scripted({}, completion(cost=WORST / 3))
    if rng.random() < 0.7:
        answer = weird(rng, ANSWERS + rng.choice(BILLS))
    results, bytes_before = {}, b""
    for start in count():
        last = start == 6  # by then the server is well again and the limit high
        limit, kill = WORST * rng.choice((20, 100, 1000)), None
        if last:
            limit, answer = 1e9, scripted({}, completion(cost=WORST / 3))
        elif rng.random() < 0.5:
            kill = rng.randint(1, 400)
        provider = Provider(answer, seed=seed, kill=kill)
        before, _, _ = journalled(path)
        promises = Promises(provider, path, limit, limits)
        run = conducted(
            tmp_path,
            provider,
            [study for study, _ in drawn],
            limit,
            limits,
            watch=promises.follow,
            warmups=warm,
            go_on=last,
        )
        assert path.read_bytes().startswith(bytes_before), "a line that changed"
        bytes_before = path.read_bytes()
        answered, usd, open_ = journalled(path)
        # What a kill left in flight is charged at the next start, and nothing else.
        if run.ending is not None:
            assert open_.items() <= promises.open.items()
            charged = usd + math.fsum(open_.values())
            assert run.money.spent == pytest.approx(charged)
        if promises.passed is not None and start == 0:
            over = run.money.spent - limit
            assert over <= promises.dearest * promises.passed + 1e-9
        answers = run.answers()
        replies = [answers(each) for each in everything]
        for each in warm:
            answers(each.request)
        assert answers.problems() == [], "not what the design would send"
        if run.ending is None:
            continue
        for kind, learned in answers.adapted.items():
            assert learned == run.asker.adapted.get(("", *kind), PLAIN)
        given = [each for asked in run.ending.results for each in asked]
        for request_, reply, got in zip(everything, replies, given, strict=True):
            assert (got.outcome in FINAL) == (request_.id in answered)
            if got.outcome in FINAL:
                assert results.setdefault(request_.id, got) == got == reply
            if got.outcome == "not_run":
                assert run.ending.stop or request_.model in run.aside
        if last:
            assert run.ending.stop is None and run.aside == {}
            ids = {each.id for each in everything}
            assert answered >= ids
            # Warm-up calls are looked up only where something is left to ask.
            assert len(ids & before) <= run.asker.earlier <= len(before)
            return
