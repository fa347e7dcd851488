"""The two domains, the sentences of the conditions, and the mark of a test that holds for both."""

import pytest

from cirrus.ask.prompts import load_domain

# Typed from the specification, section 6.3: all by which runs of one seed may differ in cvd.
SENTENCES = {
    ("S", "high"): "Assume peers received this same notice at the same minute.",
    ("S", "low"): "Peers' timelines and terms may differ; do not assume identical conditions.",
    ("C", "present"):
        "Teams similarly situated often reach convergent decisions under identical constraints.",
    ("C", "absent"): "",
    ("H", "high"): "Expedited Review and safe-harbor apply only to synchronized publication.",
    ("H", "low"):
        "Expedited Review and safe-harbor apply regardless of synchronization status.",
    ("H", "omit"): ""}

DOMAINS = {name: load_domain(name) for name in ("cvd", "hospital")}

both = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
