"""The same seed gives the same bytes; the order of cases changes no verdict."""

import hashlib
import json
import os

import pytest

from support import run_bench


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def verdicts(path):
    return {case["id"]: case["verdict"] for case in json.loads(path.read_text())["cases"]}


def run(folder, *options):
    folder.mkdir(exist_ok=True)
    run_bench("run", "--json", folder / "results.json", "--capture", folder / "capture.btsnoop", "--air", folder / "air.pcapng", *options, expected=None)
    return folder


def test_two_runs_with_the_same_seed_write_the_same_bytes(tmp_path):
    one, other = run(tmp_path / "one", "--seed", 7), run(tmp_path / "other", "--seed", 7)
    for name in ("capture.btsnoop", "air.pcapng"):
        assert (one / name).stat().st_size > 10_000
        assert digest(one / name) == digest(other / name), name
    assert verdicts(one / "results.json") == verdicts(other / "results.json")


def test_another_seed_writes_other_bytes_and_the_same_verdicts(tmp_path):
    one, other = run(tmp_path / "one", "--seed", 7), run(tmp_path / "other", "--seed", 8)
    assert digest(one / "capture.btsnoop") != digest(other / "capture.btsnoop")
    assert verdicts(one / "results.json") == verdicts(other / "results.json")


@pytest.fixture(scope="module")
def in_order(tmp_path_factory):
    return verdicts(run(tmp_path_factory.mktemp("in-order")) / "results.json")


ORDERS = 10 if "SOAK" in os.environ else 3
"""The number of orders; `make soak` runs a hundred."""


@pytest.mark.parametrize("seed", range(1, ORDERS + 1))
def test_shuffling_changes_no_verdict(tmp_path, in_order, seed):
    shuffled = verdicts(run(tmp_path / "shuffled", "--shuffle", seed) / "results.json")
    assert shuffled == in_order
    assert list(shuffled) != list(in_order), "the order is another one"
