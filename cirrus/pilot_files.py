"""Every derived file of a pilot run, from its rows. Same rows, same bytes, on any Python."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cirrus.ask.pilot import Trial
from cirrus.judge.pilot import analyse
from cirrus.reports.pilot import files
from common.artifacts import canonical_json, csv_parts, gzip_bytes, json_file, jsonl, sha256

# The text of an answer stays out: a spreadsheet would run a cell that begins with "=".
CSV_FIELDS = ("id", "model", "run", "S", "C", "H", "domain", "bulletin", "variant",
              "label_scheme", "order", "option_first", "decision", "cooperates", "status",
              "served_model", "provider", "prompt_tokens", "output_tokens", "reasoning_tokens",
              "cost_usd")


def design_hash(study: Mapping[str, Any]) -> str:
    """Identity of design and prompts, whoever serves the models."""
    return sha256(canonical_json({"config": study["config"], "prompts": study["prompts"]}))


def redealt(blocks: Iterable[Sequence[Trial]], hashes: Mapping[str, str]) -> tuple[int, int]:
    """(same, all): journalled questions that the design deals again, by SHA-256."""
    dealt = {trial.id: trial.request.sha256() for block in blocks for trial in block}
    return sum(dealt.get(name) == digest for name, digest in hashes.items()), len(hashes)


def derive(rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, str]],
           study: Mapping[str, Any], dealt: tuple[int, int] | None) -> dict[str, bytes]:
    """{file name: content}. `prompts` and rows as in `reports.pilot.files`."""
    asked = {row["id"]: prompts[row["id"]] for row in rows
             if row["id"] in prompts and _was_asked(row)}
    # Read back from its own JSON: what is shown then has the digits that the file has.
    out = json.loads(canonical_json(analyse(rows, study, dealt)))
    digest, trials = design_hash(study), jsonl(rows)
    hashes = {"design": digest, "trials": sha256(trials)}
    return {
        "trials.jsonl.gz": gzip_bytes(trials),
        "trials.csv": trials_csv(rows),
        "pilot-analysis.json": json_file(out | {"design_sha256": digest}),
        **files(out, rows, asked, hashes),
    }


def _was_asked(row: Mapping) -> bool:
    return row["status"] not in ("provider_error", "not_run")


def trials_csv(rows: Sequence[Mapping]) -> bytes:
    """One tidy row a trial; empty where unknown."""
    return b"".join(csv_parts(CSV_FIELDS, map(_flat, rows)))


def _flat(row: Mapping) -> dict[str, Any]:
    return dict(row) | {
        "option_first": row["options"][0], "prompt_tokens": row["tokens"]["prompt"],
        "output_tokens": row["tokens"]["output"], "reasoning_tokens": row["tokens"]["reasoning"]}
