"""The limits on size and words: what passes them is named, and no limit is ever raised."""

import subprocess

import lint
import pytest

LIMITS = {"product_lines": 10, "product_files": 2, "private_words": {"own": 1, "said": 4}}


@pytest.fixture
def project(tmp_path):
    """project({path: text}) → a folder whose files git tracks."""
    def write(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, "utf-8")
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
        return tmp_path
    return write


def test_product_is_what_is_read_or_run_outside_tests_docs_and_data(project):
    root = project({"a.py": "x = 1\ny = 2\n", "show/page.css": "a {}\n", "prompts/p.json": "{}\n",
                    "tests/test_a.py": "z = 3\n", "docs/a.md": "12345", "results/r.json": "{}\n",
                    "pd-agents/b.py": "v = 1\n", "show/table.json": "x" * 1000})
    assert lint.sizes(root) == {"product_lines": 13, "product_files": 3, "test_lines": 1,
                                "test_files": 1, "docs_bytes": 5, "docs_files": 1}


def test_a_private_word_is_seen_wherever_a_name_is_defined_and_nowhere_else(project):
    seen = ["own = 1", "def asked_twice(): ...", "class Voice: ...", "def f(mind): ...",
            "for corner in (): ...", "import os as world", "self.told = 1", "class AsideOf: ...",
            "with x as found: ..."]
    unseen = ["print(kept)", "'kept'", "owner = return_ = askedfor = 1"]
    root = project({"a.py": "\n".join(seen + unseen) + "\n"})
    assert list(lint.words(root).values()) == [1] * len(seen)


def test_what_passes_a_limit_is_named_and_what_meets_it_is_not():
    assert lint.passed(LIMITS, LIMITS) == []
    faults = lint.passed({"product_lines": 11, "product_files": 3,
                          "private_words": {"own": 2, "told": 1}}, LIMITS)
    assert [fault.split(":")[0] for fault in faults] == [
        "product_lines", "product_files", "names with 'own'", "names with 'told'"]


def test_lowering_takes_the_smaller_figure_of_each_and_forgets_words_that_are_gone():
    assert lint.lowered({"product_lines": 9, "product_files": 5, "private_words": {
        "own": 3, "told": 1}}, LIMITS) == {
            "product_lines": 9, "product_files": 2, "private_words": {"own": 1}}


def test_every_limit_of_the_project_holds():
    assert lint.main([]) == 0
