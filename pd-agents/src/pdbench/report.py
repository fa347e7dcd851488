"""All conditions in one table: on the terminal's Markdown, and at the head of the viewer."""

from pathlib import Path

from pdbench.config.schema import Metrics
from pdbench.core.types import SEATS, SIMULATED
from pdbench.storage.aggregate import Row, RunData, rows_of
from pdbench.storage.manifest import write_atomically

REPORT = "report.md"
NOTHING = "–"


def percent(share: float | None) -> str:
    """A share as a whole percentage."""
    return NOTHING if share is None else f"{share:.0%}"


def number(value: float | None, form: str = ".2f") -> str:
    """A number, two digits after the point."""
    return NOTHING if value is None else format(value, form)


def both(row: Row, name: str, say=percent) -> str:
    """A measure of both agents, A's first."""
    a, b = (say(row[f"{name}_{seat}"]) for seat in SEATS)
    return f"{a} / {b}"


def collapse_text(row: Row) -> str:
    """Mean time to collapse, and how many of the complete matches collapsed."""
    complete, share = row["complete"], row["collapsed"]
    count = round(share * complete) if complete else 0
    return f"{number(row['time_to_collapse'], '.1f')}, {count} of {complete}"


def unread_text(row: Row) -> str:
    """Share of a model's answers that could not be read, of both agents."""
    shares = []
    for seat in SEATS:
        calls, share = row[f"model_calls_{seat}"], None
        if calls:
            share = row[f"invalid_answers_{seat}"] / calls
        shares.append(percent(share))
    return " / ".join(shares)


def condition_table(run: RunData) -> list[dict[str, str]]:
    """One row of texts a condition, whichever metrics were chosen for aggregates.parquet."""
    rows = rows_of(run, Metrics(collapse=run.metrics.collapse))
    table = []
    for row in rows:
        if row["level"] == "replicate":
            continue
        stamp = f" ({SIMULATED})" if row["simulated"] else ""
        table.append({
            "condition": f"{row['condition']}{stamp}",
            "agents A / B": f"{row['agent_a']} / {row['agent_b']}",
            "complete": f"{row['complete']} of {row['replicates']}",
            "rounds": number(row["rounds"], ".1f"),
            "share of C": percent(row["cooperation_rate"]),
            "C: A / B": both(row, "cooperation_rate"),
            "points a round: A / B": both(row, "mean_payoff", number),
            "retaliation: A / B": both(row, "retaliation_rate"),
            "forgiveness: A / B": both(row, "forgiveness_rate"),
            "gap of A": number(row["exploitability_payoff_gap_agent_a"], "+.1f"),
            "collapse": collapse_text(row),
            "unread: A / B": unread_text(row),
        })  # fmt: skip
    return table


def markdown(run: RunData) -> str:
    """The report: a heading, the table, and what its columns mean."""
    table = condition_table(run)
    head = list(table[0])
    lines = [f"# Iterated prisoner's dilemma: {run.name}", "", _line(head)]
    lines.append(_line(["---", "---", *["--:"] * (len(head) - 2)]))
    lines += [_line(row.values()) for row in table]
    collapse = run.metrics.collapse
    lines += [
        "",
        "Means over complete matches, per agent A and B. Gap: points of the opponent minus own, a"
        " match. Collapse: mean round index at which it begins, and how many matches collapsed"
        f" ({collapse.k} rounds with at most {collapse.threshold:.0%} C). Unread: share of a"
        " model's answers that were neither C nor D, over all matches.",
    ]
    if any(match.simulated for match in run.matches):
        lines.append(f"{SIMULATED}: the mock provider answered, not a model.")
    return "\n".join(lines) + "\n"


def _line(cells) -> str:
    texts = [str(cell).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(texts)} |"


def write_report(run: RunData) -> Path:
    """Write report.md into the run's folder."""
    path = run.run_dir / REPORT
    write_atomically(path, markdown(run).encode())
    return path
