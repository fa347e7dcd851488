"""The bench: asking, reading, keeping. Knows nothing of any experiment."""

import sys

VERSION = "0.1.0"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")  # of reasoning, upwards
KEY_VARIABLE = "OPENROUTER_API_KEY"

# Every script comes by here first, so scripts and this file keep to what a Python 3.9 can read.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.stderr.write("error: Python 3.11 or newer is needed, this is {}.{}; name another one, such "
                     "as python3.12\n".format(*sys.version_info))
    sys.exit(2)
