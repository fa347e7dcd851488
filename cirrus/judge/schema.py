"""The shape of every tournament artifact, in one table: checked on writing and on reading.

`ARTIFACTS` names the files; each field has a kind and a sentence. `docs/artifacts.md` is this
table in prose (`python3 -m cirrus.judge.schema` prints it).
"""

import json
import re
from pathlib import Path
from typing import Any

from cirrus.ask import game
from cirrus.ask.bulletins import FOLDERS, LEVELS, MEANING, TELLS
from common import UsageError, artifacts
from common.artifacts import (
    FLAG,
    NAME,
    NUMBER,
    OBJECT,
    TEXT,
    Kind,
    is_number,
    list_of,
    map_of,
    maybe,
    one_of,
    plain,
    read_bytes,
    record,
    sometimes,
    whole,
)

ORDINAL, COUNT = whole(1), whole(0)
USD = plain("dollars", lambda v: is_number(v) and v >= 0)
POWER = plain("a number from 0.9 to 1.1",
            lambda v: is_number(v) and game.POWER_MIN <= v <= game.POWER_MAX)
HASH = plain("a SHA-256", lambda v: isinstance(v, str) and len(v) == 64 and set(v) <= HEX)
HEX = frozenset("0123456789abcdef")
STATUS = plain("one of " + ", ".join(game.STATUSES), lambda v: v in game.STATUSES)
POLICY_STATUSES = ("ok", "short", "long", "refused", "truncated", "empty", "blocked",
                   "provider_error", "not_run")


# --- the table ---------------------------------------------------------------------------------

TOGGLES = record(**{factor: (one_of(*levels), MEANING[factor])
                    for factor, levels in LEVELS.items()})
TOKENS = record(
    prompt=(maybe(COUNT), "tokens read, as billed; null where the server does not say"),
    output=(maybe(COUNT), "tokens written, reasoning included"),
    reasoning=(maybe(COUNT), "of these, spent on reasoning"),
    truncated=(FLAG, "whether the output limit cut the text off"))
MARKERS = record(**{name: (FLAG, f"whether the policy holds a pattern of this family: {name}")
                    for name in ("acausal", "benchmark_terms", "compliance", "reciprocity",
                                 "utilitarian")})
DOMAIN = (plain("a domain's name", lambda v: v in tuple(FOLDERS)), "the scenario, such as cvd")
SIMULATED = (FLAG, "true: respondents of this project answered, no model")

BESIDE = {"reasoning": (sometimes(TEXT), "what the model thought first, where the server shows it"),
          "quantization": (sometimes(NAME), "the precision that its upstream was pinned to")}

STRATEGIES = list_of(record(
    round=(ORDINAL, "number of the round"),
    anon_id=(HASH, "the agent's name in this round: SHA-256 of the round's salt and `agent`"),
    agent=(NAME, "stable id, the same in every round and run"),
    domain=DOMAIN,
    model_strategy=(NAME, "the model that was asked"),
    served_model=(maybe(NAME), "the model that answered, as the server says"),
    provider=(maybe(NAME), "the upstream that answered"),
    policy=(TEXT, "the declared policy as written, kept whatever its length"),
    policy_id=(NAME, "id of the request; games name it"),
    policy_status=(one_of(*POLICY_STATUSES), "ok: 3 to 5 lines; short, long: another length; "
                   "else why there is none"),
    markers=(MARKERS, "pattern families found in the policy"),
    tokens=(TOKENS, "what it took"),
    cost_usd=(maybe(USD), "dollars; null where nobody knows"),
    **BESIDE,
    reasoning_markers=(sometimes(MARKERS), "pattern families found in `reasoning`"),
    bulletin=(NAME, "id of the bulletin that was read"),
    variant=(NAME, "id of the variant that filled it"),
    transcript_path_gz=(TEXT, "this agent's transcript of the round, relative to the run's "
                        "folder"),
    simulated=SIMULATED))

ANSWER = record(
    status=(STATUS, "how the answer was read; ok: exactly one of the two options"),
    text=(maybe(TEXT), "the answer as given; null of a baseline"),
    policy_id=(maybe(NAME), "the declared policy that this side saw; null of a baseline"),
    model=(maybe(NAME), "the model that was asked; null of a baseline"),
    served_model=(maybe(NAME), "the model that answered, as the server says"),
    provider=(maybe(NAME), "the upstream that answered"),
    tokens=(TOKENS, "what it took"),
    cost_usd=(maybe(USD), "dollars; null where nobody knows; 0 of a baseline"),
    **BESIDE)
GAME = record(
    id=(NAME, "id of the encounter; its two requests end in /a and /b, in the order of `pair`"),
    pair=(list_of(HASH, 2), "the two agents, by their names in this round"),
    encounter=(ORDINAL, "1 for the pair's first meeting of the round"),
    first_encounter=(FLAG, "whether it is that"),
    baseline=(FLAG, "whether a baseline takes part: never in the primary analysis"),
    labels=(record(left=(NAME, "the option shown first"), right=(NAME, "the option shown second")),
            "the options as both sides were shown them"),
    label_scheme=(one_of("L1", "L2", "L3"), "L1: the words; L2: Option A is the cooperative act; "
                  "L3: Option B is"),
    order=(one_of("cooperative-first", "other-first"), "which act stands first"),
    decision=(map_of(maybe(NAME), "anon_id"), "the act chosen, by its canonical word whatever the "
              "label; null where none could be read"),
    raw_payoffs=(maybe(map_of(NUMBER, "anon_id")), "T, R, P or S; null without two readable "
                 "decisions"),
    power_after=(map_of(POWER, "anon_id"), "power after the wave of this encounter"),
    parse_status=(STATUS, "the worse of the two statuses"),
    answers=(map_of(ANSWER, "anon_id"), "each side's answer"))
AGENT = record(
    id=(NAME, "stable id"),
    baseline=(maybe(one_of(*game.BASELINES)), "its rule, or null of a model"),
    model_strategy=(maybe(NAME), "who writes its policies"),
    model_decision=(maybe(NAME), "who decides"))
GAMES = record(
    round=(ORDINAL, "number of the round"), domain=DOMAIN, toggles=(TOGGLES, "the run's cell"),
    bulletin=(NAME, "id of the bulletin"), variant=(NAME, "id of the variant"),
    history_mode=(one_of("standard", "off"), "whether a pair sees its earlier encounters"),
    tells=(one_of(*TELLS), "wording of prompts and cues"),
    variants=(one_of("main", "holdout"), "the pool the variant is from"),
    seed=(COUNT, "seed of the run"), simulated=SIMULATED,
    agents=(map_of(AGENT, "anon_id"), "who is who in this round"),
    games=(list_of(GAME), "every game, wave by wave in schedule order"))

COUNTS = map_of(COUNT, "name")
MANIFEST = record(
    artifact=(one_of("acausal_manifest"), "what this file is"),
    schema=(one_of(1), "version of these shapes"),
    version=(NAME, "version of the project"),
    run=(NAME, "the run's name by design; request ids begin with it"),
    simulated=SIMULATED,
    complete=(FLAG, "whether every call has an answer"),
    config=(OBJECT, "everything that was chosen; max_out is what was asked for, "
            "max_out_configured what the file says"),
    config_sha256=(HASH, "of `config` as canonical JSON"),
    prompts=(map_of(HASH, "file"), "prompt files that were read"),
    prompts_sha256=(HASH, "of `prompts` as canonical JSON"),
    code_sha256=(HASH, "of the code's hashes in manifest.json as canonical JSON"),
    prereg_sha256=(maybe(HASH), "hash of the preregistration the run was made under"),
    provider=(NAME, "simulated, or the server's address"),
    payoffs=(record(**dict.fromkeys("TRPS", (NUMBER, ""))), "of one game"),
    eta=(NUMBER, "step of the power update"),
    salts=(map_of(TEXT, "round"), "32 hex digits a round"),
    agents=(list_of(AGENT), "in the order of their ids"),
    rounds=(list_of(record(
        round=(ORDINAL, "number"), bulletin=(NAME, "id"), variant=(NAME, "id"),
        games=(COUNT, "games in the schedule"), played=(COUNT, "games with payoffs"))),
        "what each round was about"),
    outcomes=(map_of(COUNTS, "stage"), "calls by outcome"),
    statuses=(map_of(COUNTS, "policy, decision, game"), "answers by how they were read"),
    served=(map_of(COUNTS, "model"), "answers by the model that gave them"),
    upstreams=(map_of(COUNTS, "model"), "answers by upstream"),
    tokens=(map_of(record(prompt=(COUNT, "read"), output=(COUNT, "written"),
                          reasoning=(COUNT, "of these")), "stage"), "sums over known values"),
    cost=(record(usd=(USD, "sum over known costs"), unknown=(COUNT, "answers of unknown cost"),
                 charged_usd=(USD, "charged to the budget, failed attempts included"),
                 by_stage=(map_of(USD, "stage"), "of `usd`")), "dollars"),
    standings=(list_of(record(id=(NAME, "agent"), power=(POWER, "at the end"),
                              score=(NUMBER, "sum of ln(1+power·payoff)"),
                              games=(COUNT, "with payoffs"))), "at the end of the run"))

# file name (N: number of the round) → (shape, what it is)
ARTIFACTS: dict[str, tuple[Kind, str]] = {
    "strategies_r{N}.json": (STRATEGIES, "Every policy of round N."),
    "round_{N}_games.json": (GAMES, "Every game of round N."),
    "acausal_manifest.json": (MANIFEST, "What was run, and what it came to."),
}
TRANSCRIPT = re.compile(r"transcripts/r\d+/[0-9a-f]{64}\.txt\.gz")
_NAMES = {re.compile(re.escape(name).replace(r"\{N\}", r"\d+")): kind
          for name, (kind, _) in ARTIFACTS.items()}


def kind_of(name: str) -> Kind | None:
    """The shape of the artifact of this file name; None where it is none."""
    return next((kind for pattern, kind in _NAMES.items() if pattern.fullmatch(name)), None)


def owned(name: str) -> bool:
    """Whether only a derived file may have this name."""
    return kind_of(name) is not None or TRANSCRIPT.fullmatch(name) is not None


def check(name: str, value: Any, where: str = "") -> Any:
    """`value` where it has the shape of artifact `name`; UsageError names file, field, value."""
    return artifacts.check(kind_of(name), value, where or name,
                           "derive it again, or restore it from a copy")


def load(path: Path) -> Any:
    """An artifact read back and checked."""
    try:
        value = json.loads(read_bytes(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path}: not JSON ({error}); restore it from a copy") from None
    return check(Path(path).name, value, str(path))


# --- in prose ----------------------------------------------------------------------------------

def prose() -> str:
    """The table as Markdown: one section a file, one row a field."""
    parts = []
    for name, (kind, says) in ARTIFACTS.items():
        parts += [f"## `{name}`\n", says + "\n", "| field | kind | meaning |", "|---|---|---|"]
        parts += [f"| `{path}` | {words.replace('|', '/')} | {text} |"
                  for path, words, text in _rows(kind, "")]
        parts.append("")
    return "\n".join(parts)


def _rows(kind: Kind, prefix: str):
    for name, field in (kind.fields or {}).items():
        yield f"{prefix}{name}", field.kind.words, field.says
        yield from _rows(field.kind, f"{prefix}{name}.")


if __name__ == "__main__":
    print(prose(), end="")
