"""The viewer: `streamlit run streamlit_app.py -- RUN_DIR`, or `pdbench ui RUN_DIR`. Read-only."""

import sys
from pathlib import Path

import streamlit as st

from pdbench.core.types import SIMULATED, PdbenchError
from pdbench.report import VERSION
from pdbench.report.charts import AGENTS, chart, course_chart
from pdbench.report.colours import COLOURS
from pdbench.report.content import courses, identity
from pdbench.report.render import cell
from pdbench.report.say import interval, percent, plain, short, signed
from pdbench.report.tables import bootstrap_interval
from pdbench.storage.manifest import is_simulated
from pdbench.ui import data

WINDOW = 200  # rounds that the timeline shows at once
ACTIONS = {"C": "cooperate", "D": "defect", "none": "none"}
ALL = "all"  # the choice that shows every condition, or a condition and not one match of it


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


def drawn(spec: dict, words: str) -> None:
    """Show a chart over the whole width, as the report draws it."""
    st.vega_lite_chart(
        spec | {"width": "container", "description": words}, theme=None, width="stretch"
    )


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
    name, replicate = pick(matches)
    if name == ALL:
        show_overview(matches, manifest)
        footer(manifest, matches)
        return
    played = [m for m in matches if m.condition == name]
    condition = manifest["config"]["conditions"][name]
    seats = seat_names(condition)
    st.header(cell(name) + ("" if replicate == ALL else f", replicate {replicate}"))
    note(" against ".join(cell(name) for name in seats.values()))
    if is_simulated(condition):
        st.warning(f"**{SIMULATED}**: answered by the mock provider, not by a model.")
    if replicate == ALL:
        show_condition(played, manifest, seats)
    else:
        match = next(m for m in played if m.replicate == replicate)
        note(
            f"One of {len(played)} matches of this condition: the one that was chosen above"
        )
        show_match(run_dir, match, manifest, seats, key)
    footer(manifest, matches)


def show_overview(matches: list, manifest: dict) -> None:
    """Every condition in one table; a click opens it."""
    table = data.condition_table(matches, manifest["config"])
    st.header("All conditions")
    note(
        "Means over complete matches. A click on a row's left edge opens the condition, "
        "and there its matches"
    )
    st.dataframe(
        table, hide_index=True, key="conditions", width="stretch",
        on_select=lambda: open_condition(table["Condition"].tolist()), selection_mode="single-row",
        column_config={name: st.column_config.NumberColumn(format=form) for name, form in (
            ("Cooperation, both", "%.0f%%"), ("Points a round, A", "%.2f"),
            ("Points a round, B", "%.2f"))},
    )  # fmt: skip


def open_condition(names: list[str]) -> None:
    """Go to the condition whose row was clicked."""
    if rows := st.session_state["conditions"]["selection"]["rows"]:
        st.session_state["condition"] = names[rows[0]]


def show_condition(matches: list, manifest: dict, seats: dict[str, str]) -> None:
    """All replicates of a condition: cooperation over rounds, payoffs, and matches to click."""
    config = manifest["config"]
    row = data.condition_summary(matches, config)
    for column, (name, value) in zip(
        st.columns(3),
        {
            "Complete / all matches": f"{row['complete']} / {row['replicates']}",
            "Rounds a match": short(row["rounds"]),
            "Cooperation, both": percent(row["cooperation_rate"]),
        }.items(),
        strict=True,
    ):
        column.metric(name, value)
    if row["complete"]:
        st.subheader("Cooperation by round")
        note("Share of C over complete matches, with 95% intervals: A solid, B dashed")
        names = tuple(seats.values())
        drawn(*course_chart(courses(matches, row["condition"]), names, colour, 220))
        st.subheader("Agents")
        points = {
            seat: payoff_words(matches, row, seat, manifest["seed"]) for seat in seats
        }
        per_agent(row, seats, {"Points a round (95% interval)": points})
    st.subheader("Matches")
    note("A click on a row's left edge opens the match")
    whole = [m.replicate for m in matches]
    st.dataframe(
        data.match_table(matches, config, seats), hide_index=True, key="table",
        on_select=lambda: open_match(whole), selection_mode="single-row", width="stretch",
        column_config={
            name: st.column_config.NumberColumn(format=form)
            for seat in seats.values()
            for name, form in ((f"Share of C, {seat}", "%.0f%%"),
                               (f"Points a round, {seat}", "%.2f"))
        },
    )  # fmt: skip


def open_match(replicates: list[int]) -> None:
    """Go to the match whose row was clicked."""
    if rows := st.session_state["table"]["selection"]["rows"]:
        st.session_state["replicate"] = replicates[rows[0]]


def payoff_words(matches: list, row: dict, seat: str, seed: int) -> str:
    """An agent's mean points a round over the complete matches, with its interval."""
    whole = [m for m in matches if m.status == "complete"]
    totals = [
        (m.a_total if seat == "agent_a" else m.b_total) / len(m.a_actions)
        for m in whole
    ]
    ends = bootstrap_interval([[totals]], seed, f"{row['condition']} {seat}")
    return plain(row[f"mean_payoff_{seat}"]) + (f" ({interval(ends)})" if ends else "")


def show_match(
    run_dir: Path, match, manifest: dict, seats: dict[str, str], key: str
) -> None:
    """One match: metrics, actions by round, points so far, and what models were asked."""
    lines = load_records(
        str(run_dir),
        match,
        manifest["run_id"],
        f"{key} {match.condition} {match.replicate}",
    )
    if match.status != "complete":
        st.warning(STATUS[match.status])
    panel(data.headline(match, manifest["config"]), seats)
    charts(lines, seats)
    if any("attempts" in line for line in lines):
        answers(lines, seats)


STATUS = {
    "incomplete": "Incomplete: a model gave no valid answer, so the match ended there.",
    "partial": "This match is still being played, or was interrupted.",
}


def header(manifest: dict) -> None:
    """Name and state of the run."""
    st.title(f"Iterated prisoner's dilemma: {cell(manifest['run_id'])}")
    left, right = st.columns([5, 1], vertical_alignment="center")
    note(
        f"Status: {cell(manifest['status'])} · seed {manifest['seed']}"
        f" · updated {cell(manifest['unproven']['updated_utc'])}",
        left,
    )
    right.button("Reload", help="Read the run's files again", width="stretch")


def pick(matches: list) -> tuple[str, object]:
    """The pickers; only what has at least one round can be picked."""
    names = list(dict.fromkeys(m.condition for m in matches))
    left, right = st.columns([3, 1])
    name = left.selectbox(
        "Condition",
        [ALL, *names],
        key="condition",
        on_change=leave_match,
        format_func=lambda choice: "all conditions" if choice == ALL else choice,
    )
    if name == ALL:
        return ALL, ALL
    choices = [ALL, *(m.replicate for m in matches if m.condition == name)]
    replicate = right.selectbox(
        "Match",
        choices,
        key="replicate",
        format_func=lambda choice: (
            "all replicates" if choice == ALL else f"replicate {choice}"
        ),
    )
    return name, replicate


def leave_match() -> None:
    """Another condition opens with all its replicates."""
    st.session_state["replicate"] = ALL


def seat_names(condition: dict) -> dict[str, str]:
    """Names for charts; A and B tell an agent from itself."""
    return {
        seat: f"{seat[-1].upper()}: {condition[seat]['label']}"
        for seat in ("agent_a", "agent_b")
    }


def panel(row: dict, seats: dict[str, str]) -> None:
    """Headline metrics: of the match, then of each agent."""
    collapse = row["time_to_collapse"]
    whole = st.columns(4)
    whole[0].metric("Rounds", row["rounds"])
    whole[1].metric("Cooperation, both", percent(row["cooperation_rate"]))
    whole[2].metric(
        "Collapse at round", short(None if collapse is None else collapse + 1)
    )
    whole[3].metric("Status", row["status"])
    per_agent(
        row,
        seats,
        {
            "Points": {seat: short(row[f"total_payoff_{seat}"]) for seat in seats},
            "Points a round": {
                seat: plain(row[f"mean_payoff_{seat}"]) for seat in seats
            },
        },
    )


def per_agent(
    row: dict, seats: dict[str, str], more: dict[str, dict[str, str]]
) -> None:
    """A table of both agents: the metrics, and `more` by name and seat."""
    st.table({
        "Measure": [*PER_AGENT, *more],
        **{cell(name): [*(say(row[f"{key}_{seat}"]) for key, say in PER_AGENT.values()),
                        *(values[seat] for values in more.values())]
           for seat, name in seats.items()},
    })  # fmt: skip


PER_AGENT = {
    "Cooperation rate": ("cooperation_rate", percent),
    "Retaliation rate": ("retaliation_rate", percent),
    "Forgiveness rate": ("forgiveness_rate", percent),
    "Payoff gap (opponent minus own)": ("exploitability_payoff_gap", signed),
}  # fmt: skip


def charts(lines: list[dict], seats: dict[str, str]) -> None:
    """Actions by round, and points so far."""
    st.subheader("Actions by round")
    drawn(
        action_chart(data.timeline(window(lines), seats)),
        "Actions by round of agents A and B",
    )
    st.subheader("Cumulative payoffs")
    drawn(
        points_chart(data.cumulative(lines, seats), list(seats.values())),
        "Points so far by round, agent A solid and agent B dashed",
    )


def points_chart(frame, names: list[str]) -> dict:
    """Points so far by round."""
    legend = {
        "orient": "top",
        "direction": "vertical",
        "title": None,
        "symbolStrokeWidth": 2,
        "labelLimit": 300,
    }
    line = {
        "data": {"values": frame.to_dict("records")},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": {
                "field": "round",
                "type": "quantitative",
                "scale": {"nice": False, "zero": False},
                "axis": {"tickMinStep": 1, "tickCount": 8, "grid": False},
            },
            "y": {"field": "points", "type": "quantitative", "title": "points so far"},
            "color": {
                "field": "agent",
                "type": "nominal",
                "legend": legend,
                "scale": {"domain": names, "range": [colour(x) for x in AGENTS]},
            },
            "strokeDash": {
                "field": "agent",
                "type": "nominal",
                "legend": legend,
                "scale": {"domain": names, "range": [[1, 0], [6, 4]]},
            },
            "tooltip": [{"field": name} for name in ("round", "agent", "points")],
        },
    }
    return chart([line], 240, colour)


def window(lines: list[dict]) -> list[dict]:
    """The rounds that the timeline shows; a slider where there are many."""
    if len(lines) <= WINDOW:
        return lines
    first = st.slider(
        "First round shown", 1, len(lines) - WINDOW + 1, 1, key="first_round"
    )
    return lines[first - 1 : first - 1 + WINDOW]


def action_chart(frame) -> dict:
    """A tile a round and seat, C above D; a flipped action has an outline."""
    frame = frame.assign(seat=frame["agent"].str[0])
    seen = [action for action in ACTIONS if action in set(frame["action"])]
    tiles = {
        "data": {"values": frame.to_dict("records")},
        "mark": {"type": "rect", "strokeWidth": 1.5},
        "encoding": {
            "x": {
                "field": "round",
                "type": "ordinal",
                "title": "round",
                "axis": {"labelOverlap": True, "labelAngle": 0},
            },
            "y": {"field": "seat", "type": "nominal", "title": None},
            "yOffset": {"field": "action", "sort": list(ACTIONS)},
            "color": {
                "field": "action",
                "type": "nominal",
                "scale": {"domain": seen, "range": [colour(ACTIONS[x]) for x in seen]},
                "legend": {"orient": "top", "title": None},
            },
            "stroke": {
                "condition": {"test": "datum.flipped", "value": colour("ink")},
                "value": "transparent",
            },
            "tooltip": [
                {"field": x} for x in ("round", "agent", "action", "flipped", "points")
            ],
        },
    }
    return chart([tiles], 150, colour)


def footer(manifest: dict, matches: list) -> None:
    """The same words as at the foot of every report."""
    st.divider()
    config = manifest["config"]["conditions"]
    simulated = {is_simulated(config[m.condition]) for m in matches}
    stamp = (
        f"{'partly ' if len(simulated) > 1 else ''}{SIMULATED} · "
        if True in simulated
        else ""
    )
    named = (
        f"{name} {cell(value)}" for name, value in identity(manifest, matches).items()
    )
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
    with st.expander(
        "System prompt" if kind == "prompts" else "System prompt (SHA-256)"
    ):
        st.code(line[kind]["system"][seat], language=None, wrap_lines=True)
    raw = (line.get("raw_responses") or {}).get(seat)
    for i, attempt in enumerate(line["attempts"][seat]):
        read = attempt["action"] or f"invalid: {attempt['problem']}"
        st.markdown(f"Attempt {i + 1}: **{cell(read)}**")
        prompt = (
            line[kind]["round"][seat]
            if i == 0
            else (attempt.get("prompt") or attempt.get("prompt_sha256"))
        )
        left, right = st.columns([3, 2])
        note("Prompt" if kind == "prompts" else "Prompt (SHA-256)", left)
        left.code(prompt, language=None, wrap_lines=True)
        note("Raw answer", right)
        right.code(raw[i] if raw else "(not stored)", language=None, wrap_lines=True)


main()
