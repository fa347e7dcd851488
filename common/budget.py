"""What holds the calls back: the circuit breaker and the budget. Pure bookkeeping, no I/O."""

import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
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
        return self.state == "closed" or (self.state == "open" and now >= self.open_until)

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
        in_a_row = len(self.errors) == ERRORS_TO_OPEN and now - self.errors[0] <= WINDOW_S
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


class Account:
    """Dollars of one run, or of all together: the limit (None: none, as with simulated answers),
    what is spent and reserved, and the calls to come."""

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self.limit, self.spent, self.reserved = limit, spent, 0.0
        self.plans: dict[tuple[str, str], Plan] = {}


class Budget:
    """spent + reserved passes no limit: neither that of the total nor that of the call's run.

    A call's worst case is reserved before it is sent: by the server's price, else the configured
    or `assumed` one, times what this model's replies were dearer than their size, errors with a
    bill included. What is held already is raised with it, so a server that charges more than it
    was allowed passes the limit by the calls in flight at that moment, and no call starts after. No
    price is believed before a reply: of calls of (stage, model)s that no reply has told of yet, one
    at a time is in flight in the whole run.
    """

    def __init__(self, limit: float | None, assumed: Model, spent: float = 0.0,
                 runs: Mapping[str, Account] | None = None) -> None:
        """`runs`: by name, where there are several. What a call costs is learned over all."""
        self.total, self.runs, self.assumed = Account(limit, spent), runs or {}, assumed
        self.seen: dict[tuple[str, str], Seen] = {}
        self.priced_by_reply: set[tuple[str, str]] = set()  # by a reply of this start
        self.dearer: dict[str, float] = {}  # by model: the most that a cost was times its size

    def accounts(self, request: Request) -> list[Account]:
        """Those that a call counts against: the total and, of several runs, its own."""
        return [self.total, self.runs[wire.run_of(request.id)]] if self.runs else [self.total]

    def plan(self, request: Request, model: Model, calls: int) -> None:
        """Announce `calls` calls such as `request`, so that the projection knows them."""
        key, usd = (request.stage, request.model), wire.expected_cost(request, model, self.assumed)
        for plans in (account.plans for account in self.accounts(request)):
            old = plans.get(key, Plan(0, 0.0))
            if total := old.calls + calls:
                plans[key] = Plan(total, (old.calls * old.expected_usd + calls * usd) / total)

    def made(self, request: Request) -> None:
        """An announced call is over: answered or given up."""
        key = request.stage, request.model
        for plans in (account.plans for account in self.accounts(request)):
            if key in plans:
                plans[key] = plans[key]._replace(calls=max(0, plans[key].calls - 1))

    def worst_case(self, request: Request, model: Model) -> float:
        """Dollars to reserve: by the price, and never below what such a call did cost."""
        usd = wire.worst_case(request, model, self.assumed) * self.dearer.get(request.model, 1.0)
        seen = self.seen.get((request.stage, request.model))
        return max(usd, seen.largest_usd) if seen else usd

    def unknown(self, stage: str, model: str) -> bool:
        """Whether no reply has told yet what such a call costs."""
        return self.total.limit is not None and (stage, model) not in self.priced_by_reply

    def fits(self, usd: float, request: Request) -> bool:
        return all(account.limit is None or
                   account.spent + account.reserved + usd <= account.limit * ROUNDING
                   for account in self.accounts(request))

    def tight(self, requests: Sequence[Request], model_of: Callable[[str], Model]) -> bool:
        """Whether the limit does not hold what the first of these calls and its block may cost."""
        first = [request for request in requests if request.block == requests[0].block]
        usd = sum(self.worst_case(request, model_of(request.model)) for request in first)
        return bool(first) and not self.fits(usd, first[0])

    def reserve(self, usd: float, request: Request) -> None:
        """Dollars below zero are released."""
        for account in self.accounts(request):
            account.reserved = max(0.0, account.reserved + usd)

    def charge(self, request: Request, reading: Reading, model: Model,
               reserved: float) -> tuple[float | None, float]:
        """(cost in dollars, None where unknown; dollars charged) of an attempt.

        Without `usage.cost` the reply is priced by its tokens; without a price, or where a lost
        answer may have been billed, the whole reservation is charged. Never zero by default.
        """
        reply, final = reading.reply, reading.kind == "final"
        cost = wire.cost_of(reply, model)
        failed = not final or reply.outcome == "provider_error"
        if cost is None and failed and not reading.billable:
            return None, 0.0
        charged = reserved if cost is None else cost
        for account in self.accounts(request):
            account.spent += charged
        if final and (cost is not None or reply.outcome in wire.PAID_OUTCOMES):
            self.learn(request.stage, request.model, charged, cost)
            self.priced_by_reply.add((request.stage, request.model))
        self.compare(request, model, cost)
        return cost, charged

    def compare(self, request: Request, model: Model, cost: float | None) -> None:
        """Learn how much dearer an answer was than its worst case."""
        if cost and (size := wire.worst_case(request, model, self.assumed)):
            self.dearer[request.model] = max(self.dearer.get(request.model, 1.0), cost / size)

    def learn(self, stage: str, model: str, charged: float, cost: float | None) -> None:
        """What a reply, of now or of an earlier start, was charged and did cost; `cost` None: the
        charge was a reservation, which tells nothing of the price."""
        calls, charged_usd, largest = self.seen.get((stage, model), Seen())
        self.seen[stage, model] = Seen(calls + 1, charged_usd + charged, max(largest, cost or 0.0))

    def projection(self, account: Account | None = None) -> float:
        """Dollars at the end, of the total where none is named: spent, and what is left at the mean
        cost so far (else expected)."""
        account = account or self.total
        left = [plan.calls * (seen.charged_usd / seen.calls if seen else plan.expected_usd)
                for key, plan in account.plans.items() for seen in [self.seen.get(key)]]
        return account.spent + math.fsum(left)

    def tightest(self, request: Request) -> Account:
        """Of the accounts of a call, the one whose projection fills more of its limit."""
        return max(self.accounts(request), key=lambda account: (
            self.projection(account) / account.limit if account.limit else 0.0))


# --- Which waiting call may go next: what was yielded together is paid for together, or not beg ---

LOOK_AHEAD = 256  # waiting calls looked at, where the first ones have to wait


class Task:
    """One request on its way. `reserved` dollars are held for it."""

    __slots__ = ("group", "request", "reserved", "slot", "tries")

    def __init__(self, group: "Group", slot: int, request: Request) -> None:
        self.group, self.slot, self.request = group, slot, request
        self.tries, self.reserved = 0, 0.0


class Group:
    """What a chain yielded at once."""

    __slots__ = ("admitted", "chain", "left", "replies", "single", "tasks")

    def __init__(self, chain: int, wanted: Request | list[Request]) -> None:
        self.chain, self.single = chain, isinstance(wanted, Request)
        requests = [wanted] if self.single else list(wanted)
        self.tasks = [Task(self, slot, request) for slot, request in enumerate(requests)]
        self.replies: list[Reply | None] = [None] * len(requests)
        self.left, self.admitted = len(requests), False

    def open_tasks(self) -> list[Task]:
        return [task for task in self.tasks if self.replies[task.slot] is None]

    @property
    def value(self) -> Reply | list[Reply]:
        """What the chain receives."""
        return self.replies[0] if self.single else self.replies


class Admission:
    """Picks tasks that price and budget let go. `refused`: the last one the budget turned away."""

    def __init__(self, budget: Budget, model_of: Callable[[str], Model]) -> None:
        self.budget, self.model_of = budget, model_of
        self.refused: Task | None = None
        self.holding: set[Task] = set()  # for which something is reserved

    def pick(self, waiting: deque[Task], flying: Counter, held: Collection[str],
             closing: bool) -> Task | None:
        """Take the first task that may go out of the queue, its worst case reserved.

        `flying`: calls in flight by (stage, model). `held`: models that have to wait. `closing`:
        begin no new group.
        """
        self.refused = None
        unknown = self.budget.unknown
        telling = any(calls and unknown(*key) for key, calls in flying.items())
        for place, task in enumerate(islice(waiting, LOOK_AHEAD)):
            request = task.request
            if request.model in held or (telling and unknown(request.stage, request.model)):
                continue  # one call at a time, until a reply tells the price
            # Behind a group that must wait only begun ones go: no overtaking by cheaper groups.
            if task.group.admitted or (self.refused is None and not closing):
                if self._afford(task):
                    del waiting[place]
                    return task
                self.refused = task
        return None

    def _afford(self, task: Task) -> bool:
        """Whether a task fits: of a begun group it alone, else all that is left of its group."""
        tasks = [task] if task.group.admitted else task.group.open_tasks()
        more = [max(0.0, self._worst(each) - each.reserved) for each in tasks]
        if not self.budget.fits(sum(more), task.request):
            return False
        for each, usd in zip(tasks, more, strict=True):
            self._hold(each, usd)
        task.group.admitted = True
        return True

    def _hold(self, task: Task, usd: float) -> None:
        self.budget.reserve(usd, task.request)
        task.reserved += usd
        self.holding.add(task)

    def charge(self, task: Task, reading: Reading) -> tuple[float | None, float]:
        """(cost, dollars charged) of a call that is over. Nothing is held for it any more, and for
        others of its model what such a call is known to cost by now."""
        model = self.model_of(task.request.model)
        paid = self.budget.charge(task.request, reading, model, task.reserved)
        self.budget.reserve(-task.reserved, task.request)
        task.reserved = 0.0
        self.holding.discard(task)
        for each in self.holding:
            if each.request.model == task.request.model:
                self._hold(each, max(0.0, self._worst(each) - each.reserved))
        return paid

    def _worst(self, task: Task) -> float:
        return self.budget.worst_case(task.request, self.model_of(task.request.model))

    def projected_over(self, request: Request) -> bool:
        """Whether the run will probably pass its limit."""
        account = self.budget.tightest(request)
        return (account.limit is not None
                and self.budget.projection(account) > account.limit * ROUNDING)

    def over(self, task: Task, refused: bool) -> OverBudget:
        """The limit as an error; `refused`: the task no longer fits."""
        account, group = self.budget.tightest(task.request), task.group
        usd = sum(map(self._worst, [task] if group.admitted else group.open_tasks()))
        following = (f"; the next calls ({task.request.id}, {task.request.model}) may cost "
                     f"${usd:.4f}") if refused else ""
        return OverBudget(
            f"limit ${account.limit:g}: ${account.spent:.4f} spent, "
            f"${self.budget.projection(account):.4f} projected{following}; "
            "give a higher --limit-usd to resume")
