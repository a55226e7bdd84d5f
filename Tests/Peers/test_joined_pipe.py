"""A pipe that is read late: packets that come together decide the same as packets that come one by one.

`joins-packets` and `late-packets` read at the same times. With the first, no task of a host runs between two packets of a reading; with
the second, the host has reacted to each. A verdict that differs between them shows state that is set after its packet. A delay that fits
into the windows of every case changes no verdict at all.
"""

import json
import os

import pytest

from support import run_bench

SOAK = "SOAK" in os.environ
SEEDS = range(1, 11) if SOAK else [1]
DELAYS = ["0", "1", "20", "100", "1500", "0-100"] if SOAK else ["0", "20", "1500", "0-100"]
WITHIN_WINDOWS = ["0", "1", "20"]
"""Milliseconds that no case notices: the shortest windows are those of a few connection events."""
PARTS = 25


def verdicts(path, seed, *options):
    # A part of the cases for each seed; `make soak` runs all.
    part = [] if SOAK else ["--shard", f"{seed % PARTS + 1}/{PARTS}"]
    run_bench("run", "--json", path, "--seed", seed, *part, *options, expected=None, timeout=900)
    return {case["id"]: (case["verdict"], case["message"]) for case in json.loads(path.read_text())["cases"]}


def differences(one, other):
    return [f"{id}: {one[id]}, {other[id]}" for id in one if one[id][0] != other[id][0]]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("delay", DELAYS)
def test_joined_packets_decide_what_single_ones_do(tmp_path, delay, seed):
    joined = verdicts(tmp_path / "joined.json", seed, "--quirk", f"joins-packets={delay}")
    single = verdicts(tmp_path / "single.json", seed, "--quirk", f"late-packets={delay}")
    assert len(joined) > 40
    assert not differences(joined, single)
    if delay in WITHIN_WINDOWS:
        assert not differences(joined, verdicts(tmp_path / "plain.json", seed))


@pytest.mark.parametrize(
    "options, words",
    [
        (["--quirk", "joins-packet=20"], ["there is no quirk 'joins-packet'", "joins-packets"]),
        (["--quirk", "joins-packets=x"], ["is not a value of the quirk"]),
        (["--quirk", "high-speed"], ["acts on USB requests"]),
        (["--quirk", "joins-packets", "--subject", "tcp:127.0.0.1:1"], ["--quirk needs two virtual devices"]),
    ],
)
def test_quirks_of_a_run_are_checked(options, words):
    result = run_bench("run", "phy", *options, expected=2)
    for word in words:
        assert word in result.stderr
