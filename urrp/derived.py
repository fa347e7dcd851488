"""What the file of a collection must say, from its manifest and journal: for `common.verify`."""

from collections.abc import Mapping

from common.artifacts import content_sha256
from common.replay import Answers
from common.verify import Derived, questions, same_prompts
from common.wire import NOT_RUN
from urrp import collect
from urrp.suite import SUITE_PATH

SUITE = "prompts/urrp/v1.1.json"


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
