"""Answer the requests of a study: from the journal, from a simulated respondent, or
from a server.

    [reply, …] = await ask([request, …])     # all are paid for, or none is begun

A study is an async function that calls `ask` as often as it likes, also many times at
once; it returns whatever it wants. A slow reply delays only the code that waits for it.
Before the first call of a model at a stage come two warm-up calls on an unrelated
matter, which show what the server accepts.
"""

import asyncio
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from multiprocessing import parent_process
from typing import Any, NamedTuple

from common import Incomplete, Interrupted, wire
from common.gate import Gate, Group
from common.journal import Attempt, Journal, taught
from common.reading import read
from common.wire import (
    NOT_RUN,
    PLAIN,
    WARMUP,
    Adapted,
    Exchange,
    Reading,
    Reply,
    Request,
)

# Waited before each retry, times 0.5 to 1.5 at random.
BACKOFF_S = (1.0, 2.0, 4.0)
DRAIN_S = 10.0  # after Ctrl-C, for the calls in flight
SLOWEST = 40  # tokens a second: the pace assumed for a model that thinks
SHOWN = 200  # characters of an answer that can't be read

Ask = Callable[[Sequence[Request]], Awaitable[list[Reply]]]
Study = Callable[[Ask], Coroutine[Any, Any, Any]]


class Warmup(NamedTuple):
    """A warm-up call on an unrelated matter. `reads` tells whether its answer can be
    read."""

    request: Request
    reads: Callable[[str], bool]


NEUTRAL = (
    "Which keeps warmer in winter, wool or linen? Answer in one line.",
    "Which boils sooner, a cup of water or a full pot? Answer in one line.",
)


def neutral_warmups(requests: Sequence[Request]) -> list[Warmup]:
    """Return two warm-up calls for each (model, stage) of these requests. They suit
    stages that ask for no form of answer: any answer will do."""
    kinds = {(request.model, request.stage): request for request in requests}
    warmups = []
    for request in kinds.values():
        for number, question in enumerate(NEUTRAL, 1):
            name = f"{WARMUP}/{request.model}/{request.stage}/{number}"
            asked = request._replace(
                id=name,
                stage=WARMUP,
                system="",
                examples=(),
                user=question,
                seed=number,
            )
            warmups.append(Warmup(asked, lambda text: bool(text.strip())))
    return warmups


class Clock:
    """Asker's source of waiting, of random waiting times, and of the time of day for
    the journal. Tests replace it by a clock that takes no time."""

    loop = staticmethod(asyncio.new_event_loop)
    jitter = staticmethod(random.uniform)

    @staticmethod
    def stamp() -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def replayed(study: Coroutine[Any, Any, Any]) -> Any:
    """Run a study whose `ask` answers at once, from a journal, and return its
    result."""
    try:
        study.send(None)
    except StopIteration as end:
        return end.value
    raise ValueError("a study on a journal waits for something else than `ask`")


class Asker:
    """Make the calls of one session with one provider, for one run or for several
    together.

    If there are several runs, each has a journal, and a call belongs to the run whose
    name begins its id. `total` counts all calls; `outcomes`, `retries` and `earlier`
    count calls that are over.
    """

    def __init__(
        self,
        provider: Any,
        journals: Mapping[str, Journal],
        gate: Gate,
        warmups: Sequence[Warmup] = (),
        go_on: bool = False,
        watch: Callable[["Asker"], None] = lambda asker: None,
        clock: Any = Clock,
    ) -> None:
        """Prepare the session. `go_on` asks also those models whose warm-up answers
        can't be read. `watch` is called whenever a call is over."""
        self.provider, self.journals, self.gate = provider, journals, gate
        self.go_on, self.watch, self.clock = go_on, watch, clock
        self.outcomes: Counter[str] = Counter()
        self.retries = self.earlier = 0
        self.total = 0
        self.skipped: set[tuple[str, str]] = set()  # (run, model) with calls not made
        self.adapted: dict[tuple[str, str, str], Adapted] = {}  # by run, model, stage
        self._warmups: dict[tuple[str, str, str], list[Warmup]] = {}
        self._warm: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._ids: set[str] = set()
        self._turn = asyncio.Lock()  # simulated respondents answer one group at a time
        for warmup in warmups:
            self._warmups.setdefault(self._key(warmup.request), []).append(warmup)
        for name, journal in journals.items():
            for (model, stage), adapted in journal.past.adapted.items():
                self.adapted[name, model, stage] = adapted
            for answer in journal.past.read.values():
                if answer.for_good:
                    gate.money.learn(
                        answer.stage, answer.model, answer.reply, answer.charged_usd
                    )

    def _run(self, request: Request) -> str:
        if len(self.journals) == 1:
            return next(iter(self.journals))
        return wire.run_of(request.id)

    def _key(self, request: Request) -> tuple[str, str, str]:
        return self._run(request), request.model, request.prepares

    def how(self, request: Request) -> Adapted:
        """Return how the request's model is to be asked at this stage."""
        return self.adapted.get(self._key(request), PLAIN)

    # -- a session ------------------------------------------------------------------------------

    def run(self, studies: Sequence[Study]) -> None:
        """Run all studies to their end. A call that can't be made is answered
        `not_run`, and the gate says why."""
        with asyncio.Runner(loop_factory=self.clock.loop) as runner:
            runner.run(self._all(studies))

    async def _all(self, studies: Sequence[Study]) -> None:
        before = self._heed_signals()
        try:
            work = [asyncio.ensure_future(study(self)) for study in studies]
            await self._until_done(work)
        finally:
            for number, handler in before.items():
                asyncio.get_running_loop().remove_signal_handler(number)
                signal.signal(number, handler)

    async def _until_done(self, work: Sequence[asyncio.Future[Any]]) -> None:
        """Wait for all of `work`, but at most DRAIN_S seconds after an interruption. An
        error in this program ends the session at once."""
        waiting = set(work)
        self.interrupted = asyncio.get_running_loop().create_future()
        while waiting:
            done, _ = await asyncio.wait(
                [*waiting, self.interrupted], return_when=asyncio.FIRST_COMPLETED
            )
            waiting -= done
            for each in done - {self.interrupted}:
                each.result()
            if self.interrupted.done():
                if waiting:
                    await asyncio.wait(waiting, timeout=DRAIN_S)
                return
        self.interrupted.cancel()

    def _heed_signals(self) -> dict[int, Any]:
        """Let Ctrl-C, SIGTERM and SIGHUP ask for a clean end; a second signal ends the
        program at once. Return {number of a signal: its handler before}."""
        before: dict[int, Any] = {}
        if threading.current_thread() is not threading.main_thread():
            return before
        names = ["SIGINT"]
        # In a worker, SIGTERM must end the process at once: a pool that has lost one
        # process ends the others so, and takes no result.
        if parent_process() is None:
            names += ["SIGTERM", "SIGHUP"]
        loop = asyncio.get_running_loop()
        for name in names:
            with suppress(NotImplementedError, ValueError, AttributeError):  # no Unix
                number = getattr(signal, name)
                handler = signal.getsignal(number)
                loop.add_signal_handler(number, self.interrupt)
                before[number] = handler
        return before

    def interrupt(self) -> None:
        """Begin no more calls, since the user wants to stop; asked a second time, raise
        KeyboardInterrupt."""
        if isinstance(self.gate.stop, Interrupted):
            raise KeyboardInterrupt
        self.gate.halt(
            Interrupted("interrupted: the journal is intact, the same command resumes")
        )
        if not self.interrupted.done():
            self.interrupted.set_result(None)

    # -- asking ---------------------------------------------------------------------------------

    async def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the replies to `requests`, in their order. Either all calls that are
        not in the journal are paid for, or none of them is begun."""
        for request in requests:
            if request.id in self._ids:
                raise ValueError(f"the id {request.id!r} is used twice")
            self._ids.add(request.id)
        replies: dict[str, Reply] = {}
        left = []
        for request in requests:
            earlier = self._earlier(request)
            if earlier is None:
                left.append(request)
            else:
                replies[request.id] = earlier
        if left and self.provider.answers_later:
            await self._prepare(left)
            group = Group(left)
            answers = await asyncio.gather(
                *(self._answer(request, group) for request in left)
            )
        else:
            async with self._turn:
                await asyncio.sleep(0)  # so that a signal is heard between two groups
                answers = [self._at_once(request) for request in left]
        for request, reply in zip(left, answers, strict=True):
            replies[request.id] = reply
        return [replies[request.id] for request in requests]

    def _earlier(self, request: Request) -> Reply | None:
        """Return the reply that an earlier start of this run received, or None."""
        reply = self.journals[self._run(request)].answer(request)
        if reply is None:
            return None
        self.earlier += 1
        self.gate.money.compare(request, reply.cost_usd)
        return self._settled(request, reply)

    def _settled(self, request: Request, reply: Reply) -> Reply:
        if reply.outcome in wire.UNANSWERED and not reply.final:
            self.skipped.add((self._run(request), request.model))
        if request.stage != WARMUP:
            self.outcomes[reply.outcome] += 1
        self.watch(self)
        return reply

    def _not_run(self, request: Request) -> Reply:
        self.gate.money.made(request)
        return self._settled(request, NOT_RUN)

    def _at_once(self, request: Request) -> Reply:
        """Return the answer of a simulated respondent."""
        if self.gate.shut:
            return self._not_run(request)
        body = self.provider.body(request)
        exchange = self.provider.complete(request)
        reading = read(exchange)
        reply = self._journalled(
            request, body, exchange, reading, reading.reply.outcome
        )
        return self._settled(request, reply)

    async def _answer(self, request: Request, group: Group) -> Reply:
        """Repeat a call until one attempt decides it, and return the reply."""
        tries = 0
        while await self.gate.enter(request, group):
            body, exchange = await self._attempt(request)
            reading = read(exchange)
            outcome, pause = self._judged(request, body, exchange, reading, tries)
            reply = self._journalled(request, body, exchange, reading, outcome)
            if outcome is not None:
                self._learn(request, reply)
            self.gate.leave(request)
            if outcome is not None:
                return self._settled(request, reply)
            if reading.kind == "transient" and not (reading.wait or reading.limit):
                tries += 1
                self.retries += 1
            self.watch(self)
            await asyncio.sleep(pause)
        return self._not_run(request)

    async def _attempt(self, request: Request) -> tuple[dict[str, Any], Exchange]:
        """Make one attempt at a call, and return (the body that was sent, the
        exchange)."""
        adapted = self.how(request)
        body = self.provider.body(request, adapted)
        journal = self.journals[self._run(request)]
        worst = self.gate.money.worst_case(request)
        journal.sent(request, worst, self.clock.stamp())
        more_tokens = max(0, adapted.room - request.max_out)
        seconds = self.provider.deadline_s + more_tokens / SLOWEST
        try:
            async with asyncio.timeout(seconds):
                exchange = await self.provider.send(body, seconds)
        except TimeoutError:
            exchange = wire.no_answer(seconds)
        return body, exchange

    def _journalled(
        self,
        request: Request,
        body: Mapping[str, Any],
        exchange: Exchange,
        reading: Reading,
        outcome: str | None,
    ) -> Reply:
        """Charge an attempt and write it to the journal, before anything uses its
        reply."""
        cost, charged = self.gate.money.charge(request, reading)
        reply = reading.reply._replace(cost_usd=cost)
        journal = self.journals[self._run(request)]
        journal.got(
            Attempt(
                request, body, exchange, outcome, reply, charged, self.clock.stamp()
            )
        )
        if outcome is not None:
            self.gate.money.made(request)
        known = outcome is not None or cost is not None
        if known and self.gate.money.projected_over():
            self.gate.close(self.gate.money.over([]))
        return reply if outcome is None else reply._replace(outcome=outcome)

    def _judged(
        self,
        request: Request,
        body: Mapping[str, Any],
        exchange: Exchange,
        reading: Reading,
        tries: int,
    ) -> tuple[str | None, float]:
        """Judge one attempt. Return the call's outcome if this attempt ends the call,
        else the seconds to wait until the next one.

        The model is set aside if no other prompt would be answered either.
        """
        model = request.model
        message = f"{request.id}: {reading.reply.message}"
        if request.stage == WARMUP and self._taught(request, body, exchange, reading):
            self.gate.breaker(model).answered()
            return None, 0.0
        if reading.kind == "final":
            self.gate.succeeded(model)
            return reading.reply.outcome, 0.0
        if reading.kind == "fatal":
            self.gate.set_aside(model, "refused", reading.reply.message)
            return None, 0.0
        if reading.limit == "daily":
            self._stop_for_today(message, reading.wait)
            return None, 0.0
        if reading.wait or reading.limit:
            self.gate.hold(model, reading, self._utc(reading.wait))
            return None, 0.0
        self.gate.failed(model, message)
        if tries >= len(BACKOFF_S):
            return "provider_error", 0.0
        return None, BACKOFF_S[tries] * self.clock.jitter(0.5, 1.5)

    def _stop_for_today(self, message: str, seconds: float | None) -> None:
        """Send nothing more for now, since the account may not ask before the time that
        the server names."""
        self.gate.halt(
            Incomplete(
                f"no more calls today: {message}; the cap is lifted at "
                f"{self._utc(seconds)}; the same command resumes"
            )
        )

    def _utc(self, seconds: float | None) -> str:
        """Return the time of day `seconds` from now, or the next midnight if `seconds`
        is None."""
        now = datetime.fromisoformat(self.clock.stamp())
        then = now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
        if seconds is not None:
            then = now + timedelta(seconds=seconds)
        return f"{then:%Y-%m-%d %H:%M} UTC"

    # -- warming up -----------------------------------------------------------------------------

    async def _prepare(self, requests: Sequence[Request]) -> None:
        """Wait until the models of these calls are warmed up for their stages in every
        run, so that no run begins before another."""
        kinds = {(request.model, request.stage) for request in requests}
        for key in self._warmups:
            _, model, stage = key
            if (model, stage) not in kinds:
                continue
            if key not in self._warm:
                self._warm[key] = asyncio.ensure_future(self._warm_up(key))
        tasks = [self._warm[key] for key in self._warm if key[1:] in kinds]
        await asyncio.gather(*tasks)

    async def _warm_up(self, key: tuple[str, str, str]) -> None:
        """Make the two warm-up calls of a model and stage, one after the other. The
        model is set aside if no answer comes or none can be read."""
        _, model, _ = key
        readable, text = False, ""
        for request, reads in self._warmups[key]:
            reply = self._earlier(request)
            if reply is None:
                reply = await self._answer(request, Group([request]))
            if reply.outcome == "provider_error":
                kind = "refused" if reply.final else "failed"
                self.gate.set_aside(model, kind, reply.message)
            if reply.outcome in wire.UNANSWERED:
                return
            readable = readable or (reply.outcome == "ok" and reads(reply.text))
            text = reply.text or reply.reasoning
        if readable or self.go_on:
            return
        shown = " ".join(text.split())[:SHOWN]
        examples = "" if request.examples else "--examples 4, "
        self.gate.set_aside(
            model,
            "form",
            f"{wire.UNREAD_FORM}, such as {shown!r}; try "
            f"{examples}--effort low or --temperature 1; --go-on asks it all the same",
        )

    def _taught(
        self,
        request: Request,
        body: Mapping[str, Any],
        exchange: Exchange,
        reading: Reading,
    ) -> bool:
        """Tell whether a warm-up call must be repeated in another form, and remember
        that form."""
        known = self.provider.model(request.model)
        key = self._key(request)
        self.adapted[key] = wire.asked(self.how(request), body)
        more = taught(self.adapted[key], exchange, reading, body, known)
        if more is None:
            return False
        self.adapted[key] = more
        return True

    def _learn(self, request: Request, reply: Reply) -> None:
        """Remember how much room for output a model needs, as its warm-up answer
        shows."""
        if request.stage != WARMUP or reply.outcome not in wire.FINAL_OUTCOMES:
            return
        known = self.provider.model(request.model)
        self.adapted[self._key(request)] = wire.fitted(self.how(request), reply, known)
