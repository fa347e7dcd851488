"""Drives many conversations at once: limits, retries, breaker, budget, journal, resume.

A script describes its work as chains: generators that yield one Request or a list of them, receive
the Reply or the list of Replies, and go on; what a chain returns is its result. A list is paid for
as a whole or not begun. A chain that needs what others return yields After(those chains).

    drive = Drive(provider, {"": run}, ...)
    drive.run([ask(...), ask(...)])      # why calls were left, None where none
    drive.results[0]           # in schedule order, however the replies came in

One thread holds all the state; a provider answers from others. There is no barrier between chains:
a slow reply delays its own chain.
"""

import heapq
import itertools
import math
import queue
import random
import signal
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from multiprocessing import parent_process
from typing import Any, NamedTuple

from common import (
    Incomplete,
    Interrupted,
    OverBudget,
    ProviderRefused,
    Stop,
    UsageError,
)
from common.budget import PAUSE_S, Breaker, Budget, Group, Task, pick
from common.journal import Attempt
from common.reading import read
from common.runs import RunFolder
from common.wire import (
    NOT_RUN,
    Exchange,
    Reading,
    Reply,
    Request,
    no_answer,
    precision,
    run_of,
)


class After(NamedTuple):
    """Yielded by a chain: go on, with their results, when these chains of the list have ended."""

    chains: "Sequence[Chain]"


Chain = Generator[Request | list[Request] | After, Any, Any]


def ask(questions: Request | list[Request]) -> Chain:
    """The chain of a question, or of several at once: its reply, or theirs."""
    return (yield questions)


def answered(chain: Chain, reply_of: Callable[[Request], Reply]) -> Any:
    """The result of a chain on replies that are there already; it may not yield `After`."""
    value = None
    while True:
        try:
            wanted = chain.send(value)
        except StopIteration as end:
            return end.value
        value = (
            reply_of(wanted)
            if isinstance(wanted, Request)
            else [reply_of(r) for r in wanted]
        )


BACKOFF_S = (1.0, 2.0, 4.0)  # a random wait up to each before a retry; as many retries
WAIT_MIN_S, WAIT_MAX_S = (
    1.0,
    120.0,
)  # of one wait that a server asks for; a longer one stops
WAITS_MAX_S = 1800.0  # of all such waits without an answer between them
IN_FLIGHT_S = 5.0  # waited where the account takes no more at once and says no time
TICK_S = 0.25  # how soon a signal or the end of a pause is noticed
DRAIN_S = 10.0  # after Ctrl-C, for the calls in flight


def unanswered_calls(
    runs: Mapping[str, RunFolder],
    calls: Iterable[tuple[Request, int]],
) -> list[tuple[Request, int]]:
    """What the answers of earlier starts leave of `calls`, (such a request, how many): calls one by
    one, others by their kind. `runs`: by name."""
    journalled = Counter(
        {
            (name, *kind): n
            for name, run in runs.items()
            for kind, n in run.journal.finals.items()
        }
    )
    left = []
    for request, n in calls:
        name = run_of(request.id) if len(runs) > 1 else next(iter(runs))
        kind = name, request.stage, request.model
        done = (
            int(request.id in runs[name].journal.answers)
            if n == 1
            else min(n, journalled[kind])
        )
        journalled[kind] -= done
        left += [(request, n - done)] if n > done else []
    return left


class Clock:
    """Seconds, waiting and the chance in it; tests put one in that takes no time."""

    now = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)
    jitter = staticmethod(random.uniform)

    @staticmethod
    def next(answers: queue.SimpleQueue, seconds: float) -> tuple:
        """What comes next; queue.Empty where nothing does within `seconds`."""
        return answers.get(timeout=seconds)

    @staticmethod
    def stamp() -> str:
        """UTC wall clock, for the journal only."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Drive:
    """All chains of `runs` over one provider. `limits`: calls at once, by stage.

    Of several runs a call belongs to the one whose name its id begins with; each has a journal.
    """

    def __init__(
        self,
        provider,
        runs: Mapping[str, RunFolder],
        limits: dict[str, int],
        budget: Budget,
        watch: Callable[["Drive"], None],
        clock: Any = Clock,
    ) -> None:
        self.provider, self.runs = provider, runs
        self.limits, self.budget, self.watch, self.clock = limits, budget, watch, clock
        self.breaker = Breaker()
        self.outcomes: Counter[str] = Counter()
        self.total = self.retries = self.earlier = 0
        self.stop: Stop | None = None
        self._queues: dict[str, deque[Task]] = {stage: deque() for stage in limits}
        self._timers: list[tuple[float, int, Task]] = []
        self._held: dict[str, float] = {}  # until when, by model; "" holds all of them
        self._waited: Counter[str] = Counter()  # seconds in a row, likewise
        self._most: int | None = None  # calls at once that the account can bear
        self._tie = itertools.count()
        # (number of the call, Exchange), from the threads of the calls
        self._done: queue.SimpleQueue = queue.SimpleQueue()
        self._calls: dict[int, tuple[Task, float]] = {}  # in flight: until when
        self._ids: set[str] = set()
        for run in runs.values():
            for charge in run.journal.charges:
                budget.learn(*charge)

    def _run(self, request: Request) -> RunFolder:
        only = len(self.runs) == 1
        return self.runs[next(iter(self.runs)) if only else run_of(request.id)]

    def announce(self, calls: Sequence[tuple[Request, int]]) -> None:
        """Tell the budget and the progress line what is to come: (such a request, how many)."""
        self.total += sum(n for _, n in calls)
        for request, n in unanswered_calls(self.runs, calls):
            self.budget.plan(request, n)

    def run(self, chains: Iterable[Chain]) -> Stop | None:
        """Drive every chain to its end. Requests that can't be made are answered `not_run`."""
        self._chains = list(chains)
        self.results: list[Any] = [None] * len(self._chains)
        self._open: dict[int, Group] = {}
        self._running = set(range(len(self._chains)))
        self._places = {chain: index for index, chain in enumerate(self._chains)}
        # By waiting chain: for which, and which of them are left.
        self._waits: dict[int, tuple[list[int], set[int]]] = {}
        self._awaited: defaultdict[int, list[int]] = defaultdict(
            list
        )  # the same by the awaited
        with self._signals():
            for index in range(len(self._chains)):
                self._advance(index, None)
            while self._open and self._step():
                pass
            self._drain()
        if isinstance(self.stop, OverBudget):
            self.stop = self.budget.over(*self._short)  # by what all calls did cost
        self._give_up()
        if self._waits:
            raise ValueError(f"chain {min(self._waits)} waits for one that never ends")
        return self.stop

    @property
    def done(self) -> int:
        """Requests with an answer or an error of their own."""
        return sum(self.outcomes.values()) - self.outcomes["not_run"]

    @property
    def in_flight(self) -> int:
        return len(self._calls)

    def _advance(self, index: int, value: Any) -> None:
        """Run a chain until it waits for a call that must really be made."""
        while True:
            try:
                wanted = self._chains[index].send(value)
            except StopIteration as end:
                self._end(index, end.value)
                return
            if isinstance(wanted, After):
                needed = [self._places[chain] for chain in wanted.chains]
                if self._must_wait(index, needed):
                    return
                value = [self.results[chain] for chain in needed]
                continue
            group = Group(index, wanted)
            self._open[index] = group
            for task in group.tasks:
                self._recall(task)
            left = group.open_tasks()
            for task in left:
                self._queues[task.request.stage].append(task)
            if left:
                return
            value = group.value

    def _must_wait(self, index: int, needed: list[int]) -> bool:
        """Whether some of these chains still run; if so, the last of them wakes the chain
        `index`."""
        if left := self._running.intersection(needed):
            self._open.pop(index, None)
            self._waits[index] = needed, left
            for chain in left:
                self._awaited[chain].append(index)
        return bool(left)

    def _end(self, index: int, result: Any) -> None:
        self.results[index] = result
        self._open.pop(index, None)
        self._running.discard(index)
        for waiting in self._awaited.pop(index, ()):
            needed, left = self._waits[waiting]
            left.discard(index)
            if not left:
                del self._waits[waiting]
                self._advance(waiting, [self.results[chain] for chain in needed])

    def _recall(self, task: Task) -> None:
        """Fill a reply from the journal where the id was answered before."""
        request = task.request
        if request.id in self._ids:
            raise ValueError(f"request id {request.id!r} is used twice")
        self._ids.add(request.id)
        journal = self._run(request).journal
        answer = journal.answers.pop(request.id, None)
        if answer is None:
            return
        if answer.question_sha256 != request.sha256():
            raise UsageError(
                f"{journal.path}: {request.id} was asked in other words than "
                "the prompts have now; use another --run-id"
            )
        self.earlier += 1
        self.budget.compare(request, answer.reply.cost_usd)
        self._settle(task, answer.reply)

    def _settle(self, task: Task, reply: Reply) -> None:
        task.reply = reply
        self.outcomes[reply.outcome] += 1

    def _step(self) -> bool:
        """Send what may be sent, then take in what has come. False: nothing more can be done."""
        if self._hard_stop():
            return False
        now = self.clock.now()
        self._held = {
            model: until for model, until in self._held.items() if until > now
        }
        while self._timers and self._timers[0][0] <= now:
            task = heapq.heappop(self._timers)[2]
            self._queues[task.request.stage].appendleft(task)
        sent = self._dispatch()
        if self.in_flight:
            self._collect(self._patience())
        elif not sent:
            if not self._timers and self.breaker.may_send(self.clock.now()):
                return False  # only groups that the budget does not admit are left
            self.clock.sleep(self._patience())
        return True

    def _hard_stop(self) -> bool:
        """A budget stop lets admitted groups finish; any other ends sending at once."""
        return self.stop is not None and not isinstance(self.stop, OverBudget)

    def _patience(self) -> float:
        """Seconds until the next retry is due, a tick at most."""
        due = self._timers[0][0] - self.clock.now() if self._timers else TICK_S
        return min(max(0.001, due), TICK_S)

    def _may_send(self, stage: str) -> bool:
        in_flight = [task.request.stage for task, _ in self._calls.values()]
        return (
            "" not in self._held
            and in_flight.count(stage) < self.limits[stage]
            and (self._most is None or self.in_flight < self._most)
            and not self._hard_stop()
            and self.breaker.may_send(self.clock.now())
        )

    def _dispatch(self) -> bool:
        """Send every call that limits, waits, budget and breaker admit; whether there was one."""
        sent = False
        for stage, waiting in self._queues.items():
            while waiting and self._may_send(stage):
                in_flight = {
                    (task.request.stage, task.request.model)
                    for task, _ in self._calls.values()
                }
                task, refused = pick(
                    self.budget, waiting, in_flight, self._held, self.stop is not None
                )
                if task is None:
                    if refused and not self.in_flight:
                        self._over(refused.request, refused.together)
                    break
                request, sent, call = task.request, True, next(self._tie)
                self.breaker.sent()
                if not self.provider.answers_later:
                    self._calls[call] = task, math.inf
                    self._landed(call, self.provider.complete(request))
                    self.watch(self)
                    continue
                self._calls[call] = task, self.clock.now() + self.provider.deadline_s
                run = self._run(request)
                run.inflight.note(
                    request,
                    run.journal.attempts[request.id] + 1,
                    self.budget.worst_case(request),
                )
                self.provider.start(
                    request,
                    lambda exchange, call=call: self._done.put((call, exchange)),
                )
        return sent

    def _collect(self, timeout: float) -> None:
        """Take in the next answer, and calls that are out of time."""
        with suppress(queue.Empty):
            self._landed(*self.clock.next(self._done, timeout))
        now = self.clock.now()
        for call in [call for call, (_, ends) in self._calls.items() if ends <= now]:
            self._landed(call, no_answer(self.provider.deadline_s))
        self.watch(self)

    def _landed(self, call: int, exchange: Exchange | BaseException) -> None:
        """An attempt is over: charge and journal it, then end its call or leave it to a retry."""
        if isinstance(exchange, BaseException):
            raise exchange
        if call not in self._calls:
            return  # its deadline has passed: `_collect` has journalled it as unanswered
        task, _ = self._calls.pop(call)
        request = task.request
        reading = read(exchange)
        reply = reading.reply
        cost, charged = self.budget.charge(request, reading)
        sent = self.provider.body(request)
        reply = reply._replace(cost_usd=cost, quantization=precision(sent))
        outcome = self._judge(task, reading)
        self._run(request).journal.append(
            Attempt(
                request, sent, exchange, outcome, reply, charged, self.clock.stamp()
            )
        )
        if outcome is not None:
            self._settle(task, reply._replace(outcome=outcome))
            self.budget.made(request)
        if (outcome or cost is not None) and self.budget.projected_over(request):
            self._over(request, [])
        if outcome is not None and not task.group.open_tasks():
            self._advance(task.group.chain, task.group.value)

    def _over(self, request: Request, refused: list[Request]) -> None:
        if self.stop is None:
            self._short, self.stop = (request, refused), OverBudget()

    def _judge(self, task: Task, reading: Reading) -> str | None:
        """The call's outcome, if this attempt ends it. Else None, and a retry or a stop is set."""
        request, now = task.request, self.clock.now()
        message = f"{request.id}, {request.model}: {reading.reply.message}"
        if reading.kind == "final":
            self.breaker.success()
            self._waited.pop(request.model, None)
            self._waited.pop("", None)
            return reading.reply.outcome
        if reading.kind == "fatal":
            if not isinstance(self.stop, (ProviderRefused, Interrupted)):
                self.stop = ProviderRefused(message)
        elif reading.limit == "daily":
            self._stop_resumable(
                f"no more calls today: {message}; the cap is lifted at "
                f"{self._utc(reading.wait)}"
            )
        elif reading.wait or reading.limit:
            self._again(task, self._hold(request.model, reading))
        else:
            self.breaker.failure(now)
            if self.breaker.tripped:
                self._stop_resumable(
                    "the server fails again and again, after pauses of "
                    f"{PAUSE_S:g} s too; last error: {message}"
                )
            if task.tries >= len(BACKOFF_S):
                return "provider_error"
            self._again(task, now + self.clock.jitter(0, BACKOFF_S[task.tries]))
            task.tries += 1
            self.retries += 1
        return None

    def _again(self, task: Task, due: float) -> None:
        heapq.heappush(self._timers, (due, next(self._tie), task))

    def _stop_resumable(self, why: str) -> None:
        """Stop so that the same command goes on."""
        if not self._hard_stop():
            self.stop = Incomplete(f"{why}; the same command resumes")

    def _utc(self, seconds: float | None) -> str:
        """The time of day `seconds` from now; the next midnight where nobody says when."""
        now = datetime.fromisoformat(self.clock.stamp())
        then = (
            now + timedelta(seconds=seconds)
            if seconds
            else now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
        )
        return f"{then:%Y-%m-%d %H:%M} UTC"

    def _hold(self, model: str, reading: Reading) -> float:
        """Until when to hold a model, because the server asks to wait, or every model, because the
        account takes no more calls at once. It counts as no failure."""
        now, seconds = self.clock.now(), max(WAIT_MIN_S, reading.wait or IN_FLIGHT_S)
        if reading.limit == "in_flight":
            model = ""
            if self._held.get("", 0.0) <= now:  # those in flight together count once
                self._most = max(1, (self.in_flight + 1) // 2)
        self.breaker.answered()
        before = max(now, self._held.get(model, 0.0))
        due = self._held[model] = max(before, now + seconds)
        self._waited[model] += due - before
        if seconds > WAIT_MAX_S or self._waited[model] > WAITS_MAX_S:
            self._stop_resumable(
                f"{model or 'the server'}: {reading.reply.message}: it asks to "
                f"wait {seconds:.0f} s, until {self._utc(seconds)}"
            )
        return now + seconds

    def _drain(self) -> None:
        """Calls in flight are paid for: take their answers in before leaving."""
        ends = self.clock.now() + DRAIN_S
        while self.in_flight:
            if isinstance(self.stop, Interrupted) and self.clock.now() > ends:
                return
            self._collect(TICK_S)

    def _give_up(self) -> None:
        """Answer everything that was not asked with `not_run`, so that every chain ends."""
        while self._open:
            index, group = next(iter(self._open.items()))
            for task in group.open_tasks():
                self._settle(task, NOT_RUN)
                self.budget.made(task.request)
            self._advance(index, group.value)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM ask for a clean end; a second one ends at once."""

        def note(*_: Any) -> None:
            if isinstance(self.stop, Interrupted):
                raise KeyboardInterrupt
            self.stop = Interrupted(
                "interrupted: the journal is intact, the same command resumes"
            )

        main = threading.current_thread() is threading.main_thread()
        # A pool that has lost a worker sends SIGTERM to the others, and takes no result any more.
        names = (
            (signal.SIGINT, signal.SIGTERM)
            if parent_process() is None
            else (signal.SIGINT,)
        )
        before = {name: signal.signal(name, note) for name in names if main}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)
