"""What every script that calls a model has in common: flags, provider, first line, exit code."""

import argparse
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common.exits import COMPLETE, INCOMPLETE, INTERRUPTED, UNEXPECTED, Stop, UsageError

ROOT = Path(__file__).resolve().parents[1]
KEY_VARIABLE = "OPENROUTER_API_KEY"

EXIT_CODES = """exit codes: 0 complete · 1 unexpected error · 2 wrong usage or configuration ·
3 incomplete, resumable · 4 budget · 5 the provider refused · 130 interrupted"""


def parser(head: str, examples: str) -> argparse.ArgumentParser:
    """A parser whose help opens with what the script does and closes with commands to copy."""
    return argparse.ArgumentParser(
        description=head, epilog=f"examples:\n{examples}\n\n{EXIT_CODES}", allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)


def add_call_flags(flags: argparse.ArgumentParser, out: str, config: str) -> None:
    """The flags of every script that calls a model."""
    add = flags.add_argument
    add("--provider", choices=("auto", "openrouter", "simulated"), default="auto",
        help=f"auto: openrouter where {KEY_VARIABLE} or --base-url is given, else simulated")
    add("--base-url", metavar="URL", help="an OpenAI-compatible server, such as "
        "http://127.0.0.1:8080/v1")
    add("--models", metavar="A,B", help="models, or simulated respondents, separated by commas")
    add("--seed", type=int, metavar="N", help="seed of the whole design (default 42)")
    add("--temperature", type=float, metavar="T")
    add("--limit-usd", type=float, metavar="USD", help="no call is sent that could pass it")
    add("--concurrency", metavar="N", help="calls at once, or strategy=6,decision=8")
    add("--out", metavar="DIR", default=out, help=f"folder of the runs (default {out})")
    add("--run-id", metavar="ID", help="name of the run's folder (default from the design)")
    add("--config", metavar="FILE", default=config, help="JSON, strictly checked")
    add("--dry-run", action="store_true",
        help="print design, calls and projected cost; write nothing, ask nothing")
    add("--json", action="store_true", help="one JSON object on stdout, for machines")


def names(text: str | None) -> list[str] | None:
    """ "a,b" → ["a", "b"]; None stays None."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def concurrency(text: str | None, defaults: Mapping[str, int]) -> dict[str, int]:
    """Limits by stage, from "8" or "strategy=6,decision=8"."""
    limits = dict(defaults)
    for part in (text or "").split(","):
        stage, _, value = part.rpartition("=")
        if not part:
            continue
        if (stage and stage not in limits) or not value.isdecimal() or not 1 <= int(value) <= 512:
            raise UsageError(f"--concurrency: {part!r} is no number from 1 to 512, or "
                             f"{' or '.join(f'{s}=N' for s in limits)}")
        limits |= {stage: int(value)} if stage else dict.fromkeys(limits, int(value))
    return limits


def api_key() -> str:
    """The key from the environment, else from `.env` beside the scripts."""
    key = os.environ.get(KEY_VARIABLE)
    if key is None and (ROOT / ".env").is_file():
        for line in (ROOT / ".env").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.strip().removeprefix("export ").partition("=")
            if name.strip() == KEY_VARIABLE:
                key = value.strip().strip("'\"")
    return (key or "").strip()


class Choice(NamedTuple):
    """Who answers. `address` is the base URL, "" where answers are simulated."""

    simulated: bool
    address: str
    key: str


def choose(provider: str, base_url: str | None) -> Choice:
    """The provider that the flags and the environment name."""
    key = api_key()
    if provider == "simulated" or (provider == "auto" and not key and not base_url):
        if base_url and provider == "simulated":
            raise UsageError("--base-url: simulated respondents need no server; leave it out")
        return Choice(True, "", "")
    from common.openrouter import OPENROUTER, check_base_url
    if not re.fullmatch(r"[!-~]*", key):
        raise UsageError(f"{KEY_VARIABLE}: holds a space, a line break or another character "
                         "that no key has; set it anew")
    return Choice(False, check_base_url(base_url or OPENROUTER), key)


def run(main: Callable[[Sequence[str]], int], argv: Sequence[str] | None = None) -> None:
    """Run `main` and leave with its exit code; every error is one line on stderr."""
    # A shell starts what runs in its background with SIGINT ignored: half of a run would then
    # heed it and the other half not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = main(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except Stop as stop:
        code = complain(stop)
    except KeyboardInterrupt:
        code = _say("interrupted: the journal is intact, the same command resumes", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = COMPLETE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        code = _say(f"{where}{error.strerror or error}; what was journalled is kept, "
                    "the same command resumes", INCOMPLETE)
    except Exception as error:
        traceback.print_exc()
        code = _say(f"unexpected {type(error).__name__}: {error}", UNEXPECTED)
    sys.exit(code)


def complain(stop: Stop) -> int:
    """Print a Stop as one line on stderr; its exit code."""
    return _say(" ".join(str(stop).split()), stop.code)


def _say(line: str, code: int) -> int:
    key = api_key()
    line = line.replace(key, "[key]") if len(key) >= 6 else line
    print(f"error: {printable(line)}", file=sys.stderr)
    return code


def printable(text: Any) -> str:
    """Text of foreign origin for a terminal: no escape sequences, no other control characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in str(text))
