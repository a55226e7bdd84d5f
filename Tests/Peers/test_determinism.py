"""The same seed gives the same bytes; neither the seed nor the order of cases changes a verdict."""

import hashlib
import json
import os

import pytest

from support import once, run_bench

PART = [] if "SOAK" in os.environ else ["--shard", "1/4"]
"""A quarter of the cases; `make soak` runs all."""


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def verdicts(path):
    return {case["id"]: case["verdict"] for case in json.loads(path.read_text())["cases"]}


def run(folder, *options):
    folder.mkdir(exist_ok=True)
    run_bench("run", "--json", folder / "results.json", "--capture", folder / "capture.btsnoop", "--air", folder / "air.pcapng", *PART, *options, expected=None)
    return folder


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return once(tmp_path_factory, "determinism", lambda folder: run(folder, "--seed", 7))


def test_the_same_seed_writes_the_same_bytes(tmp_path, one):
    other = run(tmp_path / "other", "--seed", 7)
    for name in ("capture.btsnoop", "air.pcapng"):
        assert (one / name).stat().st_size > 10_000
        assert digest(one / name) == digest(other / name), name
    assert verdicts(one / "results.json") == verdicts(other / "results.json")


def test_another_seed_and_order_write_other_bytes_and_the_same_verdicts(tmp_path, one):
    """`make soak` also has a hundred orders, each with another seed."""
    other = run(tmp_path / "other", "--seed", 8, "--shuffle", 1)
    assert digest(one / "capture.btsnoop") != digest(other / "capture.btsnoop")
    expected, found = verdicts(one / "results.json"), verdicts(other / "results.json")
    assert found == expected
    assert list(found) != list(expected), "the order is another one"
