"""What all scripts share: flags and their help, the choice of a provider, --json, exit
codes, and the progress line."""

import argparse
import json
import os
import re
import shutil
import signal
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlsplit

from common import (
    COMPLETE,
    EFFORTS,
    INCOMPLETE,
    INTERRUPTED,
    KEY_VARIABLE,
    UNEXPECTED,
    USAGE,
    Stop,
    UsageError,
)
from common.artifacts import canonical_json
from common.server import OPENROUTER, check_base_url, redacted
from common.shape import near_to, nearest

ADDRESS_VARIABLE = "OPENROUTER_BASE_URL"
SETTINGS = (KEY_VARIABLE, ADDRESS_VARIABLE)
SETTING = re.compile(r"\s*(?:export\s+)?(OPENROUTER_\w*)\s*=(.*)")  # in a .env
# A model's name that can stand in a command as it is; others are left for the reader to type.
TYPED = re.compile(r"[\w./:@-]+").fullmatch
AT_ONCE = set(map(str, range(1, 513)))  # numbers of calls, as text
ROOT = Path(__file__).resolve().parents[1]

EXIT_CODES = """exit codes: 0 complete · 1 unexpected error · 2 wrong usage or configuration ·
3 incomplete, resumable · 4 budget · 5 the provider refused every model ·
6 complete, and no decision can be read · 130 interrupted"""

WIDTH = 80  # of a terminal
# What stands before a command's name, where the scripts are commands of one program.
program = ""


def wrapped(text: str, width: int = WIDTH, indent: str = "    ") -> str:
    """Break a text into lines that fit a terminal, without breaking a path."""
    return textwrap.fill(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Help(argparse.RawDescriptionHelpFormatter):
    """The layout of --help: each flag begins a line of its own and no word is broken,
    because people scan the list and shells complete from it."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width, "").splitlines()


class Parser(argparse.ArgumentParser):
    """An argument parser that reports wrong usage as a UsageError: one line, also under
    --json."""

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        for text in args or ():
            if re.fullmatch(
                r"--[\w-]+=--", text
            ):  # Python 3.11 to 3.13 read it as an empty list
                self.error(f"{text[:-3]}: '--' is no value")
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        known = [flag for flag in self._option_string_actions if flag.startswith("--")]
        unknown = re.search(r"unrecognized arguments: .*?(--[^\s=]+)", message)
        near = near_to(unknown[1], known) if unknown else ""
        raise UsageError(f"{message}; {near or f'{self.prog} --help lists the flags'}")


def parser(
    head: str, examples: str, operands: str = "", exits: str = EXIT_CODES
) -> argparse.ArgumentParser:
    """Return a parser. Its help opens with `head`, which says what the script does, and
    closes with `examples`, commands to copy. `operands` are the arguments before the
    flags, such as "RUN…"."""
    name = Path(sys.argv[0]).name
    if program:
        name = as_typed(f"python3 {name}")
    words = "%(prog)s", operands, "[flags]"
    return Parser(
        prog=name,
        usage=" ".join(filter(None, words)),
        description=wrapped(head, indent=""),
        epilog=f"examples:\n{as_typed(examples)}\n\n{exits}",
        allow_abbrev=False,
        formatter_class=partial(Help, max_help_position=30),
    )


Add = Callable[..., Any]  # `add_argument` of a group


def add_call_flags(
    flags: argparse.ArgumentParser, out: str | None, config: str
) -> tuple[Add, Add]:
    """Add the flags that every script has which calls a model. Return two functions
    that add a flag: one to the group of the design, one to the group of the files."""
    add = flags.add_argument_group("who answers").add_argument
    add(
        "--provider",
        metavar="NAME",
        choices=("auto", "openrouter", "simulated"),
        default="auto",
        help="auto, openrouter or simulated (default auto: openrouter where "
        f"{KEY_VARIABLE} or an address is given, else simulated)",
    )
    add(
        "--base-url",
        metavar="URL",
        help="an OpenAI-compatible server, such as http://127.0.0.1:8080/v1 (else "
        f"{ADDRESS_VARIABLE})",
    )
    add(
        "--upstream",
        metavar="NAME",
        help="ask this upstream of OpenRouter and allow no other",
    )
    add(
        "--go-on",
        action="store_true",
        help="ask models too whose warm-up answers cannot be read",
    )
    add(
        "--models",
        metavar="A,B",
        help="models, or simulated respondents, separated by commas",
    )
    design = flags.add_argument_group("the design").add_argument
    design(
        "--seed",
        type=int,
        metavar="N",
        help="seed of everything that is drawn (default 42)",
    )
    design(
        "--effort",
        metavar="LEVEL",
        choices=("default", *EFFORTS),
        help=f"reasoning: default (nothing is sent), {', '.join(EFFORTS)}",
    )
    design(
        "--temperature",
        metavar="T",
        type=temperature,
        help="sampling temperature, 0 to 2; default: none is sent",
    )
    add = flags.add_argument_group("cost and speed").add_argument
    add(
        "--dry-run",
        action="store_true",
        help="design, calls and projected cost; write nothing, ask nothing",
    )
    add(
        "--limit-usd",
        type=float,
        metavar="USD",
        help="no call is sent that could pass it",
    )
    add("--concurrency", metavar="N", help="calls at once, or strategy=6,decision=8")
    files = flags.add_argument_group("files and output").add_argument
    files("--config", metavar="FILE", default=config, help="JSON, strictly checked")
    files("--prompts", metavar="DIR", help="prompts of your own, in a copy of prompts/")
    files(
        "--out",
        metavar="DIR",
        default=out,
        help=f"folder of the runs (default {out or 'that of the analysis'})",
    )
    files(
        "--run-id",
        metavar="ID",
        help="name of the run's folder (default from the design)",
    )
    add_json_flag(files)
    return design, files


def add_examples_flag(add: Add, before: str) -> None:
    """Add --examples, for the scripts that have it."""
    add(
        "--examples",
        type=int,
        metavar="0|4",
        choices=(0, 4),
        default=0,
        help=f"4: filled-in forms on other matters stand before the {before} (default 0: none)",
    )


def add_json_flag(add: Add) -> None:
    """Add --json, with the same help in every script."""
    add(
        "--json", action="store_true", help="one JSON object on stdout and nothing else"
    )


def names(text: str | None) -> list[str] | None:
    """Split "a,b" into ["a", "b"]; None stays None. Raise UsageError if some of its
    bytes are no text."""
    if text is None:
        return None
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise UsageError(
            f"{text[:60]!a}: not UTF-8; no server knows a name of such bytes"
        )
    return [name.strip() for name in text.split(",") if name.strip()]


def concurrency(text: str | None, defaults: Mapping[str, int]) -> dict[str, int]:
    """Return {stage: calls at once}, read from "8" or from "strategy=6,decision=8"."""
    limits = dict(defaults)
    for part in names(text) or ():
        stage, _, value = part.rpartition("=")
        if value not in AT_ONCE or stage not in ("", *limits):
            forms = [f"{name}=N" for name in limits]
            raise UsageError(
                f"--concurrency: {part!r} is no number from 1 to 512, or "
                f"{' or '.join(forms)}"
            )
        for name in [stage] if stage else limits:
            limits[name] = int(value)
    return limits


def temperature(text: str) -> float | str:
    """Return a temperature: a number, or "default"."""
    return text if text == "default" else float(text)


def _env_file(path: Path) -> dict[str, str]:
    """Return {name: value} of the OPENROUTER_… lines of a `.env` file. Raise UsageError
    for a name that this project does not use."""
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8", errors="replace")
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        setting = SETTING.match(line)
        if setting is None:
            continue
        name, value = setting.groups()
        if name not in SETTINGS:
            advice = nearest(name, SETTINGS)
            raise UsageError(f"{path} line {number}: {name}: no such setting; {advice}")
        values[name] = value.strip().strip("'\"")
    return values


def setting(name: str) -> str:
    """Return a setting: from the environment, or else from `.env` in the current
    folder, or else from `.env` beside the scripts. It is "" if none of them has it."""
    value = os.environ.get(name)
    if value is None:
        settings = _env_file(ROOT / ".env") | _env_file(Path(".env"))
        value = settings.get(name, "")
    return value.strip()


def api_key() -> str:
    """Return the provider's key, or "" if there is none."""
    return setting(KEY_VARIABLE)


def host_of(address: str) -> str:
    """Return the host of an address that has been checked."""
    return urlsplit(address).hostname or ""


class Choice(NamedTuple):
    """Which provider answers. `address` is its base URL, or "" if the answers are
    simulated."""

    simulated: bool
    address: str
    key: str


def choose(provider: str, base_url: str | None) -> Choice:
    """Return the provider that the flags and the environment name."""
    if base_url and provider == "simulated":
        raise UsageError(
            "--base-url: simulated respondents need no server; leave it out"
        )
    key, base_url = api_key(), base_url or setting(ADDRESS_VARIABLE)
    nobody = provider == "auto" and not key and not base_url
    if nobody or provider == "simulated":
        return Choice(True, "", "")
    if not re.fullmatch(r"[!-~]*", key):
        raise UsageError(
            f"{KEY_VARIABLE}: holds a space, a line break or another character "
            "that no key has; set it anew"
        )
    return Choice(False, check_base_url(base_url or OPENROUTER), key)


# --- how a script ends -------------------------------------------------------------------------

NOTES = 8  # shown of what was noticed


class Done(NamedTuple):
    """How a script ended. --json prints `facts`; people get `text`. `error` goes to
    stderr in both cases: one line, or one line for each run."""

    code: int
    facts: Mapping[str, Any]
    text: str = ""
    error: str = ""


def run(
    main: Callable[[Sequence[str]], Done],
    argv: Sequence[str],
    machine: bool | None = None,
    resumes: bool = True,
) -> None:
    """Run `main` and leave the process with its exit code.

    If `machine` is True, stdout gets one JSON object whatever happens; None means that
    --json decides (but --help is always for people). `resumes` tells whether the same
    command continues where it stopped.
    """
    _heed_signals()
    _open_streams()
    machine = "--json" in argv if machine is None else machine
    machine = machine and not {"-h", "--help"} & set(argv)
    # What `main` prints goes to stderr, so that stdout holds the object alone.
    with redirect_stdout(sys.stderr) if machine else nullcontext():
        done = conclude(main, argv, resumes)
    sys.exit(tell(done, machine))


def _heed_signals() -> None:
    """Let SIGTERM and SIGHUP end a script as Ctrl-C does. A shell starts background
    commands with SIGINT ignored, so without this some processes of a run would stop and
    others would not."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, signal.default_int_handler)


def _open_streams() -> None:
    """Set stdout and stderr to UTF-8, whatever the system uses. A stream that the
    caller has closed is replaced by one that discards."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
            setattr(sys, name, nowhere)
        getattr(sys, name).reconfigure(encoding="utf-8", errors="backslashreplace")


def conclude(
    main: Callable[[Sequence[str]], Done], argv: Sequence[str], resumes: bool
) -> Done:
    """Return what `main` returns, or, if it raises, the `Done` that describes the
    error."""
    try:
        return main(argv)
    except Stop as stop:
        return Done(stop.code, {}, error=error_line(stop))
    except KeyboardInterrupt:
        hint = ": the journal is intact, the same command resumes" if resumes else ""
        return Done(INTERRUPTED, {}, error=f"interrupted{hint}")
    except BrokenPipeError:
        _nobody_reads()
        return Done(COMPLETE, {})
    except OSError as error:
        fault = error.strerror or str(error)
        if error.filename:
            fault = f"{error.filename}: {fault}"
        if not resumes:
            return Done(USAGE, {}, error=fault)
        hint = "what was journalled is kept, the same command resumes"
        return Done(INCOMPLETE, {}, error=f"{fault}; {hint}")
    except Exception as error:
        # The traceback quotes the error, which may quote a server.
        sys.stderr.write(_without_key(printable(traceback.format_exc())))
        return Done(UNEXPECTED, {}, error=f"unexpected {type(error).__name__}: {error}")


def unfinished(complete: Iterable[bool]) -> str:
    """Return the error line of a study whose runs are not all complete, or "" if they
    are."""
    complete = list(complete)
    left = complete.count(False)
    if not left:
        return ""
    return (
        f"{left} of {len(complete)} runs are unfinished; the command that made them "
        "resumes them"
    )


def note(lines: Sequence[str]) -> None:
    """Print to stderr what was noticed on the way: the first few lines, and how many
    more there are."""
    shown, more = list(lines[:NOTES]), len(lines) - NOTES
    if more > 0:
        shown.append(f"and {more} more")
    for line in shown:
        print(f"note: {printable(line)}", file=sys.stderr)


def error_line(text: Stop | str | None) -> str:
    """Return a Stop or a text in the form of `Done.error`, or "" for None."""
    return " ".join(str(text or "").split())


def as_typed(text: str) -> str:
    """Return a text with its commands as this user types them: the examples assume a
    checkout."""
    if not program:
        return text

    def command(script: re.Match[str]) -> str:
        return f"{program} {script[1].replace('_', '-')}"

    # "python3 run_pilot.py" is "cirrus-bench pilot" where it is installed
    return re.sub(r"python3 (?:run_)?(\w+)\.py\b", command, text)


def tell(done: Done, machine: bool) -> int:
    """Print how the script ended, on stdout and stderr, and return the exit code."""
    error = as_typed(_without_key(printable(done.error))) or None
    for line in (error or "").splitlines():
        print(f"error: {line}", file=sys.stderr)
    try:
        if machine:
            facts = {**done.facts, "exit_code": done.code, "error": error}
            print(_without_key(_escaped(canonical_json(facts))))
        elif done.text:
            print(as_typed(_without_key(printable(done.text))))
        sys.stdout.flush()
    except BrokenPipeError:
        _nobody_reads()
    except OSError as problem:
        print(f"error: stdout: {problem.strerror or problem}", file=sys.stderr)
        _nobody_reads()
        return done.code or INCOMPLETE
    return done.code


def _nobody_reads() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _without_key(text: str) -> str:
    with suppress(UsageError):  # an unknown setting in .env, which was reported before
        return redacted(text, api_key())
    return text


def _escaped(text: str) -> str:
    """Write what a terminal would obey as \\u…, so that a line of JSON is safe to print;
    it reads back as the same value."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def printable(text: Any) -> str:
    """Return text from outside as a terminal may show it: without escape sequences and
    other control characters."""
    shown = [c if c.isprintable() or c in "\n\t" else "�" for c in str(text)]
    return "".join(shown)


# --- How far a run is: one live line on a terminal, grep-friendly key=value lines elsewhere ---

LIVE_EVERY_S = 0.1
LINE_EVERY_S = 10.0


class Progress:
    """The progress line. `Asker` calls it whenever something has happened; other work
    calls `show`. A line that comes too soon after the last is left out, except the
    final line, which stays on the screen."""

    def __init__(self, name: str) -> None:
        self.name, self.live = name, sys.stderr.isatty()
        self.started = time.monotonic()
        self.next = self.started + (0.0 if self.live else LINE_EVERY_S)

    def __call__(self, asker: Any, last: bool = False) -> None:
        """Show what an Asker has done so far."""
        if not last and time.monotonic() < self.next:
            return
        outcomes, money = asker.outcomes, asker.gate.money
        breakers = asker.gate.breakers
        paused = [name for name in breakers if breakers[name].state != "closed"]
        counted = [f"{name} {count}" for name, count in outcomes.most_common()]
        words = [" · ".join(counted)]
        pairs = {**outcomes, "retries": asker.retries, "paused": len(paused)}
        if asker.retries:
            words.append(f"retries {asker.retries}")
        if money.limit is not None:
            spent, projected = money.spent, money.projection()
            of_limit = f"${spent:.4f} of ${money.limit:g}"
            words.append(f"{of_limit} (projected ${projected:.4f})")
            pairs["spent_usd"] = f"{spent:.6f}"
            pairs["projected_usd"] = f"{projected:.6f}"
            pairs["limit_usd"] = money.limit
        if paused:
            words.append(f"paused, it fails: {', '.join(paused)}")
        done = sum(outcomes.values()) - outcomes["not_run"]
        self.show((done, asker.total, asker.earlier), words, pairs, last)

    def show(
        self,
        counts: tuple[int, int, int],
        words: Sequence[str],
        pairs: Mapping[str, Any],
        last: bool = False,
    ) -> None:
        """Show one line. `counts` are the units done, the units in all, and the units
        done by earlier starts. `words` are for people, `pairs` for programs. The time
        left is estimated from the pace of this start alone."""
        now, (done, total, earlier) = time.monotonic(), counts
        if not last and now < self.next:
            return
        self.next = now + (LIVE_EVERY_S if self.live else LINE_EVERY_S)
        eta_s = None
        if done > earlier:
            pace_s = (now - self.started) / (done - earlier)
            eta_s = round(pace_s * (total - done))
        if self.live:
            parts = [self.name, f"{done:,}/{total:,}"]
            if eta_s is not None and done < total:
                parts.append(f"ETA {timedelta(seconds=eta_s)}")
            width = shutil.get_terminal_size().columns - 1
            line = "  ".join([*parts, *words])[:width]
            end = "\n" if last else ""
            sys.stderr.write(f"\r{line}\x1b[K{end}")
        else:
            known = {"run": self.name, "done": done, "total": total, **pairs}
            if eta_s is not None:
                known["eta_s"] = eta_s
            shown = [f"{name}={value}" for name, value in known.items()]
            sys.stderr.write(f"progress {' '.join(shown)}\n")
        sys.stderr.flush()
