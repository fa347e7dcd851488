"""Which waiting call may go next: what was yielded together is paid for together, or not begun."""

from collections import Counter, deque
from collections.abc import Callable
from itertools import islice

from common.exits import OverBudget
from common.limits import Budget
from common.wire import Model, Reply, Request

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

    def __init__(self, chain: int, asked: Request | list[Request]) -> None:
        self.chain, self.single = chain, isinstance(asked, Request)
        requests = [asked] if self.single else list(asked)
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

    def pick(self, waiting: deque[Task], flying: Counter, closing: bool) -> Task | None:
        """Take the first task that may go out of the queue, its worst case reserved.

        `flying`: calls in flight by (stage, model). `closing`: begin no new group.
        """
        self.refused = None
        for place, task in enumerate(islice(waiting, LOOK_AHEAD)):
            request = task.request
            if (self.budget.unknown(request, self.model_of(request.model))
                    and flying[request.stage, request.model]):
                continue  # one call at a time, until a reply tells the price
            # Behind a group that must wait only begun ones go: no overtaking by cheaper groups.
            if task.group.admitted or (self.refused is None and not closing):
                if self._afford(task):
                    del waiting[place]
                    return task
                self.refused = task
        return None

    def _afford(self, task: Task) -> bool:
        group = task.group
        if group.admitted:
            more = self._worst(task) - task.reserved  # a retry, or a price that was learned since
            if more > 0 and not self.budget.fits(more, task.request):
                return False
            self._hold(task, max(0.0, more))
            return True
        tasks = group.open_tasks()
        costs = [self._worst(each) for each in tasks]
        if not self.budget.fits(sum(costs), task.request):
            return False
        for each, usd in zip(tasks, costs, strict=True):
            self._hold(each, usd)  # unasked: the sum fits, the last part might not by a rounding
        group.admitted = True
        return True

    def _hold(self, task: Task, usd: float) -> None:
        self.budget.reserve(usd, task.request)
        task.reserved += usd

    def release(self, task: Task) -> None:
        """The call is over: its cost has been charged."""
        self.budget.release(task.reserved, task.request)
        task.reserved = 0.0

    def _worst(self, task: Task) -> float:
        return self.budget.worst_case(task.request, self.model_of(task.request.model))

    def over(self) -> OverBudget:
        """The limit as an error, naming the calls that no longer fit."""
        task = self.refused
        budget = self.budget.tightest(task.request)
        usd = sum(self._worst(each) for each in task.group.open_tasks())
        return OverBudget(
            f"limit ${budget.limit:g}: ${budget.spent:.4f} is spent, and the next calls "
            f"({task.request.id}, {task.request.model}) may cost ${usd:.4f}; "
            "give a higher --limit-usd to resume")

    def over_projected(self, request: Request) -> OverBudget | None:
        """The limit as an error where the run will probably pass it."""
        budget = self.budget.tightest(request)
        if budget.limit is None or (usd := budget.projection()) <= budget.limit * (1 + 1e-9):
            return None
        return OverBudget(f"projected ${usd:.4f} is over the limit ${budget.limit:g} "
                          f"(${budget.spent:.4f} spent); give a higher --limit-usd to resume")
