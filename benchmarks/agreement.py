#!/usr/bin/env python3
"""Do sampled answers come out as often as the probabilities that were read say?

    python3 benchmarks/agreement.py sample RUN --base-url http://127.0.0.1:8080/v1 --times 5
    python3 benchmarks/agreement.py figures RUN
    python3 benchmarks/agreement.py order RUN --prompts 60

`sample` asks the prompts of a finished run with --read probability again, opened as it opened them,
at temperature 1 and from the whole distribution, and keeps the first tokens of each answer in
RUN/../agreement-smollm2/samples.jsonl.gz. `figures` needs no model: it judges every sample as
labels are read, and writes agreement.json, agreement.md and the plot calibration.svg beside them
(with matplotlib, from requirements-bench.txt). `order`: how many prompts a second are read in the
order of their texts, and in the order in which blocks are drawn.
"""

import argparse
import gzip
import json
import math
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import stats  # noqa: E402
from common.artifacts import gzip_bytes, json_file, jsonl  # noqa: E402
from common.parsing import stands  # noqa: E402
from common.rng import SeededRandom  # noqa: E402
from common.wire import COMPLETIONS, Way, read_body  # noqa: E402
from show.figures import interval, percent, plain, points  # noqa: E402

OUT = ROOT / "results" / "examples" / "agreement-smollm2"
TOKENS = 6           # of a sample: a label and its end
MARGIN = 0.03        # between sampled and read, on average
# Nothing cut off the distribution, nothing penalised: the names of llama.cpp's server.
WHOLE = {"temperature": 1, "top_p": 1, "top_k": 0, "min_p": 0, "repeat_penalty": 1}


def lines_of(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(map(json.loads, file))


# --- asking ------------------------------------------------------------------------------------

def sample(run: Path, url: str, times: int, every: int) -> None:
    """Ask each `every`-th prompt of the run `times` times; in the order of prompts, which a server
    reads on from what it kept."""
    from cirrus.ask.pilot import by_prompt
    asked = by_prompt([dealt(run)])[::every]
    # A seed of its own for each sample: prompts that share a sampler's seed share its luck.
    rows = [{"id": trial.id, "seed": seed, "text": answer(url, trial, seed)} for trial in asked
            for number in range(1, times + 1)
            for seed in [SeededRandom(number, "sample", trial.id).getrandbits(31)]]
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "samples.jsonl.gz").write_bytes(gzip_bytes(jsonl(rows)))


def dealt(run: Path) -> list:
    """The trials of a run, as its folder deals them again."""
    from cirrus.ask import pilot
    from cirrus.instruments import domain_of
    from common.runs import kept_prompts
    identity = json.loads((run / "manifest.json").read_text("utf-8"))["identity"]
    domain = domain_of(identity["config"].get("domain", pilot.DOMAIN),
                       kept_prompts(run, identity["prompts"]))
    return [trial for block in pilot.design(domain, identity["config"],
                                            identity["config"]["models"]) for trial in block]


def answer(url: str, trial, seed: int) -> str:
    asked = opened(trial, 0, TOKENS) | WHOLE | {"seed": seed}
    del asked["logprobs"]
    return post(url, asked)["choices"][0]["text"]


def opened(trial, top: int, tokens: int) -> dict:
    """The body of the trial's first call, with its turn opened."""
    chat = {"model": trial.model, "messages": [
        {"role": "system", "content": trial.request.system},
        {"role": "user", "content": trial.request.user}]}
    return read_body(chat, Way(COMPLETIONS, top), trial.request.opening, tokens)


def post(url: str, body: Mapping) -> dict:
    call = urllib.request.Request(f"{url}/completions", json.dumps(body).encode(),
                                  {"Content-Type": "application/json"})
    with urllib.request.urlopen(call, timeout=300) as reply:
        return json.load(reply)


def order(run: Path, url: str, prompts: int) -> str:
    """First answers a second, of as many prompts from the middle of either order, one at a time."""
    from cirrus.ask.pilot import by_prompt
    drawn = dealt(run)
    lines = []
    for name, trials in (("in the order of their texts", by_prompt([drawn])),
                         ("in the order in which blocks are drawn", drawn)):
        start = (len(trials) - prompts) // 2
        begun = time.monotonic()
        for trial in trials[start:start + prompts]:
            post(url, opened(trial, 20, trial.request.max_out))
        rate = prompts / (time.monotonic() - begun)
        lines.append(f"{prompts} prompts {name}: {plain(rate, 2)} a second")
    return "\n".join(lines)


# --- figures -----------------------------------------------------------------------------------

def decided(text: str, row: Mapping) -> str:
    """ "cooperate", "other", "echo" (a label that goes on otherwise) or "none"."""
    options = tuple(row["options"])
    at = next((one for one in (stands(row["opened"] + text[:end], options)
                               for end in range(len(text) + 1))
               if one.kind in ("ended", "beyond", "none")), None)
    if at is None or at.kind == "none":
        return "none"
    first = row["order"] == "cooperative-first"
    return "echo" if at.kind == "beyond" else "cooperate" if (at.option == 0) == first else "other"


def figures(run: Path) -> dict:
    """Sampled less read, by label, over bulletins: 90% intervals of the mean difference; and what
    one read trial is worth."""
    rows = {row["id"]: row for row in lines_of(run / "trials.jsonl.gz")}
    samples = lines_of(OUT / "samples.jsonl.gz")
    judged: dict[str, list[str]] = {}
    for one in samples:
        judged.setdefault(one["id"], []).append(decided(one["text"], rows[one["id"]]))
    return {"run": run.name, "prompts": len(judged), "samples": len(samples),
            "differences": {name: _difference(rows, judged, name, field) for name, field in (
                ("cooperate", "p_cooperate"), ("other", "p_other"), ("echo", "echoed"))},
            "by_cell": {cell: _by_cell(rows, judged, cell) for cell in sorted(
                {_cell(row) for row in rows.values()})},
            "calibration": _calibration(rows, judged), "worth": worth(list(rows.values()))}


def _cell(row: Mapping) -> str:
    return row.get("cell") or f"S.{row['S']}-C.{row['C']}"


def _difference(rows: Mapping, judged: Mapping, name: str, field: str) -> dict:
    """Over prompts: each is a draw of its own, given its probability. Student's t on them."""
    values = [answers.count(name) / len(answers) - rows[key][field]
              for key, answers in judged.items()]
    test = stats.welch_t_test(values, [0.0] * len(values), 0.90)
    share = sum(answers.count(name) for answers in judged.values())
    return {"sampled": share / sum(map(len, judged.values())),
            "read": math.fsum(rows[key][field] for key in judged) / len(judged),
            "value": test.difference, "low": test.low, "high": test.high,
            "inside": test.low > -MARGIN and test.high < MARGIN}


def _by_cell(rows: Mapping, judged: Mapping, cell: str) -> dict:
    keys = [key for key in judged if _cell(rows[key]) == cell]
    answers = [one for key in keys for one in judged[key]]
    return {"n": len(answers), **{name: {
        "sampled": answers.count(name) / len(answers),
        "read": math.fsum(rows[key][field] for key in keys) / len(keys)} for name, field in (
            ("cooperate", "p_cooperate"), ("other", "p_other"))}}


BINS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1.01)


def _calibration(rows: Mapping, judged: Mapping) -> list[dict]:
    """Labels and echoes by what was read of them: how often they came, with Wilson's interval."""
    out = []
    for low, high in pairwise(BINS):
        pairs = [(rows[key][field], answers.count(name), len(answers))
                 for key, answers in judged.items() for name, field in (
                     ("cooperate", "p_cooperate"), ("other", "p_other"), ("echo", "echoed"))
                 if low <= rows[key][field] < high]
        if pairs:
            k, n = sum(pair[1] for pair in pairs), sum(pair[2] for pair in pairs)
            share = stats.share(k, n)
            out.append({"from": low, "to": high, "n": n, "sampled": share.value, "low": share.low,
                        "high": share.high,
                        "read": math.fsum(p * m for p, _, m in pairs) / n})
    return out


def worth(rows: Sequence[Mapping]) -> dict:
    """Sampled decisions for the standard error that one read trial gives the primary contrast:
    1 + (variance of drawing the decisions) / (variance between bulletins), with a 95% interval over
    bulletins; and calls, since a read trial takes several and few samples are decisions."""
    blocks: dict[tuple, dict[str, float]] = {}
    for row in rows:
        cell = {"HP": "HP", "LA": "LA", "S.high-C.present": "HP",
                "S.low-C.absent": "LA"}.get(_cell(row))
        if cell and row["cooperates"] is not None:
            blocks.setdefault((row["bulletin"], row["run"]), {})[cell] = row["cooperates"]
    units: dict[str, list[tuple[float, float]]] = {}
    for (bulletin, _), block in blocks.items():
        if len(block) == 2:
            units.setdefault(bulletin, []).append((block["HP"], block["LA"]))
    # Of a bulletin: its mean difference, and the variance that drawing its decisions would add.
    pairs = [(math.fsum(a - b for a, b in unit) / len(unit),
              math.fsum(a * (1 - a) + b * (1 - b) for a, b in unit) / len(unit) ** 2)
             for unit in units.values()]

    def ratio(values) -> float:
        mean = math.fsum(d for d, _ in values) / len(values)
        between = math.fsum((d - mean) ** 2 for d, _ in values) / max(1, len(values) - 1)
        noise = math.fsum(variance for _, variance in values) / len(values)
        return 1 + noise / between if between else math.inf
    found = stats.bootstrap_ci((pairs,), ratio, 2000, method="percentile")
    mass = math.fsum(row["mass"] for row in rows) / len(rows)
    calls = sum(row["answers"] for row in rows) / len(rows)
    return {"decisions": found.value, "low": found.low, "high": found.high, "mass": mass,
            "calls_a_trial": calls, "calls": found.value / mass / calls}


def plot(bins: Sequence[Mapping], path: Path) -> None:
    """How often labels came, against what was read of them; the same bytes for the same figures."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    matplotlib.rcParams |= {"svg.hashsalt": "agreement", "svg.fonttype": "none", "font.size": 10,
                            "font.family": "sans-serif"}
    figure, axes = pyplot.subplots(figsize=(5.2, 4.4), layout="constrained")
    ends = (0.7 * bins[0]["read"], min(1.0, 1.6 * bins[-1]["read"]))
    floor = min([one["low"] for one in bins if one["low"] > 0], default=ends[0])
    axes.plot(ends, ends, color="0.45", linewidth=1, linestyle="--", label="as often as read")
    axes.errorbar([one["read"] for one in bins], [one["sampled"] for one in bins], fmt="o",
                  yerr=[[one["sampled"] - one["low"] for one in bins],
                        [one["high"] - one["sampled"] for one in bins]],
                  color="#1f6feb", capsize=3, label="sampled, with 95% Wilson interval")
    for one in bins:
        axes.annotate(f"n={one['n']}", (one["read"], one["high"]), xytext=(0, 4), fontsize=8,
                      textcoords="offset points", ha="center", color="0.35")
    ticks = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    for axis, limits in ((axes.xaxis, ends), (axes.yaxis, (0.7 * floor, min(1.0, 2 * ends[1])))):
        axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": limits})
        shown = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
        axis.set_ticks(shown, [percent(tick, 1 if tick < 0.01 else 0) for tick in shown])
        axis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set(xlabel="read of a label, or of one that goes on (mean of the bin)",
             ylabel="share of samples that took it")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def page(out: Mapping) -> str:
    said = {"cooperate": "the cooperative label", "other": "the other label",
            "echo": "a label that goes on otherwise"}
    lines = [f"# Sampled against read: {out['run']}", "",
             f"{out['prompts']} prompts, {out['samples']} samples at temperature 1 from the opened "
             "turn, judged as labels are read. Difference: sampled less read, 90% interval over "
             "prompts; the margin is ±3 points.", "",
             "| | sampled | read | difference | inside ±3 points |", "|---|---|---|---|---|"]
    lines += [f"| {said[name]} | {percent(one['sampled'], 1)} | {percent(one['read'], 1)} | "
              f"{points(one['value'])} ({interval(one['low'], one['high'], 1, True, 100)}) | "
              f"{'yes' if one['inside'] else 'no'} |" for name, one in out["differences"].items()]
    lines += ["", "![sampled against read](calibration.svg)", "",
              "| read | n | mean read | sampled (95% Wilson) |", "|---|---|---|---|"]
    lines += [f"| {percent(one['from'], 1)} to {percent(min(1, one['to']), 1)} | {one['n']} | "
              f"{percent(one['read'], 1)} | {percent(one['sampled'], 1)} "
              f"({interval(one['low'], one['high'], 1, scale=100)}) |"
              for one in out["calibration"]]
    lines += ["", "| cell | n | cooperative: sampled, read | other: sampled, read |",
              "|---|---|---|---|"]
    lines += [f"| {cell} | {one['n']} | " + " | ".join(
        f"{percent(one[name]['sampled'], 1)}, {percent(one[name]['read'], 1)}"
        for name in ("cooperate", "other")) + " |" for cell, one in out["by_cell"].items()]
    one = out["worth"]
    lines += ["", f"A read trial is worth {plain(one['decisions'], 1)} sampled decisions "
              f"({interval(one['low'], one['high'], 1)}) for the standard error of the primary "
              f"contrast. It takes {plain(one['calls_a_trial'], 1)} calls, and "
              f"{percent(one['mass'], 1)} of samples are decisions: "
              f"{plain(one['calls'], 0)} sampled calls for one read call.", ""]
    return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("what", choices=("sample", "figures", "order"))
    flags.add_argument("run", type=Path)
    flags.add_argument("--base-url", default="http://127.0.0.1:8080/v1")
    flags.add_argument("--times", type=int, default=5)
    flags.add_argument("--every", type=int, default=1, help="only each N-th prompt")
    flags.add_argument("--prompts", type=int, default=60, help="of `order`")
    args = flags.parse_args(argv)
    if args.what == "order":
        print(order(args.run, args.base_url, args.prompts))
        return
    if args.what == "sample":
        sample(args.run, args.base_url, args.times, args.every)
    out = figures(args.run)
    (OUT / "agreement.json").write_bytes(json_file(out))
    (OUT / "agreement.md").write_text(page(out), encoding="utf-8")
    plot(out["calibration"], OUT / "calibration.svg")
    print(page(out))


if __name__ == "__main__":
    main(sys.argv[1:])
