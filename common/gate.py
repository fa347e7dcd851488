"""Decide when a call may be sent. Four things hold it back: the limit in dollars, the
number of calls at once, waits that a server asks for, and a circuit breaker for each
model.

    while await gate.enter(request, group):     # True: its highest cost is reserved, so send
        ...
        gate.leave(request)                     # whatever came of it

The state of all calls of a session is here, and one event loop changes it.
"""

import asyncio
import itertools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from common import Incomplete, Interrupted, OverBudget, Stop, wire
from common.wire import Adapted, Model, Reading, Reply, Request

ERRORS_TO_OPEN = 5
WINDOW_S = 60.0
PAUSE_S = 30.0
OPENINGS_TO_STOP = 3
WAIT_MIN_S, WAIT_MAX_S = (
    1.0,
    120.0,
)  # of a wait that a server asks for; longer ones stop
WAITS_MAX_S = 1800.0  # of all such waits without an answer between them
IN_FLIGHT_S = 5.0  # waited where the account takes no more at once and says no time
ROUNDING = 1 + 1e-9  # what sums of floats may be off by


class Breaker:
    """Pause a model's calls for 30 s after 5 errors in a row within 60 s, then let one
    call probe the server.

    The third opening without a success between them is final. Times are seconds of any
    clock.
    """

    def __init__(self) -> None:
        self.errors: deque[float] = deque(maxlen=ERRORS_TO_OPEN)
        self.open_until = 0.0
        self.openings = 0
        self.state = "closed"  # closed, open, probing

    @property
    def tripped(self) -> bool:
        """Whether the model must be set aside."""
        return self.openings >= OPENINGS_TO_STOP

    def may_send(self, now: float) -> bool:
        return self.state == "closed" or (
            self.state == "open" and now >= self.open_until
        )

    def sent(self) -> None:
        if self.state == "open":
            self.state = "probing"

    def success(self) -> None:
        """Note a success. A late success, of a call that was sent before the pause,
        does not shorten the pause."""
        self.errors.clear()
        self.openings = 0
        self.answered()

    def answered(self) -> None:
        """Note that the server asked to wait. That is neither a success nor a failure,
        but it shows that the server is there."""
        if self.state == "probing":
            self.state = "closed"

    def failure(self, now: float) -> None:
        """Note an error that is worth a retry. Errors of calls that were in flight when
        the breaker opened don't count."""
        if self.state == "open":
            return
        self.errors.append(now)
        full = len(self.errors) == ERRORS_TO_OPEN
        in_a_row = full and now - self.errors[0] <= WINDOW_S
        if self.state == "probing" or in_a_row:
            self.errors.clear()
            self.openings += 1
            self.state = "open"
            self.open_until = now + PAUSE_S


# --- money -------------------------------------------------------------------------------------


class Left(NamedTuple):
    """What is still to be asked of one (stage, model): the calls, and the dollars
    expected for each."""

    calls: int = 0
    expected_usd: float = 0.0


class Seen(NamedTuple):
    """What the replies of one (stage, model) cost: their number, the sum charged, and
    the largest cost."""

    calls: int = 0
    charged_usd: float = 0.0
    largest_usd: float = 0.0


class Reserved(NamedTuple):
    """A call that may be billed at any moment, with the highest cost that its price
    allows."""

    stage: str
    model: str
    usd: float


class Money:
    """The money of a session: what is spent plus the highest possible cost of all
    reserved calls never passes the limit.

    The highest cost of a call follows from the server's price, or else from the
    configured or `assumed` price. It is raised if replies of this model (billed errors
    included) turned out dearer than their size allowed. So a server that charges too
    much passes the limit by no more than the calls in flight at that moment, and no
    call starts afterwards. No price is believed before a reply: as long as this start
    has no reply that tells a model's cost, one call to the model is in flight at a
    time.
    """

    def __init__(
        self,
        limit: float | None,
        assumed: Model,
        known: Callable[[Request], tuple[Model, Adapted]],
        spent: float = 0.0,
    ) -> None:
        """Start with `spent` dollars spent. `limit` None means no limit, as with
        simulated answers. `known` returns what is known of a request's model, and how
        the model is asked."""
        self.limit, self.assumed, self.known, self.spent = limit, assumed, known, spent
        self.reserved: dict[str, Reserved] = {}  # by id of the call, sent or not
        self.left: dict[tuple[str, str], Left] = {}
        self.seen: dict[tuple[str, str], Seen] = {}
        self.priced_by_reply: set[str] = set()  # models
        # {model: the largest ratio of a call's cost to the highest cost expected of it}
        self.dearer: dict[str, float] = {}

    def announce(self, request: Request, calls: int) -> None:
        """Note that `calls` calls such as `request` are to come."""
        key = request.stage, request.model
        model, adapted = self.known(request)
        usd = wire.expected_cost(request, model, self.assumed, adapted)
        before = self.left.get(key, Left())
        total = before.calls + calls
        if total:
            sum_usd = before.calls * before.expected_usd + calls * usd
            self.left[key] = Left(total, sum_usd / total)

    def made(self, request: Request) -> None:
        """Note that an announced call is over: it was answered or given up."""
        key = request.stage, request.model
        left = self.left.get(key)
        if left is not None:
            self.left[key] = left._replace(calls=max(0, left.calls - 1))

    def keep(self, left: Mapping[tuple[str, str], int]) -> None:
        """Correct the number of announced calls. `left` is {(stage, model): calls that
        are still to come}."""
        for key, announced in self.left.items():
            self.left[key] = announced._replace(calls=left.get(key, 0))

    def give_up(self, model: str) -> None:
        """Note that nothing more is asked of the model."""
        self.left = {key: left for key, left in self.left.items() if model not in key}

    def size(self, request: Request) -> float:
        """Return the highest cost in dollars that the price and the size of a request
        allow."""
        model, adapted = self.known(request)
        return wire.worst_case(request, model, self.assumed, adapted)

    def worst_case(self, request: Request) -> float:
        """Return the dollars to reserve: the highest cost by the price, and never less
        than such a call has cost before."""
        return self._at_worst(
            Reserved(request.stage, request.model, self.size(request))
        )

    def _at_worst(self, call: Reserved) -> float:
        seen = self.seen.get((call.stage, call.model), Seen())
        return max(call.usd * self.dearer.get(call.model, 1.0), seen.largest_usd)

    def unknown(self, model: str) -> bool:
        """Whether no reply has told yet what the model costs."""
        return self.limit is not None and model not in self.priced_by_reply

    def fits(self, requests: Sequence[Request]) -> bool:
        """Whether the limit allows the highest cost of these calls, beside those
        already reserved."""
        if self.limit is None:
            return True
        ids = {request.id for request in requests}
        usd = self.spent + math.fsum(map(self.worst_case, requests))
        for name, call in self.reserved.items():
            if name not in ids:
                usd += self._at_worst(call)
        return usd <= self.limit * ROUNDING

    def reserve(self, requests: Sequence[Request]) -> bool:
        """Reserve the highest cost of all these calls if they fit together; return
        whether they do."""
        if not self.fits(requests):
            return False
        for request in requests:
            self.reserved[request.id] = Reserved(
                request.stage, request.model, self.size(request)
            )
        return True

    def charge(self, request: Request, reading: Reading) -> tuple[float | None, float]:
        """Charge an attempt that is over, and return (its cost in dollars, None if
        unknown; the dollars charged).

        Without `usage.cost` a reply is priced by its tokens. Without a price, or if a
        lost answer may have been billed, the highest cost is charged. The charge is
        never 0 by default.
        """
        reply, final = reading.reply, reading.kind == "final"
        call = self.reserved.pop(request.id, None)  # sized as it was sent
        if call is None:
            call = Reserved(request.stage, request.model, self.size(request))
        model, _ = self.known(request)
        cost = wire.cost_of(reply, model)
        failed = not final or reply.outcome == "provider_error"
        if cost is None and failed and not reading.billable:
            return None, 0.0
        charged = self._unknown_charge(call, reply) if cost is None else cost
        self.spent += charged
        reply = reply._replace(cost_usd=cost)
        if final and self.learn(request.stage, request.model, reply, charged):
            self.priced_by_reply.add(request.model)
        self._compare(call, cost)
        return cost, charged

    def _unknown_charge(self, call: Reserved, reply: Reply) -> float:
        """Return what to charge for an attempt of unknown cost. The server may have
        answered at more length than it was allowed to."""
        by_tokens = wire.cost_of(reply, self.assumed)
        worst = self._at_worst(call)
        return worst if by_tokens is None else max(worst, by_tokens)

    def compare(self, request: Request, cost: float | None) -> None:
        """Remember how much dearer an answer was than the highest cost expected of
        it."""
        self._compare(Reserved(request.stage, request.model, self.size(request)), cost)

    def _compare(self, call: Reserved, cost: float | None) -> None:
        if cost and call.usd:
            before = self.dearer.get(call.model, 1.0)
            self.dearer[call.model] = max(before, cost / call.usd)

    def learn(self, stage: str, model: str, reply: Reply, charged: float) -> bool:
        """Remember what a reply cost, or else what was charged for it, and return
        whether the reply tells a cost: a blocked one may be free."""
        if reply.cost_usd is None and reply.outcome not in wire.PAID_OUTCOMES:
            return False
        calls, charged_usd, largest = self.seen.get((stage, model), Seen())
        self.seen[stage, model] = Seen(
            calls + 1, charged_usd + charged, max(largest, charged)
        )
        return True

    def projection(self) -> float:
        """Return the dollars probably spent at the end: those spent so far, and the
        rest of the calls at the mean cost so far."""
        left = [self._usual(key) * left.calls for key, left in self.left.items()]
        return self.spent + math.fsum(left)

    def _usual(self, key: tuple[str, str]) -> float:
        """Return the mean cost so far of a call of this kind, or, before the first, the
        cost expected."""
        seen = self.seen.get(key)
        if seen is None:
            return self.left[key].expected_usd
        return seen.charged_usd / seen.calls

    def projected_over(self) -> bool:
        """Whether the session will probably pass its limit."""
        if self.limit is None:
            return False
        return self.projection() > self.limit * ROUNDING

    def over(self, refused: Sequence[Request]) -> OverBudget:
        """Return the error that says that the limit is reached. `refused` are the calls
        that no longer fit."""
        following = ""
        if refused:
            usd = sum(map(self.worst_case, refused))
            following = (
                f"; the next calls ({refused[0].id}, {refused[0].model}) may cost "
                f"${usd:.4f}"
            )
        return OverBudget(
            f"limit ${self.limit:g}: ${self.spent:.4f} spent, "
            f"${self.projection():.4f} projected{following}; give a higher --limit-usd to "
            "resume"
        )


# --- who may go next ---------------------------------------------------------------------------


@dataclass(eq=False)
class Group:
    """Calls that are paid for together: either all of them are made or none is
    begun."""

    requests: list[Request]
    admitted: bool = False


@dataclass(eq=False)
class Ticket:
    """A call that waits for its turn. `future` gets True if it may go, and False if it
    never will."""

    request: Request
    group: Group
    future: asyncio.Future[bool]

    @property
    def together(self) -> list[Request]:
        """Return the requests whose cost must fit before this one is sent."""
        return [self.request] if self.group.admitted else self.group.requests


class Aside(NamedTuple):
    """Why a model is asked no more. `kind` is "refused" (the server refuses the model),
    "failed" (errors again and again) or "form" (the answers can't be read)."""

    kind: str
    why: str


@dataclass(eq=False)
class Gate:
    """Admit calls. `limits` is {stage: calls at once}; a warm-up call counts for the
    stage that it prepares.

    Calls of one kind share run, stage and model. The kinds take turns, so that no run
    and no model gets ahead of another.
    """

    money: Money
    limits: dict[str, int]
    stop: Stop | None = None
    aside: dict[str, Aside] = field(default_factory=dict)
    breakers: dict[str, Breaker] = field(default_factory=dict)
    flying: dict[str, Request] = field(default_factory=dict)
    queues: dict[tuple[str, str, str], deque[Ticket]] = field(default_factory=dict)
    turns: dict[Any, int] = field(default_factory=dict)  # of runs and of kinds
    count: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    # By model, and under "" for all models: when a wait ends;
    # how many seconds of waits came in a row.
    held: dict[str, float] = field(default_factory=dict)
    waited: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    at_once: int | None = None  # calls that the account can bear
    called: bool = False  # whether a release is on its way
    short: Ticket | None = None  # the last one that the limit turned away

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    @property
    def closing(self) -> bool:
        """Whether only work that was begun goes on."""
        return isinstance(self.stop, OverBudget)

    @property
    def shut(self) -> bool:
        """Whether nothing is sent any more."""
        return self.stop is not None and not self.closing

    def breaker(self, model: str) -> Breaker:
        return self.breakers.setdefault(model, Breaker())

    async def enter(self, request: Request, group: Group) -> bool:
        """Wait until the call may go, and return True; return False if it never
        will."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        ticket = Ticket(request, group, future)
        key = wire.run_of(request.id), request.stage, request.model
        queue = self.queues.setdefault(key, deque())
        place = len(queue)
        if group.admitted:  # calls of a begun group go first
            place = sum(other.group.admitted for other in queue)
        queue.insert(place, ticket)
        if not self.called:  # after all callers of this moment have entered
            self.called = True
            asyncio.get_running_loop().call_soon(self.release)
        return await future

    def leave(self, request: Request) -> None:
        """Note that a call is no longer in flight."""
        self.flying.pop(request.id, None)
        self.release()

    def release(self) -> None:
        """Let go all calls that may go, one of each kind in turn."""
        self.called = False
        self.short = None
        released = True
        while released:
            released = False
            for key in sorted(self.queues, key=self._last_turn):
                queue = self.queues[key]
                if queue and self._let_go(queue):
                    released = True
                    self._had_turn(key)
        if self.short is not None and not self.flying:
            self._turn_away(self.short)

    def _had_turn(self, key: tuple[str, str, str]) -> None:
        run, _, _ = key
        self.turns[key] = self.turns[run] = next(self.count)

    def _last_turn(self, key: tuple[str, str, str]) -> tuple[int, int]:
        """Return (last turn of the run, last turn of this kind of calls), as numbers
        that grow with time; 0 means no turn yet."""
        run, _, _ = key
        return self.turns.get(run, 0), self.turns.get(key, 0)

    def _let_go(self, queue: deque[Ticket]) -> bool:
        """Remove the first ticket of a queue if its call may go or never will; return
        whether it was removed."""
        ticket = queue[0]
        if ticket.future.done():  # the waiting caller was cancelled
            queue.popleft()
            return True
        if self._in_vain(ticket):
            self.money.reserved.pop(ticket.request.id, None)
            queue.popleft()
            ticket.future.set_result(False)
            return True
        if not self._free(ticket.request):
            return False
        if not self.money.reserve(ticket.together):
            self.short = ticket
            return False
        queue.popleft()
        ticket.group.admitted = True
        self.flying[ticket.request.id] = ticket.request
        self.breaker(ticket.request.model).sent()
        ticket.future.set_result(True)
        return True

    def _in_vain(self, ticket: Ticket) -> bool:
        if self.shut or ticket.request.model in self.aside:
            return True
        return self.closing and not ticket.group.admitted

    def _free(self, request: Request) -> bool:
        """Whether the limits, the waits, the breaker and an unknown price allow such a
        call now."""
        stages = [call.stage for call in self.flying.values()]
        models = {call.model for call in self.flying.values()}
        if stages.count(request.stage) >= self.limits.get(
            request.stage, len(stages) + 1
        ):
            return False
        # Warm-ups have no limit of their own, and count among all.
        if self.limits and len(stages) >= sum(self.limits.values()):
            return False
        if self.at_once is not None and len(stages) >= self.at_once:
            return False
        if self.money.unknown(request.model) and request.model in models:
            return False
        now = self.now
        until = max(self.held.get("", 0.0), self.held.get(request.model, 0.0))
        return until <= now and self.breaker(request.model).may_send(now)

    def _turn_away(self, ticket: Ticket) -> None:
        """Refuse a ticket that does not fit even when all calls in flight are over: the
        limit is reached."""
        if self.stop is None:
            self.stop = self.money.over(ticket.together)
        if not ticket.future.done():
            ticket.future.set_result(False)
        self.release()

    # -- what came of a call --------------------------------------------------------------------

    def succeeded(self, model: str) -> None:
        self.breaker(model).success()
        self.waited.pop(model, None)
        self.waited.pop("", None)

    def failed(self, model: str, message: str) -> None:
        """Note an error that is worth a retry. The third opening of the breaker sets
        the model aside."""
        breaker = self.breaker(model)
        breaker.failure(self.now)
        if breaker.tripped:
            self.set_aside(
                model,
                "failed",
                f"fails again and again, after pauses of {PAUSE_S:g} s too; last error: "
                f"{message}",
            )
        elif breaker.state == "open":
            self._wake(breaker.open_until)

    def set_aside(self, model: str, kind: str, why: str) -> None:
        """Ask the model no more; the other models go on."""
        self.aside.setdefault(model, Aside(kind, why))
        self.money.give_up(model)
        self.release()

    def halt(self, stop: Stop) -> None:
        """Send nothing more. If the limit was reached before, the graver reason takes
        its place."""
        if self.stop is None or self.closing or isinstance(stop, Interrupted):
            self.stop = stop
        self.release()

    def close(self, stop: OverBudget) -> None:
        """Begin nothing more, but finish what was begun."""
        if self.stop is None:
            self.stop = stop
        self.release()

    def hold(self, model: str, reading: Reading, until: str) -> None:
        """Hold back the calls to a model because the server asks to wait, or the calls
        to all models because the account may make no more calls at once. This counts as
        no failure. `until` is the time of day."""
        now = self.now
        wanted = IN_FLIGHT_S if reading.wait is None else reading.wait
        seconds = max(WAIT_MIN_S, wanted)
        self.breaker(model).answered()
        name = model
        if reading.limit == "in_flight":
            name = ""
            if self.held.get(name, 0.0) <= now:  # calls in flight together count once
                self.at_once = max(1, (len(self.flying) + 1) // 2)
        before = max(now, self.held.get(name, 0.0))
        self.held[name] = max(before, now + seconds)
        self.waited[name] += self.held[name] - before
        if seconds > WAIT_MAX_S or self.waited[name] > WAITS_MAX_S:
            self.halt(
                Incomplete(
                    f"{name or 'the server'}: {reading.reply.message}: it asks to wait "
                    f"{seconds:.0f} s, until {until}; the same command resumes"
                )
            )
        else:
            self._wake(self.held[name])

    def _wake(self, at: float) -> None:
        asyncio.get_running_loop().call_at(at, self._woken, at)

    def _woken(self, at: float) -> None:
        """Release calls after a wait. The loop may call this a little early, within the
        resolution of its clock."""
        if self.now < at:
            self._wake(at)
        else:
            self.release()
