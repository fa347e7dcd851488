"""The two domains, and the mark of a test that holds for both."""

import pytest

from cirrus.ask.prompts import load_domain

DOMAINS = {name: load_domain(name) for name in ("cvd", "hospital")}

both = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
