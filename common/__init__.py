"""The lowest floor of the project: it asks models, reads their replies and keeps both.
It knows nothing of any experiment.

This file holds the version, the exit codes, and the errors that carry these codes. The
message of an error is the one line that a user reads.
"""

import sys

VERSION = "0.4.0"
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
    """The program ends with `code`. `str()` of the error is one line: what is wrong,
    where, and what to do."""

    code = UNEXPECTED


class UsageError(Stop):
    """The usage, the configuration or an input file is wrong."""

    code = USAGE


class Older(UsageError):
    """The run is of an earlier version, and today's code can neither ask nor judge it
    again."""


class Incomplete(Stop):
    """Some work is left, and the same command will do it."""

    code = INCOMPLETE


class OverBudget(Stop):
    """The work would cost more than the limit."""

    code = BUDGET


class ProviderRefused(Stop):
    """The provider refuses the key, the account, the permission or the model, so asking
    again would not help."""

    code = PROVIDER


class Unreadable(Stop):
    """Every call was made, but no model gave a decision that can be read."""

    code = UNREADABLE


class Interrupted(Stop):
    """Ctrl-C or SIGTERM ended the program; the journal is intact."""

    code = INTERRUPTED
