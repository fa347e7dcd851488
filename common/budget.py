"""What holds the calls back: the circuit breaker and the budget. Pure bookkeeping, no I/O."""

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from common import OverBudget, wire
from common.wire import Model, Reading, Reply, Request

ERRORS_TO_OPEN = 5
WINDOW_S = 60.0
PAUSE_S = 30.0
OPENINGS_TO_STOP = 3
ROUNDING = 1 + 1e-9  # what sums of floats may be off by


class Breaker:
    """5 errors in a row within 60 s pause everything for 30 s, then one probe is sent.

    The third opening without a success between them is final. Times are seconds of any clock.
    """

    def __init__(self) -> None:
        self.errors: deque[float] = deque(maxlen=ERRORS_TO_OPEN)
        self.open_until = 0.0
        self.openings = 0
        self.state = "closed"  # closed, open, probing

    @property
    def tripped(self) -> bool:
        """Whether the run has to stop."""
        return self.openings >= OPENINGS_TO_STOP

    def may_send(self, now: float) -> bool:
        return self.state == "closed" or (
            self.state == "open" and now >= self.open_until
        )

    def sent(self) -> None:
        if self.state == "open":
            self.state = "probing"

    def success(self) -> None:
        """A late one, of a call sent before the pause, does not cut the pause short."""
        self.errors.clear()
        self.openings = 0
        self.answered()

    def answered(self) -> None:
        """The server asks to wait: neither a success nor a failure, but it is there."""
        if self.state == "probing":
            self.state = "closed"

    def failure(self, now: float) -> None:
        """An error that is worth a retry. Those still in flight when it opens don't count."""
        if self.state == "open":
            return
        self.errors.append(now)
        in_a_row = (
            len(self.errors) == ERRORS_TO_OPEN and now - self.errors[0] <= WINDOW_S
        )
        if self.state == "probing" or in_a_row:
            self.errors.clear()
            self.openings, self.state = self.openings + 1, "open"
            self.open_until = now + PAUSE_S


class Plan(NamedTuple):
    """What is still to be asked of one (stage, model): calls, and dollars a call expected."""

    calls: int
    expected_usd: float


class Seen(NamedTuple):
    """What the replies of one (stage, model) cost: how many, the sum charged, the largest cost."""

    calls: int = 0
    charged_usd: float = 0.0
    largest_usd: float = 0.0


@dataclass(eq=False)
class Account:
    """Dollars of one run, or of all together: the limit (None: none, as with simulated answers),
    what is spent, and the calls to come."""

    limit: float | None
    spent: float = 0.0
    plans: dict[tuple[str, str], Plan] = field(default_factory=dict)


class Budget:
    """What is spent, and the worst case of all that is reserved, pass no limit: neither that of the
    total nor that of the call's run.

    A worst case is by the server's price, else the configured or `assumed` one, times what this
    model's replies were dearer than their size, errors with a bill included. So a server that
    charges more than it was allowed passes the limit by the calls in flight at that moment, and no
    call starts after. No price is believed before a reply: of calls of (stage, model)s that no
    reply has told of yet, one at a time is in flight in the whole run.
    """

    def __init__(
        self,
        limit: float | None,
        assumed: Model,
        model_of: Callable[[str], Model],
        spent: float = 0.0,
        runs: Mapping[str, Account] | None = None,
    ) -> None:
        """`model_of`: what is known of a model, by its name. `runs`: by name, where there are
        several. What a call costs is learned over all."""
        self.total, self.runs = Account(limit, spent), runs or {}
        self.assumed, self.model_of = assumed, model_of
        self.reserved: dict[str, Request] = {}  # calls by id, not all of them sent yet
        self.seen: dict[tuple[str, str], Seen] = {}
        self.priced_by_reply: set[tuple[str, str]] = set()  # by a reply of this start
        self.dearer: dict[
            str, float
        ] = {}  # by model: the most that a cost was times its size

    def accounts(self, request: Request) -> list[Account]:
        """Those that a call counts against: the total and, of several runs, its own."""
        return (
            [self.total, self.runs[wire.run_of(request.id)]]
            if self.runs
            else [self.total]
        )

    def plan(self, request: Request, calls: int) -> None:
        """Announce `calls` calls such as `request`, so that the projection knows them."""
        key = request.stage, request.model
        usd = wire.expected_cost(request, self.model_of(request.model), self.assumed)
        for plans in (account.plans for account in self.accounts(request)):
            old = plans.get(key, Plan(0, 0.0))
            if total := old.calls + calls:
                plans[key] = Plan(
                    total, (old.calls * old.expected_usd + calls * usd) / total
                )

    def made(self, request: Request) -> None:
        """An announced call is over: answered or given up."""
        key = request.stage, request.model
        for plans in (account.plans for account in self.accounts(request)):
            if key in plans:
                plans[key] = plans[key]._replace(calls=max(0, plans[key].calls - 1))

    def worst_case(self, request: Request) -> float:
        """Dollars to reserve: by the price, and never below what such a call did cost."""
        usd = wire.worst_case(request, self.model_of(request.model), self.assumed)
        seen = self.seen.get((request.stage, request.model), Seen())
        return max(usd * self.dearer.get(request.model, 1.0), seen.largest_usd)

    def unknown(self, stage: str, model: str) -> bool:
        """Whether no reply has told yet what such a call costs."""
        return (
            self.total.limit is not None and (stage, model) not in self.priced_by_reply
        )

    def fits(self, requests: Sequence[Request]) -> bool:
        """Whether the limits hold what these calls of a run cost at most, and those reserved."""
        calls = (self.reserved | {request.id: request for request in requests}).values()
        for account in self.accounts(requests[0]):
            if account.limit is None:
                continue
            usd = sum(
                self.worst_case(call)
                for call in calls
                if account in self.accounts(call)
            )
            if account.spent + usd > account.limit * ROUNDING:
                return False
        return True

    def reserve(self, requests: Sequence[Request]) -> bool:
        """Reserve all of these calls, where they fit."""
        fits = self.fits(requests)
        if fits:
            self.reserved |= {request.id: request for request in requests}
        return fits

    def tight(self, requests: Sequence[Request]) -> bool:
        """Whether the limit does not hold what the first of these calls and its block may cost."""
        first = [request for request in requests if request.block == requests[0].block]
        return bool(first) and not self.fits(first)

    def charge(self, request: Request, reading: Reading) -> tuple[float | None, float]:
        """(cost in dollars, None where unknown; dollars charged) of an attempt that is over.

        Without `usage.cost` the reply is priced by its tokens; without a price, or where a lost
        answer may have been billed, the worst case is charged. Never zero by default.
        """
        reply, final = reading.reply, reading.kind == "final"
        self.reserved.pop(request.id, None)
        cost = wire.cost_of(reply, self.model_of(request.model))
        failed = not final or reply.outcome == "provider_error"
        if cost is None and failed and not reading.billable:
            return None, 0.0
        charged = cost
        if cost is None:  # a server may answer at more length than it was allowed to
            charged = max(
                self.worst_case(request), wire.cost_of(reply, self.assumed) or 0.0
            )
        for account in self.accounts(request):
            account.spent += charged
        if final and (cost is not None or reply.outcome in wire.PAID_OUTCOMES):
            self.learn(request.stage, request.model, charged, cost)
            self.priced_by_reply.add((request.stage, request.model))
        self.compare(request, cost)
        return cost, charged

    def compare(self, request: Request, cost: float | None) -> None:
        """Learn how much dearer an answer was than its worst case."""
        size = wire.worst_case(request, self.model_of(request.model), self.assumed)
        if cost and size:
            self.dearer[request.model] = max(
                self.dearer.get(request.model, 1.0), cost / size
            )

    def learn(self, stage: str, model: str, charged: float, cost: float | None) -> None:
        """What a reply was charged and did cost; where `cost` is None, the charge stands for it."""
        calls, charged_usd, largest = self.seen.get((stage, model), Seen())
        self.seen[stage, model] = Seen(
            calls + 1,
            charged_usd + charged,
            max(largest, charged if cost is None else cost),
        )

    def projection(self, account: Account | None = None) -> float:
        """Dollars at the end, of the total where none is named: spent, and what is left at the mean
        cost so far (else expected)."""
        account = account or self.total
        left = [
            plan.calls * (seen.charged_usd / seen.calls if seen else plan.expected_usd)
            for key, plan in account.plans.items()
            for seen in [self.seen.get(key)]
        ]
        return account.spent + math.fsum(left)

    def tightest(self, request: Request) -> Account:
        """Of the accounts of a call, the one whose projection fills more of its limit."""
        return max(
            self.accounts(request),
            key=lambda account: (
                self.projection(account) / account.limit if account.limit else 0.0
            ),
        )

    def projected_over(self, request: Request) -> bool:
        """Whether the run will probably pass its limit."""
        account = self.tightest(request)
        return (
            account.limit is not None
            and self.projection(account) > account.limit * ROUNDING
        )

    def over(self, request: Request, refused: Sequence[Request]) -> OverBudget:
        """The limit as an error, at a call of the run; `refused`: those that no longer fit."""
        account, usd = self.tightest(request), sum(map(self.worst_case, refused))
        following = (
            (f"; the next calls ({request.id}, {request.model}) may cost ${usd:.4f}")
            if refused
            else ""
        )
        return OverBudget(
            f"limit ${account.limit:g}: ${account.spent:.4f} spent, "
            f"${self.projection(account):.4f} projected{following}; "
            "give a higher --limit-usd to resume"
        )


# --- which waiting call may go next ------------------------------------------------------------
# What was yielded together is paid for together, or not begun.

LOOK_AHEAD = 256  # waiting calls looked at, where the first ones have to wait


@dataclass(slots=True, eq=False)
class Task:
    """One request on its way."""

    group: "Group"
    request: Request
    tries: int = 0
    reply: Reply | None = None

    @property
    def together(self) -> list[Request]:
        """What has to fit where it is sent: of a begun group it alone, else all that is left."""
        tasks = [self] if self.group.admitted else self.group.open_tasks()
        return [task.request for task in tasks]


class Group:
    """What a chain yielded at once."""

    def __init__(self, chain: int, wanted: Request | list[Request]) -> None:
        self.chain, self.single, self.admitted = (
            chain,
            isinstance(wanted, Request),
            False,
        )
        self.tasks = [
            Task(self, request) for request in ([wanted] if self.single else wanted)
        ]

    def open_tasks(self) -> list[Task]:
        return [task for task in self.tasks if task.reply is None]

    @property
    def value(self) -> Reply | list[Reply]:
        """What the chain receives."""
        replies = [task.reply for task in self.tasks]
        return replies[0] if self.single else replies


def pick(
    budget: Budget,
    waiting: deque[Task],
    in_flight: Collection[tuple[str, str]],
    held: Collection[str],
    closing: bool,
) -> tuple[Task | None, Task | None]:
    """(the first task that may go, taken out of the queue and reserved; the last one that the
    budget turned away).

    `in_flight`: (stage, model)s of which calls are in flight. `held`: models that have to wait.
    `closing`: begin no new group.
    """
    refused = None
    uncertain = any(budget.unknown(*key) for key in in_flight)
    for place, task in enumerate(islice(waiting, LOOK_AHEAD)):
        request = task.request
        if request.model in held or (
            uncertain and budget.unknown(request.stage, request.model)
        ):
            continue  # one call at a time, until a reply tells the price
        # Behind a group that must wait only begun ones go: no overtaking by cheaper groups.
        if task.group.admitted or (refused is None and not closing):
            if budget.reserve(task.together):
                task.group.admitted = True
                del waiting[place]
                return task, refused
            refused = task
    return None, refused
