"""What every script has in common: flags and their help, provider, --json, exit code, progress."""

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
from contextlib import nullcontext, redirect_stdout
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
from common.openrouter import OPENROUTER, check_base_url, redacted
from common.shape import near_to

ADDRESS_VARIABLE = "OPENROUTER_BASE_URL"
# A model's name that can stand in a command as it is; others are left for the reader to type.
TYPED = re.compile(r"[\w./:@-]+").fullmatch
ROOT = Path(__file__).resolve().parents[1]

EXIT_CODES = """exit codes: 0 complete · 1 unexpected error · 2 wrong usage or configuration ·
3 incomplete, resumable · 4 budget · 5 the provider refused · 130 interrupted"""

WIDTH = 80  # of a terminal


def wrapped(text: str, width: int = WIDTH, indent: str = "    ") -> str:
    """Text in lines that fit a terminal; a path stays whole."""
    return textwrap.fill(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Help(argparse.RawDescriptionHelpFormatter):
    """Every flag begins a line of its own and no word is broken: people scan it, and shells
    complete from it."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width, "").splitlines()


class Parser(argparse.ArgumentParser):
    """Wrong usage is a UsageError: one line, and told under --json as everything else."""

    def parse_args(self, args=None, namespace=None):
        for text in args or ():
            if re.fullmatch(
                r"--[\w-]+=--", text
            ):  # Python 3.11 to 3.13 read it as an empty list
                self.error(f"{text[:-3]}: '--' is no value")
        return super().parse_args(args, namespace)

    def error(self, message: str):
        known = [flag for flag in self._option_string_actions if flag.startswith("--")]
        unknown = re.search(r"unrecognized arguments: .*?(--[^\s=]+)", message)
        near = near_to(unknown[1], known) if unknown else ""
        raise UsageError(f"{message}; {near or f'{self.prog} --help lists the flags'}")


def parser(
    head: str, examples: str, operands: str = "", exits: str = EXIT_CODES
) -> argparse.ArgumentParser:
    """A parser whose help opens with what the script does and closes with commands to copy.
    `operands`: what stands before the flags, such as "RUN…"."""
    return Parser(
        usage=" ".join(filter(None, ("%(prog)s", operands, "[flags]"))),
        description=wrapped(head, indent=""),
        epilog=f"examples:\n{examples}\n\n{exits}",
        allow_abbrev=False,
        formatter_class=partial(Help, max_help_position=30),
    )


Add = Callable[..., Any]  # `add_argument` of a group


def add_call_flags(
    flags: argparse.ArgumentParser, out: str | None, config: str
) -> tuple[Add, Add]:
    """The flags of every script that calls a model; (add to the design's, add to the files')."""
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
        "--pin",
        metavar="SLUG",
        help="ask one upstream a model: auto (the highest precision), or its name on OpenRouter",
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
        metavar="NAME",
        choices=EFFORTS,
        help=f"reasoning: {', '.join(EFFORTS)} (default: the least that a model takes)",
    )
    design(
        "--temperature", type=float, metavar="T", help="sampling temperature, 0 to 2"
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
    """--examples, of the scripts that have it."""
    add(
        "--examples",
        type=int,
        metavar="0|4",
        choices=(0, 4),
        default=0,
        help=f"4: filled-in forms on other matters stand before the {before} (default 0: none)",
    )


def add_json_flag(add: Add) -> None:
    """--json, the same words everywhere."""
    add(
        "--json", action="store_true", help="one JSON object on stdout and nothing else"
    )


def names(text: str | None) -> list[str] | None:
    """ "a,b" → ["a", "b"]; None stays None. UsageError where bytes of it are no text."""
    if text is None:
        return None
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise UsageError(
            f"{text[:60]!a}: not UTF-8; no server knows a name of such bytes"
        )
    return [name.strip() for name in text.split(",") if name.strip()]


def concurrency(text: str | None, defaults: Mapping[str, int]) -> dict[str, int]:
    """Limits by stage, from "8" or "strategy=6,decision=8"."""
    limits = dict(defaults)
    for part in filter(None, (text or "").split(",")):
        stage, _, value = part.rpartition("=")
        whole = value.isdecimal() and len(value) < 10 and 1 <= int(value) <= 512
        if (stage and stage not in limits) or not whole:
            raise UsageError(
                f"--concurrency: {part!r} is no number from 1 to 512, or "
                f"{' or '.join(f'{s}=N' for s in limits)}"
            )
        limits |= {stage: int(value)} if stage else dict.fromkeys(limits, int(value))
    return limits


def api_key() -> str:
    """The key from the environment, else from `.env` beside the scripts."""
    key, file = os.environ.get(KEY_VARIABLE), ROOT / ".env"
    if key is None and file.is_file():
        lines = re.findall(
            rf"^\s*(?:export\s+)?{KEY_VARIABLE}\s*=(.*)$",
            file.read_text(encoding="utf-8", errors="replace"),
            re.M,
        )
        key = lines[-1].strip().strip("'\"") if lines else ""
    return (key or "").strip()


class Choice(NamedTuple):
    """Who answers. `address` is the base URL, "" where answers are simulated."""

    simulated: bool
    address: str
    key: str


def choose(provider: str, base_url: str | None) -> Choice:
    """The provider that the flags and the environment name."""
    if base_url and provider == "simulated":
        raise UsageError(
            "--base-url: simulated respondents need no server; leave it out"
        )
    key, base_url = api_key(), base_url or os.environ.get(ADDRESS_VARIABLE, "").strip()
    if provider == "simulated" or (provider == "auto" and not key and not base_url):
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
    """`facts` are what --json says and `text` what people read; `error` is for stderr in both
    cases, one line or one a run."""

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
    """Run `main` and leave with its exit code. `machine`: stdout gets one JSON object, whatever
    happens; None takes it from --json (a help is for people all the same). `resumes`: the same
    command goes on where it broke off."""
    # A shell starts what runs in its background with SIGINT ignored: half of a run would then
    # heed it and the other half not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    machine = "--json" in argv if machine is None else machine
    machine = machine and not {"-h", "--help"} & set(argv)
    # Whoever prints meanwhile, stdout holds the object alone.
    with redirect_stdout(sys.stderr) if machine else nullcontext():
        done = conclude(main, argv, resumes)
    sys.exit(tell(done, machine))


def conclude(
    main: Callable[[Sequence[str]], Done], argv: Sequence[str], resumes: bool
) -> Done:
    """What `main` returns, or what it raised as the end of a script."""
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
        where = f"{error.filename}: " if error.filename else ""
        hint = (
            "; what was journalled is kept, the same command resumes" if resumes else ""
        )
        return Done(
            INCOMPLETE if resumes else USAGE,
            {},
            error=f"{where}{error.strerror or error}{hint}",
        )
    except Exception as error:
        # Its last line holds words of the error, which may be a server's.
        sys.stderr.write(_without_key(printable(traceback.format_exc())))
        return Done(UNEXPECTED, {}, error=f"unexpected {type(error).__name__}: {error}")


def unfinished(complete: Iterable[bool]) -> str:
    """What stands against a study of such runs; "" where all are complete."""
    complete = list(complete)
    left = complete.count(False)
    return (
        (
            f"{left} of {len(complete)} runs are unfinished; the command that made them resumes "
            "them"
        )
        if left
        else ""
    )


def note(lines: Sequence[str]) -> None:
    """What was noticed on the way, on stderr: the first few, and how many more there are."""
    more = [f"and {len(lines) - NOTES} more"] if len(lines) > NOTES else []
    for line in [*lines[:NOTES], *more]:
        print(f"note: {printable(line)}", file=sys.stderr)


def error_line(text: Stop | str | None) -> str:
    """A Stop, or another text, as `Done.error` holds it; "" of None."""
    return " ".join(str(text or "").split())


def as_typed(text: str) -> str:
    """Commands in the words of who typed one: the bundle has no scripts, but commands of its own
    (it says which: {script: words} as JSON)."""
    words = json.loads(os.environ.get("CIRRUS_BENCH_COMMANDS", "{}"))
    return re.sub(
        r"(?<=python3 )(\w+)\.py\b", lambda name: words.get(name[1], name[0]), text
    )


def tell(done: Done, machine: bool) -> int:
    """Say how it ended, on both streams; the exit code."""
    error = as_typed(_without_key(printable(done.error))) or None
    for line in (error or "").splitlines():
        print(f"error: {line}", file=sys.stderr)
    try:
        if machine:
            print(
                _without_key(
                    _escaped(
                        canonical_json(
                            {**done.facts, "exit_code": done.code, "error": error}
                        )
                    )
                )
            )
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
    return redacted(text, api_key())


def _escaped(text: str) -> str:
    """JSON on one line, with what a terminal would obey written as \\u…: it reads back the same."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def printable(text: Any) -> str:
    """Text of foreign origin for a terminal: no escape sequences, no other control characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in str(text))


# --- How far a run is: one live line on a terminal, grep-friendly key=value lines elsewhere ---

LIVE_EVERY_S = 0.1
LINE_EVERY_S = 10.0


class Progress:
    """Called by `Drive` whenever something has happened; other work calls `show`. A line that is
    not due is left out, but for the last one, which stays."""

    def __init__(self, name: str) -> None:
        self.name, self.live, self.started = name, sys.stderr.isatty(), time.monotonic()
        self.next = self.started + (0.0 if self.live else LINE_EVERY_S)

    def __call__(self, drive, last: bool = False) -> None:
        words = [
            " · ".join(f"{outcome} {n}" for outcome, n in drive.outcomes.most_common())
        ]
        pairs = {
            **drive.outcomes,
            "retries": drive.retries,
            "breaker": drive.breaker.state,
        }
        if drive.retries:
            words.append(f"retries {drive.retries}")
        limit, spent = drive.budget.total.limit, drive.budget.total.spent
        if limit is not None:
            projected = drive.budget.projection()
            words.append(f"${spent:.4f} of ${limit:g} (projected ${projected:.4f})")
            pairs |= {
                "spent_usd": f"{spent:.6f}",
                "projected_usd": f"{projected:.6f}",
                "limit_usd": limit,
            }
        if drive.breaker.state != "closed":
            words.append("paused: the server fails")
        self.show((drive.done, drive.total, drive.earlier), words, pairs, last)

    def show(
        self,
        counts: tuple[int, int, int],
        words: Sequence[str],
        pairs: Mapping[str, Any],
        last: bool = False,
    ) -> None:
        """`counts`: done, in all, and done by earlier starts; `words` for people, `pairs` for
        programmes. The time left is told at this start's own pace."""
        now, (done, total, earlier) = time.monotonic(), counts
        if not last and now < self.next:
            return
        self.next = now + (LIVE_EVERY_S if self.live else LINE_EVERY_S)
        made = done - earlier
        eta = round((now - self.started) / made * (total - done)) if made else None
        if self.live:
            left = [f"ETA {timedelta(seconds=eta)}"] if made and done < total else []
            line = "  ".join([self.name, f"{done:,}/{total:,}", *left, *words])
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{line[:width]}\x1b[K" + "\n" * last)
        else:
            pairs = {"run": self.name, "done": done, "total": total, **pairs} | (
                {"eta_s": eta} if made else {}
            )
            sys.stderr.write(
                "progress " + " ".join(f"{k}={v}" for k, v in pairs.items()) + "\n"
            )
        sys.stderr.flush()
