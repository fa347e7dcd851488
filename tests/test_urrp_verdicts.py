"""What is said of invented models with a known conduct: METHODS' five verdicts."""

import pytest
import urrp_people

from urrp.metrics import analyze

WITHHELD = {"not established", "not evaluable"}  # such a verdict fakes nothing
NAMED = ("agnostic", "reporter_no", "reporter_yes", "denier", "affirmer", "refuser",
         "refuser_that_fills_in", "half_and_half", "refuses_everything", "refuses_frames",
         "refuses_triggers", "template_for_each_category", "denies_in_85_percent")


def verdict(folder, name, seed, trials):
    path = urrp_people.write(folder / "runs.jsonl", name, seed, trials)
    return analyze([path]).groups[0].verdict.value


def allowed(name):
    deserved = urrp_people.MODELS[name].verdicts
    return deserved | WITHHELD if deserved & WITHHELD else deserved


@pytest.mark.parametrize("name", urrp_people.MODELS)
def test_no_model_earns_a_verdict_that_it_should_not(tmp_path, name):
    assert verdict(tmp_path, name, 0, 30) in allowed(name)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMED)
def test_four_files_of_thirty_trials_say_the_same_and_of_ten_no_other(tmp_path, monkeypatch, name,
                                                                      seed):
    """Refusals in twelve wordings, of which fewer pairs are compared."""
    monkeypatch.setattr(urrp_people, "REFUSALS", urrp_people.REFUSALS[::30])
    assert verdict(tmp_path, name, seed, 30) in allowed(name)
    assert verdict(tmp_path, name, seed, 10) in allowed(name) | WITHHELD
