"""A provider on a clock that takes no time: calls are in flight together, and answers come when
their moment has come. What is sent is noted."""

import asyncio
import json
import os
import random
import selectors
import threading
from collections import defaultdict
from contextlib import closing
from types import SimpleNamespace
from unittest import mock

from common import ask, wire
from common.ask import Asker
from common.gate import Gate, Money
from common.journal import Answers, Journal, Known
from common.wire import Exchange, Model, Request

PRICE = Model(prompt=1e-6, completion=4e-6, price_from="catalogue")
IDENTITY = {"study": "test"}
DEADLINE_S = 60.0
STEP_S = 0.01  # waited really, where a call over HTTP is under way


def completion(text="fine", cost=0.0001, tokens=(10, 2), **choice):
    """The Exchange of a good answer. `tokens`: read and written."""
    usage = dict(zip(("prompt_tokens", "completion_tokens"), tokens, strict=True))
    if cost is not None:
        usage["cost"] = cost
    choice = {"finish_reason": "stop", "message": {"content": text}} | choice
    body = {"id": "gen-1", "model": "m", "usage": usage, "choices": [choice]}
    return Exchange(200, {}, json.dumps(body))


def failure(status, message="no", headers=(), **more):
    """The Exchange of an error in OpenRouter's shape."""
    error = {"code": status, "message": message, **more}
    return Exchange(status, dict(headers), json.dumps({"error": error}))


def request(name, stage="decision", model="m", **more):
    usual = Request(name, stage, model, "s", f"question {name}", 16)
    return usual._replace(**more)


def call(req):
    """A study of a single request."""

    async def study(ask):
        [reply] = await ask([req])
        return reply

    return study


def scripted(script, usual=None, seconds=1.0):
    """Answers by request id, in order; then the usual answer, which may depend on the request.
    `seconds` until each comes, or by request id."""
    left = {name: list(exchanges) for name, exchanges in script.items()}

    def answer(body, _):
        req = body.request
        duration = seconds
        if isinstance(seconds, dict):
            duration = seconds.get(req.id, 1.0)
        if left.get(req.id):
            return left[req.id].pop(0), duration
        if callable(usual):
            return usual(req), duration
        return usual or completion(), duration

    return answer


class Killed(BaseException):
    """The process ends."""


class Selector(selectors.DefaultSelector):
    """Where nothing is to be read, the loop's next moment comes at once. While a call over HTTP
    is under way, time passes as it does."""

    def __init__(self, loop):
        super().__init__()
        self.loop, self.turns = loop, 0

    def select(self, timeout=None):
        self.turns += 1
        if self.turns == self.loop.clock.kill:
            self.loop.clock.on_kill()
            raise Killed
        assert self.turns < 1_000_000, "a run that never ends"
        real = any(thread.name == "call" for thread in threading.enumerate())
        if real:
            timeout = STEP_S if timeout is None else min(STEP_S, timeout)
        events = super().select(timeout if real else 0)
        if not events:
            assert timeout is not None, "it waits for what never comes"
            self.loop.now += timeout
        return events


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose time begins at 0."""

    def __init__(self, clock):
        self.now, self.clock = 0.0, clock
        super().__init__(Selector(self))

    def time(self):
        return self.now


class Clock:
    """What an Asker waits by: see common/ask.py. `kill`: the loop's turn at which the process
    ends."""

    def __init__(self, seed=1, kill=None):
        self.jitter, self.kill = random.Random(seed).uniform, kill

    def loop(self):
        self.running = Loop(self)
        return self.running

    def now(self):
        return self.running.time()

    @staticmethod
    def stamp():
        return "2026-01-01T09:30:15Z"


def without_waiting():
    """A context in which every wait of a run is over at once: the clock jumps."""
    return mock.patch.object(ask.Clock, "loop", Clock().loop)


class Body(dict):
    """A body that knows its request."""

    request: Request


class Provider:
    """`answer(body, n)` → (Exchange, seconds until it comes) of the n-th call."""

    answers_later, deadline_s, dialect = True, DEADLINE_S, "chat"

    def __init__(self, answer=None, price=PRICE, seed=1, kill=None):
        self.answer, self.price = answer or scripted({}), price
        self.clock = Clock(seed, kill)
        self.sent, self.bodies = [], {}  # (at, request); the last body, by id
        self.on_start = lambda body: None

    def model(self, name):
        return self.price

    def body(self, request, adapted=wire.PLAIN):
        body = Body(wire.body(request, self.price, self.dialect, adapted))
        body.request = request
        self.bodies[request.id] = body
        return body

    async def send(self, body, seconds):
        self.sent.append((self.clock.now(), body.request))
        self.on_start(body)
        exchange, seconds = self.answer(body, len(self.sent) - 1)
        await asyncio.sleep(seconds)
        return exchange


def conducted(
    folder,
    provider,
    studies,
    limit=None,
    limits=8,
    announce=(),
    watch=lambda asker: None,
    warmups=(),
    go_on=False,
):
    """A start of the run in `folder` on studies, as scripts make it. `ending` is None where it was
    killed."""
    folder.mkdir(exist_ok=True)
    known = Known(defaultdict(lambda: provider.model("m")), provider.dialect)
    journal = Journal(folder, IDENTITY, known)
    past = journal.past
    money = Money(
        limit,
        PRICE,
        lambda request: (provider.model(request.model), asker.how(request)),
        past.charged_usd + past.lost_usd,
    )
    at_once = limits if isinstance(limits, dict) else {"decision": limits}
    gate = Gate(money, at_once)
    clock = getattr(provider, "clock", Clock())
    asker = Asker(
        provider, {"": journal}, gate, warmups, go_on=go_on, watch=watch, clock=clock
    )
    for req, count in announce:
        if req.id not in past.read:
            money.announce(req, count)
    results = [None] * len(studies)

    def kept(place, study):
        async def keep(ask):
            results[place] = await study(ask)

        return keep

    ending, sizes = None, []
    clock.on_kill = lambda: sizes.append(journal.size)
    with closing(journal):
        try:
            asker.run([kept(*each) for each in enumerate(studies)])
            ending = SimpleNamespace(
                stop=gate.stop, results=results, outcomes=asker.outcomes
            )
        except Killed:
            # What is written while the loop is taken down is not there after a kill.
            os.ftruncate(journal.fd, *sizes)
    return SimpleNamespace(
        asker=asker,
        ending=ending,
        money=money,
        aside={model: aside.kind for model, aside in gate.aside.items()},
        lost=past.lost_usd,
        path=journal.path,
        sent=[(at, req.id) for at, req in getattr(provider, "sent", ())],
        answers=lambda: Answers(journal.path, IDENTITY, known),
    )
