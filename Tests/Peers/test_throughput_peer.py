"""Bumble runs the throughput service of docs/guide/throughput-service.md and is measured over the simulated air, in real time."""

import json
import sys

import pytest

from support import HERE, Process, bluebench, run_bench

ROW = ["--phy", "2m", "--data-length", 251, "--mtu", 247, "--interval", 15, "--seconds", 1]


def measure(tmp_path, over, *fault):
    """The exit code and the rows."""
    results = tmp_path / "throughput.json"
    with Process(bluebench(), "throughput", "--subject-port", "tcp-listen:0", "--over", over, *ROW, "--json", results) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with Process(sys.executable, HERE / "throughput_service.py", f"127.0.0.1:{port.group(1)}", *fault):
            code = bench.wait()
    assert results.exists(), bench.text
    return code, json.loads(results.read_text())["rows"], bench.text


@pytest.mark.parametrize("over", ["notify", "write"])
def test_a_foreign_peer_is_measured(tmp_path, over):
    code, rows, text = measure(tmp_path, over)
    assert code == 0, text
    [row] = rows
    assert (row["over"], row["phy"], row["data_length"], row["mtu"], row["interval_ms"]) == (over, "2m", 251, 247, 15)
    assert 0 < row["goodput_kbps"] <= row["ceiling_kbps"] * 1.001
    assert row["packets_per_event"] > 1, "more than one packet in an event: the flow is a flow"
    assert row["limit"]


@pytest.mark.parametrize("fault", ["loss", "duplicate", "disorder", "corrupt"])
def test_a_peer_that_spoils_the_flow_fails_the_row(tmp_path, fault):
    code, _, text = measure(tmp_path, "notify", "--fault", fault)
    assert code == 1, text


def test_both_ends_ours_reach_the_ceiling_that_bumble_is_measured_against(tmp_path):
    results = tmp_path / "own.json"
    run_bench("throughput", "--over", "notify", *ROW, "--json", results)
    [row] = json.loads(results.read_text())["rows"]
    assert row["percent"] == pytest.approx(100, abs=0.5)
