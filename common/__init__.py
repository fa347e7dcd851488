"""The bench: asking, reading, keeping. Knows nothing of any experiment.

Here: its version, the exit codes, and the errors that carry them. The message of each error is the
one line a user reads.
"""

import sys

VERSION = "0.1.0"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")  # of reasoning
KEY_VARIABLE = "OPENROUTER_API_KEY"

# Every script comes by here first, so scripts and this file keep to what a Python 3.9 can read.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.stderr.write(
        "error: Python 3.11 or newer is needed, this is {}.{}; name another one, such "
        "as python3.12\n".format(*sys.version_info)
    )
    sys.exit(2)

COMPLETE = 0
UNEXPECTED = 1
USAGE = 2
INCOMPLETE = 3
BUDGET = 4
PROVIDER = 5
UNREADABLE = 6
INTERRUPTED = 130

MEANING = {  # the gravest first
    UNEXPECTED: "unexpected error",
    USAGE: "wrong usage or configuration",
    INTERRUPTED: "interrupted, the same command resumes",
    PROVIDER: "the provider refused every model (key, credit, name)",
    BUDGET: "stopped by the budget, resumes with a higher limit",
    INCOMPLETE: "incomplete, the same command resumes",
    UNREADABLE: "of no model can a decision be read",
    COMPLETE: "complete",
}


class Stop(Exception):
    """Ends the program with `code`; `str()` is one line: what, where, what to do."""

    code = UNEXPECTED


class UsageError(Stop):
    """Wrong usage, configuration or input file."""

    code = USAGE


class Older(UsageError):
    """A run of an earlier version, which today's code can neither ask nor judge again."""


class Incomplete(Stop):
    """Work is left that the same command will do."""

    code = INCOMPLETE


class OverBudget(Stop):
    """The limit would be passed."""

    code = BUDGET


class ProviderRefused(Stop):
    """Key, credit, permission or model: asking again would not help."""

    code = PROVIDER


class Unreadable(Stop):
    """All was asked, and of no model can a decision be read."""

    code = UNREADABLE


class Interrupted(Stop):
    """Ctrl-C or SIGTERM; the journal is intact."""

    code = INTERRUPTED
