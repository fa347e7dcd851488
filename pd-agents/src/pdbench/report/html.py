"""The report as one HTML file: no script, nothing fetched, every value escaped."""

from collections.abc import Sequence

from pdbench.core.types import SIMULATED
from pdbench.report import page
from pdbench.report.charts import cooperation_chart, interval_bar
from pdbench.report.content import (
    AGAIN,
    CONDITION_HEAD,
    METRIC_NOTES,
    Content,
    condition_cells,
    facts,
    identity,
)
from pdbench.report.figures import interval, percent, plain
from pdbench.report.page import Heat, text


def html(content: Content) -> str:
    """The whole page."""
    run = content.manifest["run_id"]
    return page.page(
        f"Iterated prisoner's dilemma: {run}",
        "Who cooperates with whom, who gains by it, and for how long.",
        [_facts(content), _ranking(content), _cooperation(content), _points(content),
         _charts(content), _conditions(content), _answers(content), _unfinished(content)],
        identity(content.manifest, content.matches), _stamp(content), _state(content), AGAIN)


def _stamp(content: Content) -> str:
    if not content.simulated:
        return ""
    return (f"{SIMULATED}. Answered by the mock provider, not by a model:"
            f" {', '.join(content.simulated)}.")


def _state(content: Content) -> str:
    status = content.manifest["status"]
    if status == "complete":
        return ""
    return (f"{str(status).upper()}: {len(content.unfinished)} of {len(content.matches)} matches"
            " that were begun are not complete.")


def _facts(content: Content) -> str:
    pairs = (f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in facts(content))
    return f'<dl class="facts">{"".join(pairs)}</dl>'


def _ranking(content: Content) -> str:
    if not content.ranking:
        return page.section("Ranking by points a round",
                            page.paragraph("No match is complete yet."))
    ends = [v for r in content.ranking for v in (r.points, *(r.interval or ()))]
    low, high = min(ends), max(ends)
    rows = [
        [f"{place}. {text(r.agent)}{_tag(r.simulated)}", plain(r.points),
         interval_bar(r.points, r.interval, low, high),
         interval(*r.interval) if r.interval else "–", percent(r.cooperation), str(r.matches)]
        for place, r in enumerate(content.ranking, 1)
    ]  # fmt: skip
    head = ["Agent", "Points", f"{plain(low)} to {plain(high)}", "95% interval", "Share of C",
            "Matches"]  # fmt: skip
    return page.section("Ranking by points a round",
                        page.table(head, rows, (1, 3, 4, 5), "Best first; bootstrap intervals"),
                        *(page.paragraph(note, "dim") for note in content.caveats))


def _cooperation(content: Content) -> str:
    return page.section("Cooperation", _matrix(
        content.agents, content.cooperation, (0, 1), percent,
        "Share of C of the row's agent against the column's", "cooperate"))


def _points(content: Content) -> str:
    there = [v for row in content.points for v in row if v is not None]
    return page.section("Points", _matrix(
        content.agents, content.points, (min(there, default=0), max(there, default=1)), plain,
        "Points a round of the row's agent against the column's"))


def _matrix(agents: list[str], values: list[list[float | None]], scale: tuple[float, float],
            say, caption: str, tint: str = "amount") -> str:
    low, high = scale
    rows = [
        (name, [Heat(None) if v is None else Heat((v - low) / ((high - low) or 1), say(v))
                for v in line])
        for name, line in zip(agents, values, strict=True)
    ]  # fmt: skip
    return page.heat(agents, rows, caption, tint)


def _tag(simulated: bool) -> str:
    return f' <span class="stamp">{SIMULATED}</span>' if simulated else ""


def _charts(content: Content) -> str:
    figures = []
    for row in content.conditions:
        a, b = content.series(row["condition"])
        name = text(row["condition"]) + _tag(row["simulated"])
        caption = (f'<b>{name}</b><span class="ka">{text(row["agent_a"])}</span> · '
                   f'<span class="kb">{text(row["agent_b"])}</span>')
        chart = cooperation_chart(a, b, (row["agent_a"], row["agent_b"]))
        figures.append(f"<figure><figcaption>{caption}</figcaption>{chart}</figure>")
    return page.section(
        "Cooperation over time",
        '<p class="dim">Share of C by round, mean over replicates: <span class="ka">agent A,'
        ' solid</span>, <span class="kb">agent B, dashed</span>.</p>',
        f'<div class="charts">{"".join(figures)}</div>')


def _conditions(content: Content) -> str:
    rows = [
        [text(r["condition"]) + _tag(r["simulated"])
         + f'<br><small>{text(r["agent_a"])} / {text(r["agent_b"])}</small>',
         *map(text, condition_cells(r))]
        for r in content.conditions
    ]  # fmt: skip
    head = ["Condition: A / B", *CONDITION_HEAD[2:]]
    return page.section(
        "Conditions", page.table(head, rows, range(1, len(head)), "Means over replicates"),
        page.bullets([f"{name}: {note}" for name, note in METRIC_NOTES.items()]))


def _answers(content: Content) -> str:
    if not content.answers:
        return ""
    rows = [
        [text(condition), text(model), f"{n:,}", f"{bad:,}", percent(bad / n, 1) if n else "–"]
        for condition, model, n, bad in content.answers
    ]
    return _listed("Answers of models", ["Condition", "Model", "Answers", "Invalid",
                                         "Share invalid"], rows, (2, 3, 4),
                   "Answers that the reader took, and those it could not")  # fmt: skip


def _unfinished(content: Content) -> str:
    if not content.unfinished:
        return ""
    rows = [[text(m.condition), str(m.replicate), text(m.status), str(len(m.a_actions))]
            for m in content.unfinished]
    return _listed("Matches that are not complete",
                   ["Condition", "Replicate", "Status", "Rounds played"], rows, (1, 3),
                   "Incomplete: a model gave no valid answer, and no action was made up. Partial:"
                   " still being played. Neither counts in ranking and matrices.")


def _listed(title: str, head: list[str], rows: list[list[str]], numeric: Sequence[int],
            caption: str) -> str:
    return page.section(title, page.table(head, rows, numeric, caption))
