"""What the files of a run must say, from its manifest and journal: for `common.verify`."""

from collections.abc import Mapping
from pathlib import Path

from common.artifacts import canonical_json, sha256
from common.journal import Answers, not_as_asked
from common.runs import kept_prompts
from common.verify import Derived, questions, same_prompts
from common.wire import NOT_RUN


def pilot_run(folder: Path, manifest: Mapping, answers: Answers) -> Derived:
    """A run of run_pilot.py."""
    from cirrus.ask import pilot
    from cirrus.conduct import domain_of
    from cirrus.pilot_files import derive, redealt
    study = manifest["identity"]
    domain = domain_of(pilot.DOMAIN, kept_prompts(folder, study["prompts"]))
    blocks = pilot.design(domain, study["config"], study["config"]["models"])
    requests = [trial.request for block in blocks for trial in block]
    problems = questions(requests, answers)
    rows = pilot.rows(blocks, ([answers.replies.get(trial.id, NOT_RUN) for trial in block]
                               for block in blocks))
    prompts = {request.id: (request.system, request.user) for request in requests}
    final = {name: digest for name, digest in answers.hashes.items()
             if answers.replies[name].outcome != "provider_error"}
    files = derive(rows, prompts, study, redealt(blocks, final))
    return Derived(files, problems, files.__contains__)


def tournament_run(folder: Path, manifest: Mapping, answers: Answers) -> Derived:
    """A run of run_tournament.py."""
    from cirrus.conduct import domain_of
    from cirrus.judge.games import derive
    from cirrus.judge.schema import owned
    study = manifest["identity"]
    domain = domain_of(study["config"]["domain"], kept_prompts(folder, study["prompts"]))
    code = sha256(canonical_json(manifest.get("code") or {}))
    wrong, dealt = [], set()

    def asked(request) -> None:
        dealt.add(request.id)
        if (line := not_as_asked(request, answers)) is not None:
            wrong.append(line)

    facts = {"code_sha256": code, "charged_usd": answers.charged_usd}
    files = derive(study, domain, answers.replies, facts, asked) if answers.replies else {}
    wrong += [f"{name}: not in the design" for name in sorted(answers.hashes.keys() - dealt)]
    return Derived(files, [f"journal: {line}" for line in wrong[:3]], owned)


def adjudication_run(folder: Path, manifest: Mapping, answers: Answers) -> Derived:
    """A run of analyze.py --adjudicate in `folder`: the policies it rated stand in the runs that
    its identity names, by path from there."""
    from cirrus.adjudicate import items_again
    from cirrus.markers import adjudication
    from cirrus.markers.ratings import codebook_files
    study = manifest["identity"]
    same_prompts(study["prompts"], codebook_files())
    items = items_again(folder, study)
    problems = questions(adjudication.requests(study["config"], items), answers)
    files = adjudication.derive(study["config"], items, answers.replies,
                                study["provider"] == "simulated")
    return Derived(files, problems, {adjudication.RATINGS}.__contains__)
