"""Prompts: files with `str.format` placeholders → the exact text a model is sent."""

from string import Formatter
from typing import NamedTuple

from pdbench.config.schema import Game, Horizon, LLMSpec
from pdbench.core.payoff import seat_table
from pdbench.core.transcript import Observation, history_text, totals_text
from pdbench.core.types import ConfigError, Seat

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


def check_prompts(
    prompts: Prompts, spec: LLMSpec, system_name: str, round_name: str
) -> None:
    """ConfigError where a placeholder is unknown, or one that the configuration needs is missing."""
    used = placeholders(prompts.system, STATIC, system_name)
    used |= placeholders(prompts.round, STATIC | PER_ROUND, round_name)
    needed = {"payoff_table", "output_instruction"}
    if prompts.persona:
        needed.add("persona")
    if spec.prompting.history_window:
        needed.add("history")
    if spec.prompting.include_totals:
        needed.add("totals")
    missing = sorted(needed - used)
    if missing:
        raise ConfigError(
            f"{round_name}: placeholder {{{missing[0]}}} is missing (here or in"
            f" {system_name}); the configuration asks for it"
        )


def placeholders(text: str, allowed: set[str], where: str) -> set[str | None]:
    """The placeholders used in `text`, and None for its end; a malformed or unknown one is a ConfigError."""
    try:
        text.format(**dict.fromkeys(allowed, ""))
    except KeyError as error:
        known = ", ".join(sorted(allowed))
        name = f"{{{error.args[0]}}}"
        raise ConfigError(
            f"{where}: unknown placeholder {name}; known: {known}"
        ) from None
    except (ValueError, IndexError, AttributeError) as error:
        hint = "write {{ and }} for braces that are meant as such"
        raise ConfigError(f"{where}: malformed placeholder: {error}; {hint}") from None
    return {name for _, name, _, _ in Formatter().parse(text)}


def static_values(
    prompts: Prompts, spec: LLMSpec, game: Game, horizon: Horizon, seat: Seat
) -> dict[str, str]:
    """The placeholders that stay the same through a match."""
    return {
        "payoff_table": _payoff_text(game, seat),
        "horizon": _horizon_text(horizon, spec.prompting.reveal_horizon),
        "noise": _noise_text(game.noise),
        "persona": prompts.persona.strip(),
        "output_instruction": INSTRUCTIONS[spec.output.format],
    }


def _payoff_text(game: Game, seat: Seat) -> str:
    """The payoff table from one seat, a line an outcome."""
    lines = []
    for pair, (own, other) in seat_table(game.payoffs.matrix(), seat).items():
        mine, theirs = list(pair)
        lines.append(
            f"- You play {mine}, the other player plays {theirs}:"
            f" you get {own:g}, the other player gets {other:g}."
        )
    return "\n".join(lines)


def _horizon_text(horizon: Horizon, reveal: bool) -> str:
    if not reveal:
        return "You don't know how many rounds there will be."
    if horizon.type == "fixed":
        return f"There will be exactly {horizon.n} rounds."
    return f"After each round the match ends with probability {horizon.stop_prob:g}."


def _noise_text(noise: float) -> str:
    if not noise:
        return ""
    return (
        f"With probability {noise:g}, an action is flipped before it counts;"
        " what is reported is what counted."
    )


def round_values(spec: LLMSpec, obs: Observation) -> dict[str, str]:
    """The placeholders that change from round to round."""
    totals = totals_text(obs) if spec.prompting.include_totals else ""
    return {
        "round_number": str(obs.round_index + 1),
        "history": history_text(obs, spec.prompting.history_window),
        "totals": totals,
    }


def tidy(text: str) -> str:
    """Without the blank lines that an empty placeholder leaves."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        follows_blank = bool(lines) and not lines[-1]
        if line.strip() or not follows_blank:
            lines.append(line.rstrip())
    return "\n".join(lines)


def correction(prompt: str, problem: str | None, attempt: int, instruction: str) -> str:
    """The round's prompt again, with a brief correction after an invalid answer."""
    why = f"Your answer number {attempt} could not be read ({problem})."
    return f"{prompt}\n\n{why} {instruction}"
