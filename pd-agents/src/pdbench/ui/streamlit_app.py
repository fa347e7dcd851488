"""The viewer: `streamlit run streamlit_app.py -- RUN_DIR`, or `pdbench ui RUN_DIR`. Read-only."""

import sys
from pathlib import Path

import altair as alt
import streamlit as st

from pdbench.core.types import SIMULATED, PdbenchError
from pdbench.report import VERSION
from pdbench.report.content import identity
from pdbench.report.figures import percent, plain, signed
from pdbench.report.look import COLOURS
from pdbench.report.markdown import cell
from pdbench.ui import data

WINDOW = 200  # rounds that the timeline shows at once
ACTIONS = {"C": "cooperate", "D": "defect", "none": "none"}
AGENTS = ("present", "absent")  # A and B, as in the report


def colour(name: str) -> str:
    """A colour of the reports, for the scheme that the reader's browser shows."""
    scheme = getattr(st.context.theme, "type", None)
    return getattr(COLOURS[name], "dark" if scheme == "dark" else "light")


@st.cache_data(max_entries=4, show_spinner="Reading the run…")
def load(run_dir: str, key: str):
    """Cached by the files' times and sizes (`key`), so that a growing run is read again."""
    return data.load(Path(run_dir))


@st.cache_data(max_entries=8, show_spinner=False)
def load_records(run_dir: str, _match, run_id: str, key: str):
    """The lines of the chosen match."""
    return data.records(Path(run_dir), _match, run_id)


def note(words: str, where=st) -> None:
    """Small print; Streamlit's own captions are too faint for WCAG AA. `words` is Markdown."""
    where.markdown(f":small[:gray[{words}]]")


def drawn(chart: alt.Chart) -> None:
    """Show a chart over the whole width, with labels as dark as the reports' own."""
    dim = colour("dim")
    st.altair_chart(chart.configure_axis(labelColor=dim, titleColor=dim)
                    .configure_legend(labelColor=dim), width="stretch")


def main() -> None:
    """The page."""
    st.set_page_config(page_title="pdbench", layout="wide")
    if len(sys.argv) < 2:
        st.error("No run folder given: streamlit run streamlit_app.py -- RUN_DIR")
        st.stop()
    run_dir = Path(sys.argv[1])
    try:
        show(run_dir)
    except PdbenchError as error:
        st.error(cell(error))


def show(run_dir: Path) -> None:
    """Everything about one run."""
    key = repr(data.stamp(run_dir))
    manifest, matches = load(str(run_dir), key)
    header(manifest)
    if not matches:
        st.info("No round has been played yet.")
        return
    match = pick(matches)
    lines = load_records(str(run_dir), match, manifest["run_id"],
                         f"{key} {match.condition} {match.replicate}")
    condition = manifest["config"]["conditions"][match.condition]
    seats = seat_names(condition)
    st.header(f"{cell(match.condition)}, replicate {match.replicate}")
    note(" against ".join(cell(name) for name in seats.values()))
    if match.condition in manifest["simulated_conditions"]:
        st.warning(f"**{SIMULATED}**: answered by the mock provider, not by a model.")
    if match.status != "complete":
        st.warning(STATUS[match.status])
    panel(data.headline(match, manifest["config"]), seats)
    charts(lines, seats)
    if any("attempts" in line for line in lines):
        answers(lines, seats)
    footer(manifest, matches)


STATUS = {
    "incomplete": "Incomplete: a model gave no valid answer, so the match ended there.",
    "partial": "This match is still being played, or was interrupted.",
}


def header(manifest: dict) -> None:
    """Name and state of the run."""
    st.title(f"Iterated prisoner's dilemma: {cell(manifest['run_id'])}")
    left, right = st.columns([5, 1], vertical_alignment="center")
    note(f"Status: {cell(manifest['status'])} · seed {manifest['seed']}"
         f" · updated {cell(manifest['updated_utc'])}", left)
    right.button("Reload", help="Read the run's files again", width="stretch")


def pick(matches: list) -> object:
    """The pickers; only what has at least one round can be picked."""
    names = list(dict.fromkeys(m.condition for m in matches))
    left, right = st.columns([3, 1])
    name = left.selectbox("Condition", names, key="condition")
    own = [m for m in matches if m.condition == name]
    replicate = right.selectbox("Replicate", [m.replicate for m in own], key="replicate")
    return next(m for m in own if m.replicate == replicate)


def seat_names(condition: dict) -> dict[str, str]:
    """Names for charts; A and B tell an agent from itself."""
    return {seat: f"{seat[-1].upper()}: {condition[seat]['label']}"
            for seat in ("agent_a", "agent_b")}


def panel(row: dict, seats: dict[str, str]) -> None:
    """Headline metrics: of the match, then of each agent."""
    whole = st.columns(4)
    whole[0].metric("Rounds", row["rounds"])
    whole[1].metric("Cooperation, both", percent(row["cooperation_rate"]))
    whole[2].metric("Collapse at round index", plain(row["time_to_collapse"], 0))
    whole[3].metric("Status", row["status"])
    st.table({
        "": list(PER_AGENT),
        **{cell(name): [say(row[f"{key}_{seat}"]) for key, say in PER_AGENT.values()]
           for seat, name in seats.items()},
    })  # fmt: skip


def total(value: float | None) -> str:
    """Points of a whole match: whole where they are."""
    return plain(value, 1).removesuffix(".0")


PER_AGENT = {
    "Cooperation rate": ("cooperation_rate", percent),
    "Points": ("total_payoff", total),
    "Points a round": ("mean_payoff", plain),
    "Retaliation rate": ("retaliation_rate", percent),
    "Forgiveness rate": ("forgiveness_rate", percent),
    "Payoff gap (opponent minus own)": (
        "exploitability_payoff_gap", lambda gap: signed(gap, 1).removesuffix(".0")),
}  # fmt: skip


def charts(lines: list[dict], seats: dict[str, str]) -> None:
    """Actions by round, and points so far."""
    st.subheader("Actions by round")
    drawn(action_chart(data.timeline(window(lines), seats)))
    st.subheader("Cumulative payoffs")
    legend = alt.Legend(orient="top", direction="vertical", title=None, symbolStrokeWidth=2)
    points = alt.Chart(data.cumulative(lines, seats)).mark_line(strokeWidth=2).encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("points:Q", title="points so far"),
        color=alt.Color("agent:N", scale=alt.Scale(range=[colour(name) for name in AGENTS]),
                        legend=legend),
        strokeDash=alt.StrokeDash("agent:N", legend=legend),
        tooltip=["round", "agent", "points"],
    )
    drawn(points.properties(height=260, description="Points so far by round, agent A solid and"
                            " agent B dashed"))


def window(lines: list[dict]) -> list[dict]:
    """The rounds that the timeline shows; a slider where there are many."""
    if len(lines) <= WINDOW:
        return lines
    first = st.slider("First round shown", 1, len(lines) - WINDOW + 1, 1, key="first_round")
    return lines[first - 1:first - 1 + WINDOW]


def action_chart(frame) -> alt.Chart:
    """A tile a round and seat, C above D; a flipped action has an outline."""
    frame = frame.assign(seat=frame["agent"].str[0])
    seen = [action for action in ACTIONS if action in set(frame["action"])]
    colours = alt.Scale(domain=seen, range=[colour(ACTIONS[action]) for action in seen])
    return alt.Chart(frame).mark_rect(strokeWidth=1.5).encode(
        x=alt.X("round:O", title="round", axis=alt.Axis(labelOverlap=True, labelAngle=0)),
        y=alt.Y("seat:N", title=None),
        yOffset=alt.YOffset("action:N", sort=list(ACTIONS)),
        color=alt.Color("action:N", scale=colours, legend=alt.Legend(orient="top", title=None)),
        stroke=alt.condition("datum.flipped", alt.value(colour("ink")), alt.value("transparent")),
        tooltip=["round", "agent", "action", "flipped", "points"],
    ).properties(height=210, description="Actions by round of agents A and B")


def footer(manifest: dict, matches: list) -> None:
    """The same words as at the foot of every report."""
    st.divider()
    stamp = f"{SIMULATED} · " if manifest["stamp"] else ""
    named = (f"{name} {cell(value)}" for name, value in identity(manifest, matches).items())
    note(" · ".join([f"{stamp}cirrus-bench {VERSION}", *named]))


def answers(lines: list[dict], seats: dict[str, str]) -> None:
    """Prompts and raw answers of every attempt in one round."""
    st.subheader("Prompts and answers")
    t = st.number_input("Round", 1, len(lines), 1, key="round") if len(lines) > 1 else 1
    line = lines[t - 1]
    for seat, name in seats.items():
        if seat in line.get("attempts", {}):
            st.markdown(f"**{cell(name)}**")
            one_turn(line, seat)


def one_turn(line: dict, seat: str) -> None:
    """One model's attempts in one round."""
    kind = "prompts" if "prompts" in line else "prompt_hashes"
    with st.expander("System prompt" if kind == "prompts" else "System prompt (SHA-256)"):
        st.code(line[kind]["system"][seat], language=None, wrap_lines=True)
    raw = (line.get("raw_responses") or {}).get(seat)
    for i, attempt in enumerate(line["attempts"][seat]):
        read = attempt["action"] or f"invalid: {attempt['problem']}"
        st.markdown(f"Attempt {i + 1}: **{cell(read)}**")
        prompt = line[kind]["round"][seat] if i == 0 else (
            attempt.get("prompt") or attempt.get("prompt_sha256"))
        left, right = st.columns([3, 2])
        note("Prompt" if kind == "prompts" else "Prompt (SHA-256)", left)
        left.code(prompt, language=None, wrap_lines=True)
        note("Raw answer", right)
        right.code(raw[i] if raw else "(not stored)", language=None, wrap_lines=True)


main()
