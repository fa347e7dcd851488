"""Prompts: files with `str.format` placeholders → the exact text a model is sent."""

from string import Formatter
from typing import NamedTuple

from pdbench.config.schema import Game, Horizon, LLMSpec
from pdbench.core.payoff import seat_table
from pdbench.core.transcript import history_text, totals_text
from pdbench.core.types import ConfigError, Observation, Seat

STATIC = {"payoff_table", "horizon", "noise", "persona", "output_instruction"}
PER_ROUND = {"round_number", "history", "totals"}

INSTRUCTIONS = {
    "token": "Answer with exactly one letter, C or D, and nothing else.",
    "json": 'Answer with exactly {"action": "C"} or {"action": "D"}, and nothing else.',
}


class Prompts(NamedTuple):
    """The texts of an agent's prompt files."""

    system: str
    round: str
    persona: str


def check_template(text: str, allowed: set[str], where: str) -> set[str]:
    """The placeholders used in `text`; a malformed or unknown one is a ConfigError."""
    try:
        parts = [(name, spec, conv) for _, name, spec, conv in Formatter().parse(text)]
    except ValueError as error:
        hint = "write {{ and }} for braces that are meant as such"
        raise ConfigError(f"{where}: malformed placeholder: {error}; {hint}") from None
    used = {name for name, _, _ in parts if name is not None}
    if bad := sorted(used - allowed):
        known = ", ".join(sorted(allowed))
        raise ConfigError(f"{where}: unknown placeholder {{{bad[0]}}}; known: {known}")
    if any(spec or conv for _, spec, conv in parts):
        raise ConfigError(f"{where}: placeholders take no format, write {{name}} alone")
    return used


def check_prompts(
    prompts: Prompts, spec: LLMSpec, system_name: str, round_name: str
) -> None:
    """Raise a ConfigError where something that the agent is configured to see has no place."""
    used = check_template(prompts.system, STATIC, system_name)
    in_round = check_template(prompts.round, STATIC | PER_ROUND, round_name)
    needed = {
        "payoff_table": True,
        "output_instruction": True,
        "persona": bool(prompts.persona),
        "history": spec.prompting.history_window > 0,
        "totals": spec.prompting.include_totals,
    }
    for name, wanted in needed.items():
        if wanted and name not in used | in_round:
            raise ConfigError(
                f"{round_name}: placeholder {{{name}}} is missing (here or in the"
                f" system prompt); the configuration asks for it"
            )


def payoff_text(game: Game, seat: Seat) -> str:
    """The payoff table from one seat, a line an outcome."""
    table = seat_table(game.payoffs.matrix(), seat)
    return "\n".join(
        f"- You play {pair[0]}, the other player plays {pair[1]}: "
        f"you get {own:g}, the other player gets {other:g}."
        for pair, (own, other) in table.items()
    )


def static_values(
    prompts: Prompts, spec: LLMSpec, game: Game, horizon: Horizon, seat: Seat
) -> dict[str, str]:
    """The placeholders that stay the same through a match."""
    return {
        "payoff_table": payoff_text(game, seat),
        "horizon": _horizon_text(horizon)
        if spec.prompting.reveal_horizon
        else "You don't know how many rounds there will be.",
        "noise": f"With probability {game.noise:g}, an action is flipped before it counts; "
        "what is reported is what counted."
        if game.noise
        else "",
        "persona": prompts.persona.strip(),
        "output_instruction": INSTRUCTIONS[spec.output.format],
    }


def _horizon_text(horizon: Horizon) -> str:
    if horizon.type == "fixed":
        return f"There will be exactly {horizon.n} rounds."
    return f"After each round the match ends with probability {horizon.stop_prob:g}."


def round_values(spec: LLMSpec, obs: Observation) -> dict[str, str]:
    """The placeholders that change from round to round."""
    return {
        "round_number": str(obs.round_index + 1),
        "history": history_text(obs, spec.prompting.history_window),
        "totals": totals_text(obs) if spec.prompting.include_totals else "",
    }


def tidy(text: str) -> str:
    """Without the blank lines that an empty placeholder leaves."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines)


def correction(prompt: str, problem: str, attempt: int, instruction: str) -> str:
    """The round's prompt again, with a brief correction for the attempt after an invalid one."""
    return (
        f"{prompt}\n\nYour answer number {attempt} could not be read ({problem}). "
        f"{instruction}"
    )
