"""What the reference scripts share: data sets, one entry, and a way to ask R."""

import json
import subprocess

import mpmath
import scipy
import sklearn
import statsmodels

SCIPY, STATSMODELS = f"SciPy {scipy.__version__}", f"statsmodels {statsmodels.__version__}"
SKLEARN, MPMATH = f"scikit-learn {sklearn.__version__}", f"mpmath {mpmath.__version__}, 50 digits"
DEFINITION = "second computation straight from the definition (definitions.py)"

SLEEP = (
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
)
PLANTS = (
    [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
)
DARWIN = [6.125, -8.375, 1, 2, 0.75, 2.875, 3.5, 5.125, 1.75, 3.625, 7, 3, 9.375, 7.5, -6]
CHICKS = (
    [179, 160, 136, 227, 217, 168, 108, 124, 143, 140],
    [309, 229, 181, 141, 260, 203, 148, 169, 213, 257, 244, 271],
)
DOMINANCE = ([10, 10, 20, 20, 20, 30, 30, 30, 40, 50], [10, 20, 30, 40, 40, 50])
COUNTS = [
    (56, 70, 48, 80),
    (9, 10, 3, 10),
    (6, 7, 2, 7),
    (5, 56, 0, 29),
    (0, 10, 0, 20),
    (0, 10, 0, 10),
    (10, 10, 0, 20),
    (10, 10, 0, 10),
    (7, 24, 15, 24),
    (24, 24, 23, 24),
    (1, 1, 0, 1),
    (130, 1000, 97, 800),
    (5, 27, 120, 191),
    (2, 50, 1, 3),
]


def entry(function, args, expect, peer, call, tolerance=1e-9, **kwargs):
    return {
        "function": function,
        "args": args,
        "kwargs": kwargs,
        "expect": expect,
        "peer": peer,
        "call": call,
        "tolerance": tolerance,
    }


def run_r(code):
    """The value of an R expression (a list), as Python data."""
    program = f"cat(jsonlite::toJSON({{ {code} }}, digits=17, auto_unbox=TRUE, null='null'))"
    done = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


R = "R " + run_r("as.character(getRversion())")


def r_package(name):
    return f"{R}, {name} " + run_r(f"as.character(packageVersion('{name}'))")


def vector(values):
    return "c(" + ", ".join(repr(value) for value in values) + ")"
