"""The report as Markdown tables."""

from html import escape

from pdbench.core.types import SIMULATED
from pdbench.report import VERSION
from pdbench.report.content import (
    CONDITION_HEAD,
    METRIC_NOTES,
    Content,
    condition_cells,
    facts,
    identity,
)
from pdbench.report.figures import interval, percent, plain


def cell(text: object) -> str:
    """Text that can't break out of a table cell or be taken for HTML."""
    flat = " ".join(escape(str(text), quote=False).split())
    for mark in "\\|`*_[]":
        flat = flat.replace(mark, "\\" + mark)
    return flat


def table(head: tuple[str, ...] | list[str], rows: list[list[str]]) -> str:
    """A Markdown table; the first column to the left, the others to the right."""
    rule = ["---"] + ["--:"] * (len(head) - 1)
    lines = [[cell(x) for x in head], rule, *([cell(x) for x in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def matrix_table(agents: list[str], values: list[list[float | None]], say) -> str:
    """Row agents against column agents; `say` puts a value in words."""
    rows = [[name, *map(say, row)] for name, row in zip(agents, values, strict=True)]
    return table(["", *agents], rows)


def markdown(content: Content) -> str:
    """The whole report."""
    parts = [f"# Iterated prisoner's dilemma: {cell(content.manifest['run_id'])}"]
    if content.simulated:
        parts.append(f"**{SIMULATED}.** Answered by the mock provider, not by a model: "
                     + ", ".join(map(cell, content.simulated)) + ".")
    parts.append("\n".join(f"- {name}: {cell(value)}" for name, value in facts(content)))
    parts += ["## Ranking by points a round", _ranking(content), *content.caveats]
    parts += ["## Cooperation: share of C of the row's agent against the column's",
              matrix_table(content.agents, content.cooperation, percent)]
    parts += ["## Points a round of the row's agent against the column's",
              matrix_table(content.agents, content.points, plain)]
    parts += ["## Conditions", _conditions(content)]
    parts.append("\n".join(f"- {name}: {note}" for name, note in METRIC_NOTES.items()))
    if content.answers:
        parts += ["## Answers of models", _answers(content)]
    parts.append(" · ".join([f"cirrus-bench {VERSION}", *(
        f"{name} {cell(value)}"
        for name, value in identity(content.manifest, content.matches).items())]))
    return "\n\n".join(parts) + "\n"


def _tagged(name: str, simulated: bool) -> str:
    return f"{name} ({SIMULATED})" if simulated else name


def _ranking(content: Content) -> str:
    rows = []
    for place, r in enumerate(content.ranking, 1):
        known = interval(*r.interval) if r.interval else "–"
        name = _tagged(f"{place}. {r.agent}", r.simulated)
        rows.append([name, plain(r.points), known, percent(r.cooperation), str(r.matches)])
    return table(("Agent", "Points", "95% interval", "C", "Matches"), rows)


def _conditions(content: Content) -> str:
    rows = [
        [_tagged(r["condition"], r["simulated"]), f"{r['agent_a']} / {r['agent_b']}",
         *condition_cells(r)]
        for r in content.conditions
    ]  # fmt: skip
    return table(CONDITION_HEAD, rows)


def _answers(content: Content) -> str:
    rows = [[condition, model, str(n), str(bad), percent(bad / n, 1) if n else "–"]
            for condition, model, n, bad in content.answers]
    return table(("Condition", "Model", "Answers", "Invalid", "Share invalid"), rows)
