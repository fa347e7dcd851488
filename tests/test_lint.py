"""The limits on size and words: what passes them is named."""

import subprocess

import lint

SEEN = ["own = 1", "def asked_twice(): ...", "class Voice: ...", "def f(mind): ...",
        "for corner in (): ...", "import os as world", "self.told = 1", "class AsideOf: ...",
        "with x as found: ..."]
UNSEEN = ["print(kept)", "'kept'", "owner = return_ = askedfor = 1"]
FILES = {"a.py": "\n".join([*SEEN, *UNSEEN, ""]), "show/page.css": "a {}\n", "docs/a.md": "12345",
         "tests/a.py": "own = 1\n", "pd-agents/b.py": "own = 1\n", "prompts/p.json": "{}\n",
         "show/table.json": "x" * 1000}   # ten lines' worth


def test_a_limit_that_is_passed_and_a_private_name_are_listed(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    sizes = {"product_lines": 23, "product_files": 3, "test_lines": 1, "test_files": 1,
             "docs_bytes": 5, "docs_files": 1}
    assert lint.sizes(tmp_path) == sizes
    assert len(lint.faults(tmp_path, sizes)) == len(SEEN)
    assert "test_lines: 1, at most 0;" in lint.faults(tmp_path, sizes | {"test_lines": 0})[0]
