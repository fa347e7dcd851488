"""A provider and a clock in one: calls are in flight together on a clock that takes no time, and
answers come when their moment has come. What is sent and what comes is noted."""

import heapq
import itertools
import json
import queue
import random
from types import SimpleNamespace

from common.budget import Budget
from common.drive import Drive
from common.journal import Answers, InFlight, Journal
from common.wire import Exchange, Model, Request, no_answer

PRICE = Model(prompt=1e-6, completion=4e-6, price_from="catalogue")
IDENTITY = {"study": "test"}
DEADLINE_S = 60.0


def completion(text="fine", cost=0.0001, tokens=(10, 2), **choice):
    """The Exchange of a good answer. `tokens`: read and written."""
    usage = dict(zip(("prompt_tokens", "completion_tokens"), tokens, strict=True))
    usage |= {} if cost is None else {"cost": cost}
    return Exchange(200, {}, json.dumps({
        "id": "gen-1", "model": "m", "usage": usage,
        "choices": [{"finish_reason": "stop", "message": {"content": text}} | choice]}))


def failure(status, message="no", headers=(), **more):
    """The Exchange of an error in OpenRouter's shape."""
    return Exchange(status, dict(headers), json.dumps(
        {"error": {"code": status, "message": message, **more}}))


def request(name, stage="decision", model="m", **more):
    return Request(**{"id": name, "stage": stage, "model": model, "system": "s",
                      "user": f"question {name}", "max_out": 16} | more)


def one(req):
    """A chain of one request."""
    return (yield req)


def scripted(script, usual=None, seconds=1.0):
    """Answers by request id, one after the other; then the usual one, which may depend on the
    request. `seconds` until each comes, or by request id."""
    left = {name: list(exchanges) for name, exchanges in script.items()}

    def answer(asked, _):
        took = seconds.get(asked.id, 1.0) if isinstance(seconds, dict) else seconds
        if left.get(asked.id):
            return left[asked.id].pop(0), took
        return (usual(asked) if callable(usual) else usual or completion()), took
    return answer


class Killed(BaseException):
    """The process ends between two answers."""


class World:
    """`answer(request, n)` → (Exchange, seconds until it comes) of the n-th call."""

    answers_later, deadline_s = True, DEADLINE_S

    def __init__(self, answer=None, price=PRICE, seed=1, kill=None):
        self.answer = answer or (lambda request, n: (completion(), 1.0))
        self.price, self.kill = price, kill
        self.jitter = random.Random(seed).uniform
        self.time, self.idle, self.number = 0.0, 0, itertools.count()
        self.due, self.asked, self.came = [], [], []  # (at, request); (at, request, Exchange)
        self.flying, self.ends, self.peak, self.on_start = {}, {}, 0, lambda request: None

    # -- the provider
    def model(self, name):
        return self.price

    def body(self, request):
        return {"model": request.model}

    def start(self, request, put):
        self.on_start(request)
        number = next(self.number)
        self.asked.append((self.time, request))
        self.flying[number] = request
        self.ends[number] = self.time + self.deadline_s
        self.peak = max(self.peak, len(self.flying))
        exchange, seconds = self.answer(request, number)
        heapq.heappush(self.due, (self.time + seconds, number, request, exchange, put))

    # -- the clock
    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds
        self.idle += 1
        assert self.idle < 100_000, "a run that never ends"

    def next(self, answers, seconds):
        if self.kill is not None and len(self.came) >= self.kill:
            raise Killed
        if self.due and self.due[0][0] <= self.time + seconds:
            at, number, request, exchange, put = heapq.heappop(self.due)
            self.time = max(self.time, at)
            if self.flying.pop(number, None):
                self.came.append((self.time, request, exchange))
            self.expire()
            put(exchange)  # a late one too
            return answers.get_nowait()
        self.sleep(seconds)
        self.expire()
        raise queue.Empty

    def expire(self):
        """Calls that are out of time are in flight no more for whoever sent them."""
        for number, asked in list(self.flying.items()):
            if self.ends[number] <= self.time:
                del self.flying[number]
                self.came.append((self.time, asked, no_answer(self.deadline_s)))

    def stamp(self):
        return "2026-01-01T00:00:00Z"


def conducted(folder, world, chains, limit=None, limits=8, announce=(), watch=None,
              before=0.0, clock=None):
    """A start of the run in `folder` on chains (a function of nothing), as scripts make it.
    `before`: dollars of calls that earlier kills lost. `clock`: of a provider that is no World."""
    folder.mkdir(exist_ok=True)
    journal, inflight = Journal(folder, IDENTITY), InFlight(folder)
    lost = inflight.lost(journal.attempts)
    inflight.clear()
    budget = Budget(limit, PRICE, world.model, journal.spent + before + lost)
    drive = Drive(world, {"": SimpleNamespace(journal=journal, inflight=inflight)},
                  limits if isinstance(limits, dict) else {"decision": limits}, budget,
                  watch or (lambda drive: None), clock=clock or world)
    drive.announce(announce)
    try:
        stop = drive.run(chains())
        ending = SimpleNamespace(stop=stop, results=drive.results, outcomes=drive.outcomes)
        if not drive.in_flight:
            inflight.clear()
    except Killed:
        ending = None
    finally:
        journal.close()
    return SimpleNamespace(
        drive=drive, ending=ending, budget=budget, world=world, lost=lost, path=journal.path,
        asked=[(at, r.id) for at, r in getattr(world, "asked", ())],
        answers=lambda: Answers(journal.path, IDENTITY))
