"""Parts of a capture, and the explanation of one, from the command line."""

import json
import re

import pytest

from support import run_bench


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("show") / "run.pcapng"
    run_bench("run", "gatt/mtu-exchange", "--capture", path)
    return path


def numbers(*arguments):
    return [int(line.split()[0]) for line in run_bench("show", *arguments).stdout.splitlines()]


def test_from_and_to_take_packets_and_times(capture):
    every = numbers(capture)
    assert numbers(capture, "--from", 10, "--to", 20) == every[9:20]
    lines = run_bench("show", capture).stdout.splitlines()
    middle = float(lines[len(lines) // 2].split()[1])
    late = [line for line in lines if float(line.split()[1]) >= middle]
    assert run_bench("show", capture, "--from", f"{middle}s").stdout.splitlines() == late, "the same text as without a limit"


def test_connection_is_a_handle_or_an_access_address(capture):
    lines = run_bench("show", capture).stdout.splitlines()
    handle = re.search(r"ACL (0x[0-9A-F]{4})", "\n".join(lines))[1]
    shown = run_bench("show", capture, "--connection", handle).stdout.splitlines()
    assert [line for line in lines if f"ACL {handle} " in line] == [line for line in shown if " ACL " in line]
    assert all(handle in line for line in shown)
    refused = run_bench("show", capture, "--connection", "all", expected=2)
    assert "--connection all" in refused.stderr


def test_explain_hides_addresses_without_keys(capture):
    text = run_bench("explain", capture).stdout
    assert "No fault found" in text and not re.search(r"([0-9A-F]{2}:){5}", text)
    assert re.search(r"([0-9A-F]{2}:){5}", run_bench("explain", "--keys", capture).stdout)


def test_own_rules_match_and_mistakes_are_told(capture, tmp_path):
    rules = tmp_path / "own.yaml"
    rules.write_text('rules:\n  - {id: my-mtu, severity: fault, on: ATT_EXCHANGE_MTU_REQ, message: "MTU {Client_Rx_MTU}"}\n')
    found = json.loads(run_bench("explain", "--json", "--rules", rules, capture).stdout)
    assert found["cause"] == "my-mtu" and found["findings"][0]["message"].startswith("MTU ")
    rules.write_text("rules:\n  - {id: my-mtu, severity: fault, on: ATT_EXCHANGE_MTU, message: text}\n")
    refused = run_bench("explain", "--rules", rules, capture, expected=2)
    assert "own.yaml:2:" in refused.stderr and "did you mean ATT_EXCHANGE_MTU_RE" in refused.stderr


def test_a_control_sequence_in_a_capture_is_not_written(tmp_path):
    def record(packet, flags):
        return len(packet).to_bytes(4, "big") * 2 + flags.to_bytes(4, "big") + bytes(4) + (0x00E03AB44A676000).to_bytes(8, "big") + packet

    name = b"\x1b[31mred\x1b]0;title\x07"
    event = b"\x07" + bytes([7 + len(name)]) + b"\x00" + bytes.fromhex("010203040506") + name
    path = tmp_path / "name.btsnoop"
    path.write_bytes(b"btsnoop\0" + bytes.fromhex("00000001000003ea") + record(b"\x04" + event, 3))
    rules = tmp_path / "own.yaml"
    rules.write_text('rules:\n  - {id: name, severity: note, on: Remote_Name_Request_Complete, message: "{Remote_Name} {BD_ADDR}"}\n')
    for keys in [], ["--keys"]:
        assert "\x1b" not in run_bench("explain", *keys, "--rules", rules, path).stdout
