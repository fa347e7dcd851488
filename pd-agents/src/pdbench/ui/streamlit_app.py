"""The viewer: `streamlit run streamlit_app.py -- RUN_DIR`, or `pdbench ui RUN_DIR`. Read-only."""

import sys
from pathlib import Path

import altair as alt
import pandas as pd
import streamlit as st

from pdbench.config.schema import Metrics
from pdbench.core.types import SEATS, SIMULATED, PdbenchError, Seat
from pdbench.report import condition_table, number, percent
from pdbench.storage.aggregate import Row, RunData, match_row, read_run
from pdbench.storage.rounds import ROUNDS, MatchRounds, numbered_lines

WINDOW = 200  # rounds that the timeline shows at once
MOST_POINTS = 1000  # of a line; more can't be seen
ALL = "all conditions"
COLOURS = {"C": "#0b5cad", "D": "#b04a00", "A": "#0a7a7a", "B": "#9140c0"}


@st.cache_data(max_entries=4, show_spinner="Reading the run…")
def load(run_dir: str, stamp: str) -> tuple[RunData, list[dict[str, str]]]:
    """The run and its table; `stamp` changes with the files, so that a growing run is read again."""
    run = read_run(Path(run_dir))
    return run, condition_table(run)


@st.cache_data(max_entries=4, show_spinner="Reading the match…")
def load_records(
    run_dir: str, condition: str, replicate: int, stamp: str
) -> list[dict]:
    """The lines of one match in the order of its rounds."""
    records = []
    for _, record in numbered_lines(Path(run_dir) / ROUNDS, []):
        if (record["condition"], record["replicate"]) == (condition, replicate):
            records.append(record)
    return sorted(records, key=lambda record: record["round_index"])


def stamp_of(run_dir: Path) -> str:
    """Changes whenever a round is added."""
    path = run_dir / ROUNDS
    if not path.exists():
        return "none"
    stat = path.stat()
    return f"{stat.st_mtime_ns} {stat.st_size}"


def main() -> None:
    """The page."""
    st.set_page_config(page_title="pdbench", layout="wide")
    if len(sys.argv) < 2:
        st.error("No run folder given: streamlit run streamlit_app.py -- RUN_DIR")
        st.stop()
    try:
        show(Path(sys.argv[1]))
    except PdbenchError as error:
        st.error(str(error))


def show(run_dir: Path) -> None:
    """The table of all conditions, or one match of one of them."""
    stamp = stamp_of(run_dir)
    run, table = load(str(run_dir), stamp)
    st.header(f"Iterated prisoner's dilemma: {run.name}")
    for warning in run.warnings:
        st.warning(warning)
    names = list(dict.fromkeys(match.condition for match in run.matches))
    left, right = st.columns([3, 1])
    condition = left.selectbox("Condition", [ALL, *names], key="condition")
    if condition == ALL:
        right.metric("Status", run.manifest.status if run.manifest else "unknown")
        show_all(table)
        return
    matches = [match for match in run.matches if match.condition == condition]
    replicates = [match.replicate for match in matches]
    replicate = right.selectbox("Replicate", replicates, key="replicate")
    match = matches[replicates.index(replicate)]
    records = load_records(str(run_dir), condition, replicate, stamp)
    show_match(run, match, records)


def show_all(table: list[dict[str, str]]) -> None:
    """Every condition in one table."""
    st.write("Means over complete matches; choose a condition to see its matches.")
    st.table(pd.DataFrame(table).set_index("condition"))
    if any(SIMULATED in row["condition"] for row in table):
        st.write(f"{SIMULATED}: the mock provider answered, not a model.")


def show_match(run: RunData, match: MatchRounds, records: list[dict]) -> None:
    """Headline metrics, actions by round, points so far, and what models were asked."""
    st.subheader(f"{match.condition}, replicate {match.replicate}")
    if match.simulated:
        st.warning(f"{SIMULATED}: answered by the mock provider, not by a model.")
    if match.status == "incomplete":
        st.warning(
            "Incomplete: a model gave no valid answer, so the match ended there."
        )
    if match.status == "partial":
        st.warning(
            "Partial: still being played, or interrupted, or rounds are missing."
        )
    row = match_row(run, match, Metrics(collapse=run.metrics.collapse))
    show_metrics(row)
    played = [record for record in records if record["agent_a_payoff"] is not None]
    if played:
        show_charts(played, seat_names(row))
    if any("attempts" in record for record in records):
        show_answers(records)


def seat_names(row: Row) -> dict[Seat, str]:
    """A and B tell an agent from itself."""
    names = {}
    for seat in SEATS:
        label = row[seat] if row[seat] else "?"
        names[seat] = f"{seat[-1].upper()}: {label}"
    return names


def show_metrics(row: Row) -> None:
    """Metrics of the match, then of each agent."""
    whole = st.columns(4)
    whole[0].metric("Rounds", row["rounds"])
    whole[1].metric("Cooperation, both", percent(row["cooperation_rate"]))
    whole[2].metric("Collapse at round_index", number(row["time_to_collapse"], "d"))
    whole[3].metric("Status", row["status"])
    table = {}
    for seat, name in seat_names(row).items():
        table[name] = {
            "Cooperation rate": percent(row[f"cooperation_rate_{seat}"]),
            "Retaliation rate": percent(row[f"retaliation_rate_{seat}"]),
            "Forgiveness rate": percent(row[f"forgiveness_rate_{seat}"]),
            "Points": number(row[f"total_payoff_{seat}"], "g"),
            "Points a round": number(row[f"mean_payoff_{seat}"]),
            "Gap (opponent minus own)": number(
                row[f"exploitability_payoff_gap_{seat}"], "+g"
            ),
        }
    st.table(pd.DataFrame(table))


def show_charts(records: list[dict], names: dict[Seat, str]) -> None:
    """Actions by round, and points so far."""
    st.subheader("Actions by round")
    first = 0
    if len(records) > WINDOW:
        first = st.slider(
            "First round_index shown", 0, len(records) - WINDOW, key="first"
        )
    shown = frame(records[first : first + WINDOW], names)
    st.altair_chart(action_chart(shown), width="stretch")
    st.subheader("Cumulative payoffs")
    step = -(-len(records) // MOST_POINTS)
    thinned = frame([*records[:-1:step], records[-1]], names)
    st.altair_chart(points_chart(thinned), width="stretch")


def frame(records: list[dict], names: dict[Seat, str]) -> pd.DataFrame:
    """One row a round and agent."""
    rows = []
    for record in records:
        for seat, name in names.items():
            rows.append({
                "round_index": record["round_index"],
                "agent": name,
                "action": record[f"{seat}_action"],
                "points": record[f"{seat}_payoff"],
                "points so far": record[f"{seat}_cum_payoff"],
            })  # fmt: skip
    return pd.DataFrame(rows)


def action_chart(data: pd.DataFrame) -> alt.Chart:
    """A tile a round and agent."""
    colour = alt.Scale(domain=["C", "D"], range=[COLOURS["C"], COLOURS["D"]])
    return (
        alt.Chart(data, height=140)
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("round_index:O", axis=alt.Axis(labelOverlap=True, labelAngle=0)),
            y=alt.Y("agent:N", title=None),
            color=alt.Color("action:N", scale=colour),
            tooltip=["round_index", "agent", "action", "points"],
        )
    )


def points_chart(data: pd.DataFrame) -> alt.Chart:
    """Points so far by round, a line an agent."""
    colour = alt.Scale(range=[COLOURS["A"], COLOURS["B"]])
    return (
        alt.Chart(data, height=260)
        .mark_line(point=len(data) < 20)
        .encode(
            x=alt.X("round_index:Q", axis=alt.Axis(tickMinStep=1)),
            y="points so far:Q",
            color=alt.Color("agent:N", scale=colour),
            strokeDash="agent:N",
            tooltip=["round_index", "agent", "points so far"],
        )
    )


def show_answers(records: list[dict]) -> None:
    """Prompts and raw answers of every attempt in one round; opens on the last, where it ended."""
    st.subheader("Prompts and answers")
    rounds = [record["round_index"] for record in records]
    chosen = st.selectbox("round_index", rounds, index=len(rounds) - 1, key="round")
    record = records[rounds.index(chosen)]
    for seat, attempts in record.get("attempts", {}).items():
        st.markdown(f"**Agent {seat[-1].upper()}**")
        show_turn(record, seat, attempts)


def show_turn(record: dict, seat: str, attempts: list[dict]) -> None:
    """One model's attempts in one round."""
    kind = "prompts" if "prompts" in record else "prompt_hashes"
    prompts = record[kind]
    raw = record.get("raw_responses", {}).get(seat)
    with st.expander("System prompt"):
        st.code(prompts["system"][seat], language=None, wrap_lines=True)
    for i, attempt in enumerate(attempts):
        read = attempt["action"]
        if read is None:
            read = f"invalid ({attempt['problem']})"
        prompt = attempt.get("prompt", attempt.get("prompt_sha256"))
        if i == 0:
            prompt = prompts["round"][seat]
        st.write(f"Attempt {i + 1}: {read}")
        left, right = st.columns([3, 2])
        left.code(prompt, language=None, wrap_lines=True)
        right.code(raw[i] if raw else "(not stored)", language=None, wrap_lines=True)


main()
