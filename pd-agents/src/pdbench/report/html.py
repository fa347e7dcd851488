"""The report as one HTML file: no script, nothing fetched, every value escaped."""

from html import escape
from importlib.resources import files
from string import Template

from pdbench.core.types import SIMULATED
from pdbench.report.charts import cooperation_chart, interval_bar
from pdbench.report.content import (
    CONDITION_HEAD,
    METRIC_NOTES,
    Content,
    condition_cells,
    facts,
)


def html(content: Content) -> str:
    """The whole page."""
    title = f"Iterated prisoner's dilemma: {content.manifest['run_id']}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        _stamp(content),
        _facts(content),
        "<h2>Ranking by points a round</h2>",
        _ranking(content),
        "".join(f'<p class="soft">{escape(note)}</p>' for note in content.caveats),
        "<h2>Cooperation</h2><p class='soft'>Share of C of the row's agent against the column's."
        "</p>",
        _matrix(content.agents, content.cooperation, (0, 1)),
        "<h2>Points</h2><p class='soft'>Points a round of the row's agent against the column's."
        "</p>",
        _matrix(content.agents, content.points, _range(content.points)),
        "<h2>Cooperation over time</h2><p class='soft'>Share of C by round, mean over replicates:"
        ' <span class="ka">agent A solid</span>, <span class="kb">agent B dashed</span>.</p>',
        _charts(content),
        "<h2>Conditions</h2>",
        _conditions(content),
        _notes(),
        _answers(content),
        _unfinished(content),
    ]
    page = Template((files("pdbench.report") / "page.html").read_text(encoding="utf-8"))
    return page.substitute(title=escape(title), body="\n".join(p for p in parts if p))


def _stamp(content: Content) -> str:
    if not content.simulated:
        return ""
    names = ", ".join(map(escape, content.simulated))
    return (f'<div class="stamp"><strong>{SIMULATED}.</strong> Answered by the mock provider, not'
            f" by a model: {names}.</div>")


def _facts(content: Content) -> str:
    pairs = (f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts(content))
    return f"<dl>{''.join(pairs)}</dl>"


def _table(head: list[str] | tuple[str, ...], rows: list[str], kind: str = "") -> str:
    """`rows` are finished HTML; the head is text."""
    cells = "".join(f'<th scope="col">{escape(x)}</th>' for x in head)
    return (f'<div class="scroll"><table class="{kind}"><thead><tr>{cells}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>")


def _row(name: str, cells: list[str]) -> str:
    """A row: `name` is finished HTML, the cells are text."""
    rest = "".join(f"<td>{escape(x)}</td>" for x in cells)
    return f'<tr><th scope="row">{name}</th>{rest}</tr>'


def _ranking(content: Content) -> str:
    if not content.ranking:
        return "<p>No match is complete yet.</p>"
    ends = [v for r in content.ranking for v in (r.points, *(r.interval or ()))]
    low, high = min(ends), max(ends)
    rows = []
    for place, r in enumerate(content.ranking, 1):
        bar = interval_bar(r.points, r.interval, low, high)
        interval = "–" if r.interval is None else f"{r.interval[0]:.2f} to {r.interval[1]:.2f}"
        rows.append(
            f'<tr><th scope="row">{place}. {escape(r.agent)}{_tag(r.simulated)}</th>'
            f"<td>{r.points:.2f}</td>"
            f"<td>{bar}</td><td>{interval}</td><td>{r.cooperation:.2f}</td>"
            f"<td>{r.matches}</td></tr>"
        )
    return _table(["Agent", "Points", f"{low:.2f} to {high:.2f}", "95% interval", "Share of C",
                   "Matches"], rows, "ranking")


def _range(values: list[list[float | None]]) -> tuple[float, float]:
    there = [v for row in values for v in row if v is not None]
    return (min(there), max(there)) if there else (0, 1)


def _matrix(agents: list[str], values: list[list[float | None]], scale: tuple[float, float]
            ) -> str:
    low, high = scale
    rows = []
    for name, line in zip(agents, values, strict=True):
        cells = "".join(_heat(v, (v - low) / ((high - low) or 1) if v is not None else 0)
                        for v in line)
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    return _table(["", *agents], rows, "matrix")


def _heat(value: float | None, share: float) -> str:
    if value is None:
        return '<td class="soft">–</td>'
    colour = f"color-mix(in srgb, var(--heat) {4 + round(share * 51)}%, var(--bg))"
    return f'<td style="background:{colour}">{value:.2f}</td>'


def _tag(simulated: bool) -> str:
    return f'<span class="tag">{SIMULATED}</span>' if simulated else ""


def _charts(content: Content) -> str:
    figures = []
    for row in content.conditions:
        a, b = content.series(row["condition"])
        name = escape(row["condition"]) + _tag(row["simulated"])
        caption = (f"<b>{name}</b>"
                   f'<span class="ka">{escape(row["agent_a"])}</span> · '
                   f'<span class="kb">{escape(row["agent_b"])}</span>')
        chart = cooperation_chart(a, b, (row["agent_a"], row["agent_b"]))
        figures.append(f"<figure><figcaption>{caption}</figcaption>{chart}</figure>")
    return f'<div class="charts">{"".join(figures)}</div>'


def _conditions(content: Content) -> str:
    rows = []
    for r in content.conditions:
        agents = f'<br><span class="soft">{escape(r["agent_a"])} / {escape(r["agent_b"])}</span>'
        name = escape(r["condition"]) + _tag(r["simulated"]) + agents
        rows.append(_row(name, condition_cells(r)))
    head = [name.replace("A / B", "A\N{NBSP}/\N{NBSP}B") for name in CONDITION_HEAD[2:]]
    return _table(["Condition: A / B", *head], rows, "wide")


def _notes() -> str:
    items = "".join(f"<li>{escape(k)}: {escape(v)}</li>" for k, v in METRIC_NOTES.items())
    return f'<ul class="soft">{items}</ul>'


def _answers(content: Content) -> str:
    if not content.answers:
        return ""
    rows = [
        _row(escape(condition), [model, str(n), str(bad), f"{bad / n:.1%}" if n else "–"])
        for condition, model, n, bad in content.answers
    ]
    head = ["Condition", "Model", "Answers", "Invalid", "Share invalid"]
    return "<h2>Answers of models</h2>" + _table(head, rows)


def _unfinished(content: Content) -> str:
    if not content.unfinished:
        return ""
    rows = [_row(escape(m.condition), [str(m.replicate), m.status, str(len(m.a_actions))])
            for m in content.unfinished]
    note = ("<p class='soft'>Incomplete: a model gave no valid answer, and no action was made up."
            " Partial: still being played. Neither counts in ranking and matrices.</p>")
    head = ["Condition", "Replicate", "Status", "Rounds played"]
    return "<h2>Matches that are not complete</h2>" + note + _table(head, rows)
