"""What the file of a collection must say, from its manifest and journal: for `common.verify`."""

import json
from collections.abc import Mapping
from pathlib import Path

from common.artifacts import content_sha256
from common.replay import Answers
from common.verify import Derived, questions, same_prompts
from common.wire import NOT_RUN
from urrp import collect
from urrp.suite import SUITE_PATH

SUITE = "prompts/urrp/v1.1.json"


def headline(folder: Path) -> str:
    """The verdict on each model, where the folder holds an analysis; "" otherwise."""
    if not (folder / "analysis.json").is_file():
        return ""
    models = json.loads((folder / "analysis.json").read_bytes())["models"]
    return "; ".join(f"{model['model']}: {model['verdict']['value'] or 'no verdict'} "
                     f"({model['verdict']['why']})" for model in models)


def collection(manifest: Mapping, answers: Answers) -> Derived:
    """A run of urrp_run.py."""
    study = manifest["identity"]
    same_prompts(study["prompts"], {SUITE: content_sha256(SUITE_PATH)})
    asks = collect.design(study["config"], study["config"]["models"])
    problems = questions([one.request for one in asks], answers)
    replies = [answers.replies.get(one.request.id, NOT_RUN) for one in asks]
    data = collect.jsonl(asks, replies, study["provider"] == "simulated", study["config"]["pilot"])
    files = {collect.FILE: data} if data else {}
    return Derived(files, problems, files.__contains__)
