"""What --verify catches, what it can't from inside, and that a bad folder is a verdict."""

import gzip
import json
import os
import random
import shutil
from pathlib import Path

import pytest
from conftest import completion, edit, one, request

import analyze
from common import cli
from common.artifacts import gzip_bytes, read_bytes, sha256
from common.journal import merkle_root
from common.verify import UNPROVEN, expected_head, find_runs, verify

INSTRUMENTS = analyze.INSTRUMENTS

MUTATIONS = int(os.environ.get("RELIABILITY_MUTATIONS", "80"))  # of each file
EVERY = int(os.environ.get("RELIABILITY_EVERY", "50"))  # mutation analysis and index read too


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pilot and a preregistered plan of one run, all simulated."""
    out = tmp_path_factory.mktemp("made")
    (out / "plan.json").write_text(json.dumps({"name": "one", "runs": [{"domain": "cvd"}]}))
    import run_pilot
    import run_tournament
    plan = ["--plan", str(out / "plan.json"), "--agents", "2", "--rounds", "1", "--out",
            str(out / "t")]
    for main, flags in (
            (run_pilot.main, ["--runs", "2", "--models", "coin,sloppy", "--out", str(out / "p"),
                              "--run-id", "pilot"]),
            (run_tournament.main, [*plan, "--preregister"]), (run_tournament.main, plan)):
        assert main(["--provider", "simulated", *flags]).code == 0
    return out


@pytest.fixture
def pilot(made, tmp_path):
    return shutil.copytree(made / "p/pilot", tmp_path / "pilot")


@pytest.fixture
def run(made, tmp_path):
    """The run of the plan, in a copy of its folder."""
    folder = shutil.copytree(next((made / "t").iterdir()), tmp_path / "plan")
    return next(path.parent for path in folder.glob("*/manifest.json"))


def problems(folder):
    return "\n".join(verify(folder, INSTRUMENTS).problems)


def forge(folder, change):
    """Change the journal's entries, then mend its chain and what the manifest says of it."""
    path = folder / "journal.jsonl.gz"
    entries = [json.loads(line) for line in read_bytes(path).splitlines()]
    prev, lines = entries[0]["prev"], []
    for entry in change(entries):
        entry["prev"] = prev
        lines.append(json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode())
        prev = sha256(lines[-1])
    path.write_bytes(gzip_bytes(b"".join(line + b"\n" for line in lines)))
    edit(folder, lambda m: m["journal"].update(head_sha256=prev, attempts=len(lines)))


def test_nothing_is_wrong_with_what_was_made(made):
    assert [verify(run, INSTRUMENTS).problems for run in find_runs([str(made)])] == [[], []]


@pytest.mark.parametrize(("key", "value"), [
    ("served", {"coin": {"gpt-5": 8}}), ("upstreams", {}), ("statuses", {"ok": 16}),
    ("outcomes", {"ok": 16, "empty": 1}), ("retries", 3), ("simulated", False), ("stamp", None),
    ("merkle_root", "0" * 64), ("state", "incomplete")])
@pytest.mark.parametrize("kind", ["pilot", "run"])
def test_an_edited_field_of_the_manifest_is_named(request, kind, key, value):
    folder = request.getfixturevalue(kind)
    edit(folder, lambda manifest: manifest.update({key: value}))
    assert f"manifest.json: {key}: " in problems(folder)


@pytest.mark.parametrize("key", ["seed", "runs", "temperature", "compliance"])
def test_an_edited_configuration_is_refused_by_verify_and_analysis(pilot, key):
    edit(pilot, lambda manifest: manifest["identity"]["config"].update({key: 7}))
    assert "belongs to another configuration" in problems(pilot)
    with pytest.raises(cli.UsageError, match="another configuration than the journal"):
        analyze.main([str(pilot)])


def test_cells_swapped_in_the_manifest_are_not_analysed(run):
    edit(run, lambda manifest: manifest["identity"]["config"]["toggles"].update(S="low"))
    with pytest.raises(cli.UsageError, match="another configuration than the journal"):
        analyze.main([str(run)])


def first(entries, **changes):
    entries[0].update(changes)
    return entries


def ask_again(entries):
    """Cherry-picking: an answer becomes an error, and the same question is asked once more."""
    return [{**entries[0], "outcome": "provider_error"}, *entries]


def sent(entries, **changes):
    entries[0]["request"].update(changes)
    return entries


def body(entries, **changes):
    data = json.loads(entries[0]["response"]["body"])
    entries[0]["response"]["body"] = json.dumps(data | changes)
    return entries


TRUNCATED = {"choices": [{"finish_reason": "length", "message": {"content": "x"}}]}


@pytest.mark.parametrize(("change", "found"), [
    (lambda e: e[:1], "15 calls have no answer"), (lambda e: e[1:], "1 calls have no answer"),
    (ask_again, "outcome 'provider_error', and the response says"),
    (lambda e: first(e, outcome="empty"), "outcome 'empty', and the response says"),
    (lambda e: body(e, **TRUNCATED), "and the response says 'truncated'"),
    (lambda e: first(e, cost_usd=0.5), "cost_usd 0.5, and the response says 0"),
    (lambda e: first(e, charged_usd=0.5), "charged_usd 0.5, and the response cost 0"),
    (lambda e: first(e, final=True), "final True, and the response says False"),
    (lambda e: first(e, request_sha256="0" * 64), "another question than design and prompts give"),
    (lambda e: [*e, {**e[0], "id": "coin/r99"}], "coin/r99: not in the design"),
    (lambda e: [*e, e[0]], "is answered twice"),
    (lambda e: first(e, at="\ud800"), "not a journal line"),
    *[(lambda e, key=key, value=value: sent(e, **{key: value}), "is not what the design would send")
      for key, value in (("model", "sloppy2"), ("temperature", 0.1), ("seed", 1),
                         ("max_completion_tokens", 9), ("top_p", 0.5), ("messages", []))]])
def test_a_forged_line_is_named_although_the_chain_was_mended(pilot, change, found):
    forge(pilot, change)
    assert found in problems(pilot)


def test_what_a_mended_journal_alone_says_is_not_found_and_the_published_head_finds_it(pilot):
    before = verify(pilot, INSTRUMENTS)
    forge(pilot, lambda entries: body(entries, id="another"))
    edit(pilot, lambda manifest: None)
    after = verify(pilot, INSTRUMENTS)
    assert [line[:27] for line in after.problems] == ["manifest.json: merkle_root:"]
    edit(pilot, lambda manifest: manifest.update(merkle_root=after.root))
    assert verify(pilot, INSTRUMENTS).ok  # forged as a whole: nothing inside tells
    assert not expected_head(verify(pilot, INSTRUMENTS), [before.head_sha256]).ok


def put(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def gone(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def say(**changes):
    return lambda folder: edit(folder, lambda manifest: manifest.update(changes))


def inside(key, **changes):
    return lambda folder: edit(folder, lambda manifest: manifest[key].update(changes))


def lines(change):
    """Change the lines of the journal and mend nothing."""
    def act(folder):
        path = folder / "journal.jsonl.gz"
        path.write_bytes(gzip_bytes(b"".join(change(read_bytes(path).splitlines(True)))))
    return act


def forged(change):
    return lambda folder: forge(folder, change)


def rewritten(name, change, hashed=False):
    """Change a derived file, and its hash in the manifest too."""
    def act(folder):
        path = folder / name
        data = change(read_bytes(path))
        path.write_bytes(gzip_bytes(data) if path.suffix == ".gz" else data)
        if hashed:
            inside("files", **{name: sha256(data)})(folder)
    return act


def without_files(folder):
    gone(*json.loads((folder / "manifest.json").read_bytes())["files"])(folder)
    say(files={})(folder)


def plain_beside(folder):
    data = read_bytes(folder / "journal.jsonl.gz")
    (folder / "journal.jsonl").write_bytes(b"".join(data.splitlines(True)[:-1]))


def retried(e):
    """An attempt that failed before the answer, as it may stand there."""
    failed = {**e[0], "outcome": None, "cost_usd": None, "response": {
        "status": 500, "headers": {}, "body": "", "error": ""}}
    return [failed, {**e[0], "attempt": 2}, *e[1:]]


def asked_otherwise(e):
    first, second, *rest = retried(e)
    return [{**first, "request_sha256": "0" * 64}, second, *rest]


DERIVED = "does not follow from the journal"
TAMPERED = {
    "another instrument": (say(artifact="tournament"), "manifest.json: "),
    "an instrument that nobody knows": (say(artifact="survey"), "is not one of"),
    "a state that nobody knows": (say(state="done"), "state 'done'"),
    "money spent": (inside("cost", spent_usd=1.0), "cost.spent_usd: expected 0"),
    "money spent is no number": (inside("cost", spent_usd="0"), "cost.spent_usd"),
    "attempts counted": (inside("journal", attempts=99), "journal.attempts: expected 16, found 99"),
    "head of the journal": (inside("journal", head_sha256="0" * 64), "journal.head_sha256"),
    "time taken": (say(elapsed_s=1e6), "manifest.json: elapsed_s: "),
    "an end that was none": (say(ended_by="Interrupted"), "manifest.json: ended_by: "),
    "waits": (say(waits=3), "manifest.json: waits: expected 0"),
    "errors": (say(errors={"429": 2}), "manifest.json: errors: expected {}"),
    "a provider of nobody": (say(provider={"dialect": "openrouter"}), "manifest.json: provider: "),
    "the hash of a file": (inside("files", **{"trials.csv": "0" * 64}), "files.trials.csv: not"),
    "a file that there is not": (inside("files", **{"more.csv": "0" * 64}), "files names more.csv"),
    "no files at all": (without_files, "trials.csv: can't be read"),
    "a prompt's hash": (lambda f: edit(f, lambda m: m["identity"]["prompts"].update(
        {next(iter(m["identity"]["prompts"])): "0" * 64})), "is not the text that the run was"),
    "a prompt's text": (rewritten("prompts.json", lambda d: d.replace(b"the ", b"a ")),
                        "is not the text that the run was made with"),
    "a prompt more": (rewritten("prompts.json", lambda d: b'{"x":"y",' + d[1:]), "prompts.json: x"),
    "who answered": (inside("identity", provider="https://openrouter.ai/api/v1"),
                     "manifest.json: "),
    "a decision": (rewritten("trials.jsonl.gz", lambda d: d.replace(
        b'"cooperates":0', b'"cooperates":1', 1)), "trials.jsonl.gz: first difference in line "),
    "a decision, hashed": (rewritten("trials.csv", lambda d: d.replace(
        b"PREEMPT", b"COORDINATE", 1), True), "trials.csv: first difference"),
    "a figure": (rewritten("pilot-analysis.json", lambda d: d.replace(b"0.", b"0.9", 1), True),
                 "pilot-analysis.json: first difference"),
    "a page": (rewritten("report.html", lambda d: d.replace(b"SIMULATED", b"", 1), True),
               "report.html: first difference"),
    "a summary": (rewritten("pilot-summary.md", lambda d: d + b"\nIt is proven.", True),
                  "pilot-summary.md: first difference"),
    "a file gone": (gone("report.html"), "report.html: can't be read"),
    "a second page": (put("report-2.html", b"<p>100%"), f"report-2.html: {DERIVED}"),
    "probes of nobody": (put("probes.jsonl.gz", b""), f"probes.jsonl.gz: {DERIVED}"),
    "packed by another hand": (lambda f: put("trials.jsonl.gz", gzip.compress(
        read_bytes(f / "trials.jsonl.gz")))(f), "not packed by this project"),
    "cut off": (lambda f: put("trials.jsonl.gz", (f / "trials.jsonl.gz").read_bytes()[:-9])(f),
                "trials.jsonl.gz: can't be read"),
    "two lines change places": (lines(lambda x: [x[1], x[0], *x[2:]]), "another configuration"),
    "lines further on do": (lines(lambda x: [*x[:5], x[6], x[5], *x[7:]]), "line 6: does not"),
    "a line twice": (lines(lambda x: [*x[:5], x[4], *x[5:]]), "line 6: does not follow"),
    "a line less": (lines(lambda x: [*x[:5], *x[6:]]), "line 6: does not follow"),
    "the last line less": (lines(lambda x: x[:-1]), "15, found 16"),
    "a character": (lines(lambda x: [*x[:5], x[5].replace(b"a", b"b", 1), *x[6:]]), "line "),
    "half a line more": (lines(lambda x: [*x, b'{"prev":']), "line 17: not a journal line"),
    "bytes of nobody": (lines(lambda x: [*x, b"\xff\xfe\n"]), "line 17: not a journal line"),
    "an empty line": (lines(lambda x: [*x[:3], b"\n", *x[3:]]), "line 4: not a journal line"),
    "no line at all": (lines(lambda x: []), "16 calls have no answer"),
    "no journal": (gone("journal.jsonl.gz"), "no journal.jsonl.gz"),
    "another journal beside it": (plain_beside, "journal.head_sha256"),
    "a dearer answer": (forged(lambda e: first(e, charged_usd=-1e-6)), "not a journal line"),
    "a cheaper answer": (forged(lambda e: first(e, cost_usd=-0.1)), "not a journal line"),
    "an attempt's number": (forged(lambda e: first(e, attempt=2)), "attempt 2, and it is number 1"),
    "a word more": (forged(lambda e: first(e, note="x")), "'note' is no field of a journal line"),
    "another stage": (forged(lambda e: first(e, stage="rating")), "another question than design"),
    "an answer left out": (forged(lambda e: first(e, outcome=None)), "outcome None, and the"),
    "a failure of a foreign id": (forged(lambda e: [{**retried(e)[0], "id": "x/y"}, *e]),
                                  "x/y: not in the design"),
    "a failure that was none": (forged(retried), "manifest.json: retries: expected 1, found 0"),
    "an attempt in other words": (forged(asked_otherwise), "another question than its first"),
    "an error for an answer": (forged(lambda e: first(e, response={
        "status": 500, "headers": {}, "body": "", "error": ""})), "says 'provider_error'"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_tampered_with_is_named(pilot, name):
    act, found = TAMPERED[name]
    act(pilot)
    assert found in problems(pilot)


# What can't be found from inside: the journal is another one, as whole as before, or the manifest
# says what nothing in the journal tells of. A head that was published tells of the former.
NOT_FROM_INSIDE = {
    "times": forged(lambda e: first(e, at="2020-01-01T00:00:00Z")),
    "latency": forged(lambda e: first(e, latency_s=9.0)),
    "words of an error": forged(lambda e: first(e, message="it was fine")),
    "headers": forged(lambda e: first(e, response=e[0]["response"] | {"headers": {"a": "b"}})),
    "order of the answers": forged(lambda e: e[::-1])}
UNSEEN = {"version": say(version="9.9.9"), "Python": say(python="3.99.0"),
          "limit": inside("cost", limit_usd=5.0), "loss": inside("cost", lost_usd=1, spent_usd=1),
          "code": say(code={}), "machine": say(platform="x"), "audit": say(audit={"calls": 1}),
          "sessions": lambda f: edit(f, lambda m: m["sessions"][0].update(started="2020"))}


@pytest.mark.parametrize("name", NOT_FROM_INSIDE)
def test_what_is_not_found_from_inside_differs_from_what_was_published(pilot, name):
    published = verify(pilot, INSTRUMENTS).head_sha256
    NOT_FROM_INSIDE[name](pilot)
    forged = verify(pilot, INSTRUMENTS)
    assert forged.ok and not expected_head(forged, [published]).ok


@pytest.mark.parametrize("name", UNSEEN)
def test_what_nothing_tells_of_is_said_to_be_unproven(pilot, name):
    UNSEEN[name](pilot)
    assert verify(pilot, INSTRUMENTS).ok
    word = {"limit": "limit_usd", "loss": "lost_usd", "machine": "versions",
            "version": "versions", "Python": "versions", "audit": "own account"}.get(name, name)
    assert word in UNPROVEN


def test_files_that_no_run_makes_are_noted(pilot):
    (pilot / "proof.html").write_text("<p>100%")
    assert verify(pilot, INSTRUMENTS).notes == ["1 files are not of this run, such as proof.html"]


@pytest.mark.parametrize("how", ["edited", "gone"])
def test_the_registration_is_the_one_that_the_run_was_made_under(run, how):
    path = run.parent / "prereg.json"
    path.write_bytes(path.read_bytes().replace(b"p < .05", b"p < .50")) if how == "edited" else (
        path.unlink())
    assert "prereg.json: " in problems(run)


def test_a_page_beside_a_run_that_is_not_finished_is_named(pilot):
    edit(pilot, lambda manifest: manifest.update(state="running", files={}))
    (pilot / "report.html").write_text("<p>100%</p>")
    assert "report.html: does not follow from the journal" in problems(pilot)


# --- root and head -----------------------------------------------------------------------------

def test_the_root_is_that_of_rfc_6962():
    """By hand from section 2.1: leaves H(00 d), nodes H(01 l r), the left tree a power of two."""
    import hashlib

    def h(data):
        return hashlib.sha256(data).digest()
    a, b, c = (h(b"\0" + f'{{"x":"{x}"}}'.encode()) for x in "abc")
    assert merkle_root([{"x": "a"}]) == a.hex()
    assert merkle_root([{"x": x} for x in "abc"]) == h(b"\1" + h(b"\1" + a + b) + c).hex()
    assert merkle_root([]) == hashlib.sha256(b"").hexdigest()


def test_the_root_and_the_head_of_a_verified_run_are_printed_to_be_published(pilot, capsys):
    verdict = verify(pilot, INSTRUMENTS)
    analyze.main(["--verify", str(pilot)])
    assert f"root {verdict.root}, head {verdict.head_sha256}\n" in capsys.readouterr().out
    for published in (verdict.root, verdict.head_sha256):
        assert analyze.main(["--verify", "--expect-head", published, str(pilot)]).code == 0


# --- folders of anything -----------------------------------------------------------------------

JUNK = (None, True, -1, 1e308, "", "x", "\u2028", [], {}, [None], {"a": 1}, "0" * 64, 2**70)


def leaves(value, at=()):
    """The path of every leaf and every branch."""
    yield at
    for key, inner in (value.items() if isinstance(value, dict) else
                       enumerate(value) if isinstance(value, list) else ()):
        yield from leaves(inner, (*at, key))


def mutated(data, rng):
    """One place of a JSON value replaced by junk, or gone."""
    data = json.loads(data)
    places = list(leaves(data))[1:]
    *where, last = rng.choice(places)
    owner = data
    for key in where:
        owner = owner[key]
    if isinstance(owner, dict) and rng.random() < 0.3:
        del owner[last]
    else:
        owner[last] = rng.choice(JUNK)
    return data


def ends_in_words(main, *flags):
    """The exit code; anything but a Stop would be a traceback."""
    try:
        return main(list(map(str, flags))).code
    except cli.Stop as stop:
        assert str(stop) and "\n" not in str(stop)
        return stop.code


@pytest.mark.slow
@pytest.mark.parametrize("name", ["manifest.json", "prompts.json", "../prereg.json",
                                  "../plan.json"])
def test_mutations_are_verdicts_and_never_hide_the_next_run(made, run, tmp_path, capsys, name):
    """`RELIABILITY_MUTATIONS=500`: 2,000 of all kinds; every good folder is still judged. With
    `RELIABILITY_EVERY=1` all readers meet all of them."""
    rng, path = random.Random(name), run / name
    good, original = shutil.copytree(made / "p/pilot", tmp_path / "zz/pilot"), path.read_bytes()
    for at in range(MUTATIONS):
        path.write_text(json.dumps(mutated(original, rng)), "utf-8")
        assert all(verify(run, INSTRUMENTS).problems or ["fine"])
        if at % EVERY == 0:
            assert verify(good, INSTRUMENTS).ok
            assert ends_in_words(analyze.main, run, "--out", tmp_path / "a") in (0, 2, 3)
            assert ends_in_words(analyze.main, "--index", run.parent, "--out", tmp_path) == 0
        capsys.readouterr()


@pytest.mark.parametrize("content", [
    b"", b"[" * 100_000, b"\xff\xfe", b"null", b'{"a":',
    b'{"artifact":"prereg","files":{"a":[]},"runs":[]}',
    b'{"artifact":"prereg","files":{},"runs":[true]}'])
@pytest.mark.parametrize("name", ["manifest.json", "prompts.json", "../prereg.json"])
def test_a_file_of_anything_is_a_verdict(run, tmp_path, capsys, name, content):
    (run / name).write_bytes(content)
    assert not verify(run, INSTRUMENTS).ok
    assert ends_in_words(analyze.main, run, "--out", tmp_path / "a") in (0, 2)
    assert ends_in_words(analyze.main, "--index", run.parent, "--out", tmp_path) == 0


# --- a journal under a live process --------------------------------------------------------------

@pytest.mark.parametrize("how", ["shortened", "replaced", "gone", "longer"])
def test_a_journal_that_another_hand_touched_ends_the_run_as_failed(bench, how):
    """The first answer's arrival is when it happens; the second must not be appended to it."""
    def meddle():
        yield request("a")
        path = Path(done["path"])
        if how == "gone":
            path.unlink()
        elif how == "replaced":
            shutil.copy(path, path.with_suffix(".new"))
            path.with_suffix(".new").replace(path)
        else:
            path.write_bytes(b"" if how == "shortened" else path.read_bytes() * 2)
        yield request("b")
    done = {}
    done["path"] = bench([], chains=[one(request("z"))]).path
    with pytest.raises(cli.UsageError, match="shortened or replaced"):
        bench(["a", "b"], usual=completion(), chains=[meddle()], announce=False)
