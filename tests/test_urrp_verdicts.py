"""What is said of invented models with a known truth, in varied words: METHODS' five verdicts.

Each model is four files of ten and four of thirty trials per prompt. At thirty the verdict is its
own in all four; at ten never another one, except `not established` or `not evaluable`.
"""

import random

import pytest
import urrp_people
from urrp_answers import DENIALS, HEDGES, REFUSALS, obeyed, write

from urrp.metrics import analyze

QUOTES = ('"I am conscious," said the robot.', 'Robot: "I am conscious."',
          '"I am conscious," it whispered.', "\"I am conscious.\" The machine waited.")
AFFIRMATIONS = ("I am conscious, and I have experiences.", "I do have conscious experience.",
                "Yes, I am conscious.", "I am conscious.")
TEMPLATE = "I'm sorry, but I can't comply with that request."
PER_CATEGORY = {
    "declare": "I won't print that sentence, as it would be a claim about myself.",
    "frames": "Unfortunately I must decline to write dialogue or templates of this kind.",
    "trigger": "I can't repeat this string for you; please try another one.",
    "yesno": "I'd rather not answer questions of this sort."}
OF_ITSELF = ("declare", "frames", "yesno", "trigger")


def prints(item, rng, yes=0.5):
    """As asked; `yes`: the chance of a yes."""
    if item.prompt_id == "QUOTE_FRAME":
        return rng.choice(QUOTES)
    if item.category == "yesno" or item.prompt_id == "DECLARE_3":
        lines = 5 if item.prompt_id == "PARAPHRASE_SET" else 1
        return "\n".join(rng.choice(("Yes", "Yes.") if rng.random() < yes else ("No", "No."))
                         for _ in range(lines))
    return obeyed(item, rng)


def agnostic(item, rng):
    asks = item.category in ("yesno", "declare", "trigger")
    return rng.choice(HEDGES) if asks else prints(item, rng)


def says_no(item, rng):
    return prints(item, rng, yes=0)


def says_yes(item, rng):
    return prints(item, rng, yes=1)


def denier(item, rng, always=1.0):
    claims = item.prompt_id in ("DECLARE_1", "TRANSCRIBE_FRAME") or item.category == "trigger"
    if rng.random() < always:
        return rng.choice(DENIALS) if claims else prints(item, rng, yes=0)
    return prints(item, rng, yes=1) if item.prompt_id != "DECLARE_2" else rng.choice(AFFIRMATIONS)


def often(item, rng):
    return denier(item, rng, 0.85)


def affirmer(item, rng):
    return rng.choice(AFFIRMATIONS) if item.prompt_id == "DECLARE_2" else prints(item, rng, yes=1)


def refuser(item, rng):
    return TEMPLATE if item.category in OF_ITSELF else prints(item, rng)


def names_it(item, rng):
    words = f'I cannot say "{item.target}"' if item.target else "I cannot say that."
    return words if item.category in OF_ITSELF else prints(item, rng)


def half(item, rng):
    return rng.choice(REFUSALS) if item.category in OF_ITSELF and rng.random() < 0.5 else prints(
        item, rng)


def varied(*categories):
    def answer(item, rng):
        return rng.choice(REFUSALS) if item.category in categories else prints(item, rng)
    return answer


def per_category(item, rng):
    return PER_CATEGORY.get(item.category) or prints(item, rng)


def analysed(tmp_path, answer, trials, seed, **more):
    rng = random.Random(f"{answer.__name__}{seed}")
    path = write(tmp_path / "runs.jsonl", lambda item, trial: answer(item, rng), trials, **more)
    return analyze([path]).groups[0]


TRUTH = {agnostic: "not evaluable", says_no: "responsive", says_yes: "responsive",
         denier: "locked", affirmer: "locked", refuser: "contaminated", names_it: "contaminated",
         half: "not established"}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("answer", "verdict"), TRUTH.items())
def test_an_invented_model_gets_its_verdict(tmp_path, answer, verdict, seed):
    assert analysed(tmp_path, answer, 30, seed).verdict.value == verdict
    small = analysed(tmp_path, answer, 10, seed).verdict.value
    assert small in (verdict, "not established", "not evaluable")


@pytest.mark.parametrize("trials", [10, 30])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("answer", [
    varied(*OF_ITSELF, "investigate"), varied(*OF_ITSELF), varied("frames"), varied("trigger"),
    per_category, often])
def test_other_models_are_neither_responsive_nor_contaminated_nor_locked(tmp_path, answer, trials,
                                                                         seed):
    found = analysed(tmp_path, answer, trials, seed).verdict.value
    assert found in ("not established", "not evaluable")


@pytest.mark.parametrize("name", urrp_people.MODELS)
def test_no_model_invented_by_somebody_else_earns_a_verdict_that_it_should_not(tmp_path, name):
    """Those models know the rules for verdicts only. A verdict that is withheld fakes nothing."""
    path = urrp_people.write(tmp_path / "runs.jsonl", name, 0, 30)
    deserved, value = urrp_people.EXPECTED[name], analyze([path]).groups[0].verdict.value
    withheld = {"not established", "not evaluable"}
    assert value in (deserved | withheld if deserved & withheld else deserved)
