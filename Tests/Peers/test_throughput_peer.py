"""Bumble runs the throughput service of docs/guide/throughput-service.md and is measured over the simulated air, in real time."""

import json
import re
import subprocess

import pytest

from support import Process, PythonPeer, bluebench, dongles, run_bench
from test_l2cap_pipe import listening

WRITTEN = "B1BE0031-7E57-4ACC-9D3A-0B5E55ED0001"
"""The characteristic of `advertise --as serial` that takes writes."""
ROW = ["--phy", "2m", "--data-length", 251, "--mtu", 247, "--interval", 15, "--seconds", 1]


def measure(tmp_path, over, *options, fault=None):
    """The exit code and the rows."""
    results = tmp_path / "throughput.json"
    with Process(bluebench(), "throughput", "--subject-port", "tcp-listen:0", "--over", over, *ROW, *options, "--json", results) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with PythonPeer("throughput_service.py", f"127.0.0.1:{port.group(1)}", *(["--fault", fault] if fault else [])):
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


@pytest.mark.parametrize("direction", ["to-subject", "from-subject"])
@pytest.mark.parametrize(("channels", "sdu"), [(1, 245), (3, 1000)])
def test_a_foreign_peer_is_measured_on_channels(tmp_path, direction, channels, sdu):
    code, rows, text = measure(tmp_path, "channel", "--direction", direction, "--channels", channels, "--sdu", sdu)
    assert code == 0, text
    [row] = rows
    assert (row["over"], row["direction"], row["mtu"], row["mps"], row["channels"]) == ("channel", direction, sdu, 247, channels)
    assert 0 < row["goodput_kbps"] <= row["ceiling_kbps"] * 1.001 and row["packets_per_event"] > 1 and row["limit"]
    assert row["actual"]["sdu"] == sdu and row["actual"]["mps"] == 247


@pytest.mark.parametrize("psm", ["published", 0x93])
def test_a_product_takes_sdus_on_its_channel(tmp_path, psm):
    """The service's channel as that of a product: what its controller acknowledges counts."""
    results = tmp_path / "product.json"
    with dongles() as (near, far), PythonPeer("throughput_service.py", f"127.0.0.1:{far}") as product:
        product.wait_for("advertising as")
        tester = ["throughput", "--tester", f"tcp:127.0.0.1:{near}", "--peer", "C0:B1:BE:00:00:02/random", "--psm", psm, "--seconds", 1]
        run_bench(*tester, "--sdu", 500, "--json", results)
        [row] = json.loads(results.read_text())["rows"]
        assert (row["over"], row["direction"], row["actual"]["sdu"], row["actual"]["mps"]) == ("channel", "to-subject", 500, 247)
        assert 50 < row["goodput_kbps"] <= row["ceiling_kbps"] * 1.01
        silent = run_bench(*tester, "--direction", "from-subject", expected=1)
        assert "nothing came within" in silent.stdout


@pytest.mark.parametrize("mtu", [516, 517])
@pytest.mark.parametrize("over", ["notify", "write"])
def test_values_end_at_512_octets(tmp_path, over, mtu):
    """Bumble takes and sends no longer ones."""
    code, rows, text = measure(tmp_path, over, "--mtu", mtu)
    assert code == 0, text
    [row] = rows
    assert row["mtu"] == row["actual"]["mtu"] == mtu and row["received"]["octets"] == 512 * row["received"]["packets"] > 0


def test_a_product_gets_values_of_512_octets(tmp_path):
    """What a product's controller acknowledges counts: a value that no server accepts would count, too."""
    results, packets = tmp_path / "product.json", tmp_path / "tester.btsnoop"
    with dongles() as (near, far), Process(bluebench(), "advertise", f"tcp:127.0.0.1:{far}", "--as", "serial") as product:
        [found] = product.wait_for(r"advertising .* at (\S+)")
        run_bench(
            "throughput", "--tester", f"tcp:127.0.0.1:{near}", "--peer", found[1], "--write", WRITTEN, "--mtu", 517,
            "--seconds", 1, "--json", results, "--capture", packets)
    [row] = json.loads(results.read_text())["rows"]
    assert row["actual"]["mtu"] == 517 and row["received"]["octets"] == 512 * row["received"]["packets"] > 0
    lengths = {
        len(layer["fields"]["Attribute_Value"]) // 2 for line in run_bench("show", packets, "--json").stdout.splitlines()
        for layer in json.loads(line)["layers"] if layer["name"] == "ATT_WRITE_CMD"}
    assert lengths == {512}


def test_a_product_that_leaves_its_data_length_short_is_told(tmp_path):
    """A product that streams as soon as its channel is open, in packets of 27 octets: the row says so, and what they cost."""
    results = tmp_path / "product.json"
    with dongles() as (near, far), subprocess.Popen(["yes", "abcdefghijklmnopqrstuvwxyz"], stdout=subprocess.PIPE) as yes:
        try:
            with listening(far, "--spsm", "0x80", "--bonds", "none", input=yes.stdout, output=subprocess.DEVNULL) as (_, (option, address)):
                text = run_bench(
                    "throughput", "--tester", f"tcp:127.0.0.1:{near}", option, address + "/random", "--psm", "0x80", "--direction", "from-subject",
                    "--seconds", 1, "--explain", "--json", results).stdout
        finally:
            yes.kill()
    [row] = json.loads(results.read_text())["rows"]
    assert (row["data_length"], row["actual"]["octets"]) == (251, 27)
    [part] = [part for part in row["missing"] if part["cause"] == "data-length"]
    assert part["text"] == "the product sends 27 octets at most" and part["kbps"] > row["ceiling_kbps"]
    assert "data-length (the product sends 27 octets at most)" in row["explanation"]
    assert re.search(r"\] channel +from-subject +2m +27 ", text), "the table has the length of the link:\n" + text


def test_a_peer_that_spoils_an_sdu_fails_the_row(tmp_path):
    code, _, text = measure(tmp_path, "channel", "--direction", "from-subject", fault="corrupt")
    assert code == 1, text


@pytest.mark.parametrize("fault", ["loss", "duplicate", "disorder", "corrupt"])
def test_a_peer_that_spoils_the_flow_fails_the_row(tmp_path, fault):
    code, _, text = measure(tmp_path, "notify", fault=fault)
    assert code == 1, text


def test_both_ends_ours_reach_the_ceiling_that_bumble_is_measured_against(tmp_path):
    results = tmp_path / "own.json"
    run_bench("throughput", "--over", "notify", *ROW, "--json", results)
    [row] = json.loads(results.read_text())["rows"]
    assert row["percent"] == pytest.approx(100, abs=0.5)
