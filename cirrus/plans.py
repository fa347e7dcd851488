"""Say what must be in the folder of a plan, packed or not, of a preregistered one-shot
run, and of an analysis of tournaments. Verification calls these functions, its readers,
on each folder.

    READERS = [runs := verify.runs(INSTRUMENTS), plan, partial(analysis, runs), …]

Each run of a plan names all of the plan's runs in its manifest and in the first line of
its journal. So where somebody has removed runs, and their names from plan.json, any
remaining run still names them.
"""

import lzma
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cirrus.judge.prereg import FILE as PREREG
from cirrus.judge.prereg import is_one_shot
from cirrus.judge.rows import (
    PLAN,
    PLAN_FILE,
    places,
    plan_file,
    plans_in,
    read_study,
    runs_named,
)
from cirrus.reports.study import analysed
from common import UsageError
from common.artifacts import sha256_in
from common.runs import RESTORE, read_manifest
from common.shape import OBJECT, read
from common.verify import (
    MANIFEST,
    PACKED,
    Content,
    Folder,
    Reader,
    Verdict,
    check_named,
    verify,
)

ANALYSIS = "acausal-analysis.json"
LARGEST = 1 << 30  # bytes of an unpacked archive; 42 runs of seven agents take 36 MB
ANEW = "; changed or out of date: analyze.py {} writes it anew"


def plan(folder: Folder) -> Content | None:
    """Return what the folder of a plan must hold beside its runs, or None if no plan has
    this folder."""
    beside = _beside(folder)
    plans = plans_in(folder.path, beside.values())
    if PREREG in folder.names and PLAN_FILE not in folder.names:
        if is_one_shot(folder.path):
            return None
        raise UsageError(
            f"{PREREG}: no {PLAN_FILE} beside it; restore that, or remove it"
        )
    if len(plans) > 1:
        names = ", ".join(each["name"] for each in plans)
        raise UsageError(f"runs of several plans lie here: {names}; move them apart")
    for planned in plans:
        return _planned(folder, planned, beside)
    return None


def registered(folder: Folder) -> Content | None:
    """Return what the folder of a preregistered one-shot run must hold beside the run's
    own files, or None if it is no such folder."""
    verdict = Verdict(str(folder.path), "preregistration", "incomplete")
    if MANIFEST not in folder.names:
        if PREREG not in folder.names or not is_one_shot(folder.path):
            return None
        return Content(verdict._replace(notes=["its run is not begun"]), {}, {PREREG})
    manifest = read_manifest(folder.path)
    carried = manifest["identity"].get("prereg_sha256", "")
    here = sha256_in(folder.path, PREREG)
    if manifest["artifact"] != "pilot" or not (carried or here):
        return None
    problems = []
    if carried != here:
        problems.append(f"{PREREG}: not the one that the run was made under")
    return Content(verdict._replace(problems=problems), {}, {PREREG})


def _beside(folder: Folder) -> dict[str, Mapping[str, Any]]:
    """Return {name: identity} of the tournament runs directly in the folder."""
    identities = {}
    for verdict in folder.inner:
        path = Path(verdict.run)
        if verdict.instrument == "tournament" and path.parent == folder.path:
            identities[path.name] = read_manifest(path)["identity"]
    return identities


def _planned(
    folder: Folder, planned: Mapping[str, Any], beside: Mapping[str, Mapping]
) -> Content:
    """Return what a plan's folder must hold. `planned` is {"name": of the plan, "runs":
    their names}; `beside` is {name: identity} of the runs that are in the folder."""
    names, given = planned["runs"], folder.names & {PREREG}
    missing = [name for name in names if name not in beside]
    notes, unproven = [], sorted(given)
    if missing:
        notes.append(
            f"{len(missing)} of {len(names)} runs were not begun, or were taken away; "
            f"the plan's command begins them: {', '.join(missing)}"
        )
    if ANALYSIS not in folder.names:
        notes.append("not analysed yet; analyze.py FOLDER writes its analysis")
    if all("plan" not in identity for identity in beside.values()):
        unproven.insert(0, PLAN_FILE)
    problems = list(_hidden(folder, names, missing))
    problems += _misplaced(folder, names, beside)
    problems += _unregistered(folder, beside)
    simulated = any(run.simulated for run in folder.inner)
    state = "incomplete" if missing else "complete"
    verdict = Verdict(str(folder.path), "study", state, simulated)
    verdict = verdict._replace(problems=problems, notes=notes, unproven=unproven)
    return Content(verdict, {PLAN_FILE: plan_file(planned)}, given)


def _hidden(folder: Folder, names: list[str], missing: list[str]) -> Iterator[str]:
    """Yield a fault if runs are missing and plan.json does not name them, though the runs
    in the folder do."""
    if PLAN_FILE not in folder.names:
        return
    listed = read(folder.path / PLAN_FILE, PLAN, RESTORE)["runs"]
    hidden = [name for name in missing if name not in listed]
    if hidden:
        share = f"{len(hidden)} of {len(names)} runs"
        yield (
            f"{share} of the plan are gone, and {PLAN_FILE} does not name them: "
            f"{', '.join(hidden)}; restore them"
        )


def _misplaced(
    folder: Folder, names: list[str], beside: Iterable[str]
) -> Iterator[str]:
    """Yield a fault for each run in the folder that the plan does not have, and for each
    that has another run's name."""
    for name in beside:
        if name not in names:
            yield f"{name}: a run that the plan does not have; move it away"
        path = folder.path / name / "acausal_manifest.json"
        if not path.is_file():  # its run is not over; verification of the run says so
            continue
        design = read(path, OBJECT, RESTORE)["run"]
        if design in names and design != name:
            yield f"{name}: holds the run {design}; move it back"


def _unregistered(folder: Folder, beside: Mapping[str, Mapping]) -> Iterator[str]:
    """Yield a fault for each run that was made under another preregistration than the
    folder's, and one for a preregistration under which no run was made."""
    under, here = False, sha256_in(folder.path, PREREG)
    for name, identity in beside.items():
        digest = identity.get("prereg_sha256")
        under = under or bool(digest)
        if digest and digest != here:
            yield f"{PREREG}: gone, or not the one that {name} was made under; restore it"
    if PREREG in folder.names and beside and not under:
        yield f"{PREREG}: no run here was made under it; remove it"


def is_analysis(folder: Folder) -> bool:
    """Whether an analysis of tournaments lies in the folder."""
    return not folder.names.isdisjoint([ANALYSIS, "acausal-summary.md"])


def analysis(of_runs: Reader, folder: Folder) -> Content | None:
    """Return what an analysis of the runs that the folder's runs.json names must say, or
    None if the folder holds no analysis. `of_runs` is the reader of runs."""
    if not is_analysis(folder):
        return None
    runs = runs_named(folder.path)
    check_named(folder, runs, of_runs)
    study = read_study(runs)
    out, files = analysed(study, places(study, folder.path))
    given = out.get("imported", {})
    verdict = Verdict(str(folder.path), "study", simulated=out["simulated"])
    verdict = verdict._replace(unproven=sorted(given))
    return Content(verdict, files, given, ANEW.format(folder.path))


# --- packed ------------------------------------------------------------------------------------


def packed(readers: Sequence[Reader], folder: Folder) -> Content | None:
    """Return what the folder of a packed plan must hold, or None if nothing is packed
    in it.

    The plan is unpacked into a temporary folder and verified there. The files beside
    it are not compared: with later code its page would say that the code has changed.
    """
    if PACKED not in folder.names:
        return None
    with TemporaryDirectory() as temporary:
        where = Path(temporary).resolve()
        _unpack(folder.path / PACKED, where)
        verdicts = list(verify(where, readers))
        problems = list(_problems(verdicts, where))
    whole = verdicts and all(each.state == "complete" for each in verdicts)
    verdict = Verdict(
        str(folder.path),
        "packed study",
        "complete" if whole else "incomplete",
        simulated=any(each.simulated for each in verdicts),
        problems=problems,
        unproven=sorted(folder.names - {PACKED}),
    )
    return Content(verdict, {}, folder.names)


def _unpack(path: Path, where: Path) -> None:
    """Write the files of an archive below the folder `where`. Raise UsageError if the
    archive is damaged, or holds anything but folders and plain files, each once, that
    lie below `where`."""
    try:
        unpacked = _one_stream(path.read_bytes())
        with tarfile.open(fileobj=BytesIO(unpacked), mode="r:") as archive:
            for member in archive:
                if not member.isdir():
                    _write(archive, member, where)
            rest = unpacked[archive.offset :]
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise UsageError(f"{PACKED}: can't be unpacked ({error}); {RESTORE}") from None
    if rest.strip(b"\0"):
        raise UsageError(f"{PACKED}: more follows the end of the archive; {RESTORE}")


def _one_stream(packed: bytes) -> bytes:
    """Unpack data that must be a single stream, with nothing behind it."""
    stream = lzma.LZMADecompressor()
    unpacked = stream.decompress(packed, LARGEST)
    if len(unpacked) == LARGEST:
        raise EOFError(f"it unpacks to {LARGEST:,} bytes or more")
    if not stream.eof:
        raise EOFError("its end is missing")
    if stream.unused_data:
        raise EOFError("more follows its end")
    return unpacked


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, where: Path) -> None:
    """Write one file of an archive below `where`."""
    target = (where / member.name).resolve()
    content = archive.extractfile(member) if member.isreg() else None
    if content is None or not target.is_relative_to(where) or target.exists():
        what = "twice" if target.is_file() else "no plain file"
        raise UsageError(f"{PACKED}: {member.name}: {what}; pack it again")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.read())


def _problems(verdicts: Sequence[Verdict], where: Path) -> Iterator[str]:
    """Yield a line for each fault of unpacked folders; `where` was unpacked into."""
    for verdict in verdicts:
        name = Path(verdict.run).relative_to(where)
        for problem in verdict.problems:
            yield f"{PACKED}: {name}: {problem}"
        if verdict.strays:
            yield f"{PACKED}: {name}: {verdict.strays}"
