"""A provider and a clock in one: calls are in flight together on a clock that takes no time, and
answers come when their moment has come. What is sent and what comes is noted."""

import heapq
import json
import queue
import random
from contextlib import closing, suppress
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
    return Exchange(
        200,
        {},
        json.dumps(
            {
                "id": "gen-1",
                "model": "m",
                "usage": usage,
                "choices": [
                    {"finish_reason": "stop", "message": {"content": text}} | choice
                ],
            }
        ),
    )


def failure(status, message="no", headers=(), **more):
    """The Exchange of an error in OpenRouter's shape."""
    return Exchange(
        status,
        dict(headers),
        json.dumps({"error": {"code": status, "message": message, **more}}),
    )


def request(name, stage="decision", model="m", **more):
    return Request(
        **{
            "id": name,
            "stage": stage,
            "model": model,
            "system": "s",
            "user": f"question {name}",
            "max_out": 16,
        }
        | more
    )


def call(req):
    """A chain of a single request."""
    return (yield req)


def scripted(script, usual=None, seconds=1.0):
    """Answers by request id, in order; then the usual answer, which may depend on the request.
    `seconds` until each comes, or by request id."""
    left = {name: list(exchanges) for name, exchanges in script.items()}

    def answer(req, _):
        duration = seconds.get(req.id, 1.0) if isinstance(seconds, dict) else seconds
        if left.get(req.id):
            return left[req.id].pop(0), duration
        return (usual(req) if callable(usual) else usual or completion()), duration

    return answer


class Killed(BaseException):
    """The process ends between two answers."""


class Clock:
    """A clock that only moves when somebody waits; answers come from a server meanwhile."""

    def __init__(self, seed=1):
        self.jitter = random.Random(seed).uniform
        self.time, self.idle = 0.0, 0

    def now(self):
        return self.time

    def stamp(self):
        return "2026-01-01T00:00:00Z"

    def sleep(self, seconds):
        self.time += seconds
        self.idle += 1
        assert self.idle < 100_000, "a run that never ends"

    def next(self, answers, seconds):
        try:
            return answers.get(timeout=seconds)
        except queue.Empty:
            self.sleep(seconds)
            raise


class Provider(Clock):
    """`answer(request, n)` → (Exchange, seconds until it comes) of the n-th call."""

    answers_later, deadline_s = True, DEADLINE_S

    def __init__(self, answer=None, price=PRICE, seed=1, kill=None):
        super().__init__(seed)
        self.answer = answer or scripted({})
        self.price, self.kill = price, kill
        self.due, self.sent, self.came = (
            [],
            [],
            [],
        )  # (at, request); (at, request, Exchange)
        self.flying, self.on_start = (
            {},
            lambda request: None,
        )  # {number: (request, deadline)}

    def model(self, name):
        return self.price

    def body(self, request):
        return {"model": request.model}

    def start(self, request, put):
        self.on_start(request)
        number = len(self.sent)
        self.sent.append((self.time, request))
        self.flying[number] = request, self.time + self.deadline_s
        exchange, seconds = self.answer(request, number)
        heapq.heappush(self.due, (self.time + seconds, number, request, exchange, put))

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
        for number, (request, deadline) in list(self.flying.items()):
            if deadline <= self.time:
                del self.flying[number]
                self.came.append((self.time, request, no_answer(self.deadline_s)))


def conducted(
    folder, provider, chains, limit=None, limits=8, announce=(), watch=None, before=0.0
):
    """A start of the run in `folder` on chains (a function of nothing), as scripts make it.
    `before`: dollars of calls that earlier kills lost."""
    folder.mkdir(exist_ok=True)
    journal, inflight = Journal(folder, IDENTITY), InFlight(folder)
    lost = inflight.lost(journal.attempts)
    inflight.clear()
    budget = Budget(limit, PRICE, provider.model, journal.spent + before + lost)
    drive = Drive(
        provider,
        {"": SimpleNamespace(journal=journal, inflight=inflight)},
        limits if isinstance(limits, dict) else {"decision": limits},
        budget,
        watch or (lambda drive: None),
        clock=provider if isinstance(provider, Provider) else Clock(),
    )
    drive.announce(announce)
    ending = None
    with suppress(Killed), closing(journal):
        stop = drive.run(chains())
        ending = SimpleNamespace(
            stop=stop, results=drive.results, outcomes=drive.outcomes
        )
        if not drive.in_flight:
            inflight.clear()
    return SimpleNamespace(
        drive=drive,
        ending=ending,
        budget=budget,
        lost=lost,
        path=journal.path,
        sent=[(at, req.id) for at, req in getattr(provider, "sent", ())],
        answers=lambda: Answers(journal.path, IDENTITY),
    )
