"""Named random streams: the same everywhere, independent of one another."""

import hashlib
import random

from common.rng import SeededRandom


def test_a_stream_is_seeded_by_sha256_of_the_json_list_of_seed_and_path():
    digest = hashlib.sha256(b'[42,"labels",3]').digest()
    outside = random.Random(int.from_bytes(digest, "big"))
    assert SeededRandom(42, "labels", 3).random() == outside.random()


def test_what_was_drawn_elsewhere_moves_no_stream():
    rng = SeededRandom(5).stream("x")
    rng.random(), rng.stream("b").random()
    assert rng.stream("y").getstate() == SeededRandom(5, "x", "y").getstate()
