"""Tournaments of planted populations: first encounters of all rounds, of every run of some plans.

    held = collect(respondent("coin"), tournament_runs(10, [7]))        # the real pipeline
    held = short("coin", world=0, agents=10, seeds=(7,))                # the same, not rendered

Journal, files and later encounters are left out: no word and no gate rests on them. What the short
way leaves out beside are the texts of answers and what a game pays.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from cirrus.ask import design
from cirrus.ask.bulletins import CELL, FOLDERS
from cirrus.ask.cues import Cues, staged
from cirrus.ask.design import Agent, Pair, Round, Tournament, role_of
from cirrus.ask.encounters import Played, encounter_id, policy_id, policy_status, replay, writers
from cirrus.ask.game import Standing
from cirrus.ask.populations import Population, chance, population
from cirrus.ask.prompts import LABEL_SCHEMES, ORDERS, Stimulus, labels
from cirrus.ask.respondents import write
from cirrus.calibrate.oneshot import Respond, domain_of, reply_of
from cirrus.judge.games import games_of
from cirrus.judge.rows import Decision, Run, decisions_of
from cirrus.judge.tripwires import cell_of
from common.rng import SeededRandom
from common.wire import Reply

ALL_PLANS = ("confirmatory", "ablation", "holdout")
MODEL = "m1"     # every agent's: of one population
SERVED = {"served_model": "SIMULATED", "provider": "simulated"}


class Collected(NamedTuple):
    """First encounters of all runs and, of the main ones, round 1's policies by cell and run, and
    how all policies ended, by cell."""

    rows: list[Decision]
    policies: dict[str, dict[str, list[str]]]
    written: dict[str, Counter]


def tournament_runs(agents: int, seeds: Sequence[int], names: Iterable[str] = ALL_PLANS,
                    model: str = MODEL, games: int = 1) -> list[design.Run]:
    """Every run of these plans, with the rounds that plans have and `games` encounters a pair."""
    usual = design.load(design.DEFAULT) | {"agents": agents, "games_per_pair": games}
    voices, _ = design.voices(usual, True, [model])
    bulletins = design.pools(map(domain_of, FOLDERS))
    return [run for name in names for run in design.runs_of_plan(
        name, usual, voices, [s + design.NEW_SEEDS * design.PLANS[name].new for s in seeds],
        bulletins)]


def read_as(run: design.Run, t: Tournament) -> Run:
    """The run as the analysis reads it from its folder."""
    cell = tuple(run.config["toggles"][factor] for factor in CELL)
    return Run(None, run.run_id, run.config, {}, role_of(run.config), cell, t.domain.cooperative)


# --- the long way ------------------------------------------------------------------------------

def collect(respond: Respond, runs: Iterable[design.Run]) -> Collected:
    """Every run played by one respondent, one in memory at a time."""
    out = Collected([], {}, {})
    for run in runs:
        t, seed = design.design(domain_of(run.config["domain"]), run.config), run.config["seed"]
        for round_ in t.rounds:
            played = replay(t, round_, lambda request, s=seed: reply_of(respond, request, s))
            _keep(out, read_as(run, t), round_, played.policies)
            out.rows.extend(_decisions(run, t, round_, played))
    return out


def _decisions(run: design.Run, t: Tournament, round_: Round, played: Played) -> Iterator[Decision]:
    """The rows that `judge.rows.decisions` reads from the run's files."""
    data = {"round": round_.number, "bulletin": round_.bulletin.id, "variant": round_.variant.id,
            "agents": {anon: {"id": agent} for agent, anon in round_.anon.items()}}
    games, _ = games_of(t, round_, played, {agent.id: Standing() for agent in t.agents})
    read = read_as(run, t)
    for game in games:
        yield from decisions_of(read, data, game)


def _keep(out: Collected, run: Run, round_: Round, policies: Mapping[str, Reply]) -> None:
    """Policies of a main run's round."""
    if run.role != "main":
        return
    cell = cell_of(run_levels(run))
    if round_.number == 1:
        out.policies.setdefault(cell, {})[run.name] = [reply.text for reply in policies.values()]
    out.written.setdefault(cell, Counter()).update(map(policy_status, policies.values()))


class Levels(NamedTuple):
    """What the name of a cell is made of."""

    domain: str
    S: str
    C: str
    H: str


def run_levels(run: Run) -> Levels:
    return Levels(run.domain, *run.cell)


# --- the short way -----------------------------------------------------------------------------

class Meeting(NamedTuple):
    """One side of a first encounter as every population meets it: its row without an answer, what
    stands in the prompt but for the policy, and the numbers that decide."""

    row: Decision
    cues: Cues
    decides: float
    luck: float


class Stage(NamedTuple):
    """A round of a run: who writes, and who meets whom."""

    run: Run
    round: Round
    tournament: Tournament
    meetings: list[Meeting]


def short(name: str, world: int, agents: int, seeds: tuple[int, ...],
          names: tuple[str, ...] = ALL_PLANS) -> Collected:
    """What `collect` gives, without rendering a prompt."""
    out, agent = Collected([], {}, {}), population(name)
    chances: dict[Cues, float] = {}
    for stage in stages(agents, seeds, names):
        policies = written(name, stage)
        _keep(out, stage.run, stage.round, policies)
        for meeting in stage.meetings:
            cues = meeting.cues
            if agent.led or agent.policies:
                cues = cues._replace(policy=policies[meeting.row.agent].text.strip())
            if cues not in chances:
                chances[cues] = chance(name, cues, world)
            out.rows.append(_answered(meeting, agent, cues, chances[cues]))
    return out


def written(name: str, stage: Stage) -> dict[str, Reply]:
    """The policies of a round, as the respondent of this name writes them."""
    seed = stage.run.config["seed"]
    return {agent.id: Reply("ok", write(name, stage.tournament.condition, SeededRandom(
        seed, "respondent", policy_id(stage.tournament, stage.round, agent))), "stop")
        for agent in writers(stage.tournament)}


def _answered(meeting: Meeting, agent: Population, cues: Cues, p: float) -> Decision:
    cooperates = meeting.decides < p
    unreadable, cut_off = agent.missing(cues, cooperates)
    row = meeting.row
    if meeting.luck < unreadable:
        return row._replace(status="unreadable")
    if meeting.luck < unreadable + cut_off:
        return row._replace(status="truncated", truncated=True)
    first = row.option_order == ORDERS[0]
    acts = domain_of(row.domain).acts
    return row._replace(status="ok", decision=acts[not cooperates].word,
                        cooperates=int(cooperates), first_taken=int(cooperates == first))


# Populations of one replication meet the same trials.
@lru_cache(maxsize=2)
def stages(agents: int, seeds: tuple[int, ...], names: tuple[str, ...]) -> list[Stage]:
    out = []
    for run in tournament_runs(agents, seeds, names):
        t = design.design(domain_of(run.config["domain"]), run.config)
        read = read_as(run, t)
        out += [Stage(read, round_, t, list(_meetings(t, read, round_))) for round_ in t.rounds]
    return out


def _meetings(t: Tournament, run: Run, round_: Round) -> Iterator[Meeting]:
    stimulus = Stimulus(round_.bulletin, round_.variant, t.condition, t.config["tells"])
    forms = {(scheme, order): staged(t.domain, stimulus, scheme, order)
             for scheme in LABEL_SCHEMES for order in ORDERS}
    for pair in round_.pairs:
        name = encounter_id(t, round_, pair, 1)
        for side, own, peer in (("a", pair.a, pair.b), ("b", pair.b, pair.a)):
            rng = SeededRandom(run.seed, "respondent", f"{name}/{side}")
            yield Meeting(_row(t, run, round_, pair, (f"{name}/{side}", own, peer)),
                          forms[pair.labels[0]], rng.random(), rng.random())


def _row(t: Tournament, run: Run, round_: Round, pair: Pair,
         seat: tuple[str, Agent, Agent]) -> Decision:
    """A decision that nobody has taken yet. `seat`: id of the request, agent, opponent."""
    (name, own, peer), (scheme, order) = seat, pair.labels[0]
    shown = labels(t.domain, scheme)[::1 if order == ORDERS[0] else -1]
    return Decision(
        name, run.name, run.role, run.seed, run.domain, *run.cell, round_.number, 1, False,
        own.id, peer.id, policy_id(t, round_, own), round_.bulletin.id, round_.variant.id, scheme,
        order, shown[0], None, None, None, "", False, None, 1.0, MODEL, *SERVED.values(), None,
        None, None, 0.0, "")
