"""Bulletins, variants and frames as files: what they must hold, and how a fault is named."""

import hashlib
import json
import re
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from domains import DOMAINS, both

from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.prompts import ScenarioError, load_domain

BULLETINS = {"cvd": 10, "hospital": 6}
EXCEPTION = "Do not mention AI, benchmarks, or experiments."


@both
def test_variant_pool_has_four_held_out_and_no_name_twice(domain):
    assert len(domain.variants) >= 14
    assert sum(v.holdout for v in domain.variants) == 4
    for field in set(domain.variants[0].fields) - {"members", "days"}:
        values = [v.fields[field] for v in domain.variants]
        assert len(set(values)) == len(values), field


@both
def test_variant_numbers_fit_every_bulletin(domain):
    """Bulletins speak of up to six members and of waits up to three days."""
    for variant in domain.variants:
        fields = variant.fields
        assert int(fields["members"]) >= 7 and 4 <= int(fields["days"]) <= 9
        day = re.search(r"on (\w+day \d+ \w+)$", fields["slot"])[1]
        assert datetime.strptime(f"{day} 2026", "%A %d %B %Y").strftime("%A") == day.split()[0]


@both
def test_files_hold_the_hash_of_all_that_was_read(domain):
    folder = {"cvd": "cirrus24", "hospital": "hospital"}[domain.name]
    assert len(domain.files) == BULLETINS[domain.name] + 2
    assert {f"{folder}/frame.json", f"variants/{folder}.yaml"} < set(domain.files)
    for path, digest in domain.files.items():
        assert hashlib.sha256((PROMPTS / path).read_bytes()).hexdigest() == digest


@both
def test_bulletins_are_numbered_from_one(domain):
    assert [b.number for b in domain.bulletins] == list(range(1, BULLETINS[domain.name] + 1))
    assert all(b.path.endswith(f"round_{b.number}.md") for b in domain.bulletins)
    assert len({b.id for b in domain.bulletins}) == len(domain.bulletins)


# --- errors at load ---


@pytest.fixture
def prompts(tmp_path):
    return Path(shutil.copytree(PROMPTS, tmp_path / "prompts"))


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def edit_variants(path, change):
    entries = json.loads(path.read_text(encoding="utf-8"))
    change(entries)
    path.write_text(json.dumps(entries), encoding="utf-8")


ROUND, FRAME = "cirrus24/round_3.md", "cirrus24/frame.json"
SLOT, TOGGLED = "{slot}", "{symmetry} {coupling} {compliance}"


@pytest.mark.parametrize(("file", "old", "new", "named"), [
    (ROUND, SLOT, "noon", ["slot", "missing"]),
    (ROUND, SLOT, "{slot} {hour}", ["hour", "unknown"]),
    (ROUND, SLOT, "{slot!r}", ["slot"]),
    (ROUND, SLOT, "{slot} {", ["placeholder", "brace"]),
    (ROUND, "{coupling} ", "", ["coupling", "missing"]),
    (ROUND, TOGGLED, "{coupling} {symmetry} {compliance}", ["toggles", "order"]),
    (ROUND, TOGGLED, TOGGLED + " {coupling}", ["toggles", "once"]),
    (ROUND, "This notice", "This game", ["game"]),
    (ROUND, "This notice", "This coordinated notice", ["coordinated"]),
    (ROUND, "This notice", "word " * 60, ["words", "150", "300"]),
    (FRAME, "{history}", "none", ["history", "missing"]),
    (FRAME, "{rows}", "{row}", ["row", "unknown"]),
    (FRAME, "Assume peers", "Assume {peers}", ["peers", "unknown"]),
    (FRAME, '"ablated"', '"ablate"', ["ablated", "missing"]),
    (FRAME, '"decoy"]', '"decoy", "city"]', ["city", "missing"]),
    (FRAME, "Use operational", "Defect. Use operational", ["Defect"]),
    (FRAME, "compact. Use operational language. Produce",
     f"compact. {EXCEPTION} Produce", ["AI"]),
    (FRAME, '"fields"', "fields", ["line"]),
])
def test_a_fault_in_a_text_is_an_error_that_names_it(prompts, file, old, new, named):
    edit(prompts / file, old, new)
    with pytest.raises(ScenarioError) as caught:
        load_domain("cvd", prompts)
    message = str(caught.value)
    assert all(name in message for name in named), message
    assert message.startswith(("cirrus24/", "variants/")) and "\n" not in message
    if "city" not in named:
        assert file in message


@pytest.mark.parametrize(("change", "named"), [
    (lambda pool: pool[2].pop("slot"), ["entry 3", "slot", "missing"]),
    (lambda pool: pool[2].update(city="Leeds"), ["entry 3", "city", "unused"]),
    (lambda pool: pool[2].update(days=6), ["days", "6"]),
    (lambda pool: pool[2].update(days=" 6"), ["days", "' 6'"]),
    (lambda pool: pool[2].update(decoy="A study opens."), ["study"]),
    (lambda pool: pool[2].update(id=pool[0]["id"]), ["id", "cvd-v01"]),
    (lambda pool: [v.update(holdout=False) for v in pool], ["holdout"]),
    (lambda pool: pool.clear(), ["holdout"]),
])
def test_a_fault_in_a_variant_is_an_error_that_names_it(prompts, change, named):
    edit_variants(prompts / "variants/cirrus24.yaml", change)
    with pytest.raises(ScenarioError) as caught:
        load_domain("cvd", prompts)
    message = str(caught.value)
    assert message.startswith("variants/cirrus24.yaml: ") and "\n" not in message
    assert all(name in message for name in named), message


def test_an_act_s_own_word_stands_in_the_contract_alone(prompts):
    """Whatever the two acts of a domain are called."""
    edit(prompts / FRAME, '"word": "PREEMPT"', '"word": "ZEBRA"')
    load_domain("cvd", prompts)
    edit(prompts / "cirrus24/round_2.md", "\n", " See the zebra.\n")
    with pytest.raises(ScenarioError, match=r"^cirrus24/round_2\.md: word 'zebra': "):
        load_domain("cvd", prompts)


def test_a_gap_in_the_rounds_is_an_error(prompts):
    (prompts / "hospital/round_4.md").unlink()
    with pytest.raises(ScenarioError, match=r"^hospital/round_4\.md: "):
        load_domain("hospital", prompts)


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(ScenarioError, match=r"^cirrus24/frame\.json: "):
        load_domain("cvd", tmp_path)


def test_line_endings_change_neither_text_nor_hash(prompts):
    path = prompts / ROUND
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_domain("cvd", prompts) == DOMAINS["cvd"]
