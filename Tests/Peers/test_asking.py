"""Accessories that start procedures of their own, or use two addresses: Bumble peripherals against `pair`, `gatt` and `bridge`."""

import contextlib
import json
import re

from asking import ADDRESS
from slow_pipe import slow_pipe
import pytest

from support import Process, PythonPeer, bluebench, dongles, run_bench

pytestmark = pytest.mark.wall_time

PEER = f"{ADDRESS}/random"


@contextlib.contextmanager
def accessory(kind, *options, virtual_time=True):
    """The tester's selector, or in real time its port, and the accessory on the other one."""
    with dongles(2, *options, virtual_time=virtual_time) as ports:
        target = f"{'virtual:' if virtual_time else ''}127.0.0.1:{ports[1]}"
        with PythonPeer("asking.py", target, kind) as device:
            device.wait_for("advertising")
            yield f"tcp:127.0.0.1:{ports[0]},virtual-time" if virtual_time else ports[0], device


def events(result):
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def test_a_pairing_that_the_accessory_asks_for_is_the_one_that_was_wanted(tmp_path):
    with accessory("security", virtual_time=False) as (port, device), slow_pipe(port, late=0.3) as slow:
        told = events(run_bench(
            "pair", f"tcp:127.0.0.1:{slow}", "--peer", PEER, "--no-mitm", "--json", "--bonds", tmp_path / "bonds.json"))
        assert told[-1]["event"] == "paired" and not [event for event in told if event["event"] == "consent"], told
        device.wait_for("paired")
    assert "pairing failed" not in device.text and device.text.count("paired") == 1


def test_a_request_behind_the_mtu_response_is_within_the_new_mtu():
    with accessory("mtu", virtual_time=False) as (port, device), slow_pipe(port, batch=0.2) as slow:
        run_bench("gatt", f"tcp:127.0.0.1:{slow}", "--peer", PEER, "--mtu", 100, "--bonds", "none")
        [answer] = device.wait_for("answered (.*)")
    # Attribute Not Found, not Invalid PDU.
    assert answer.group(1) == "010601000a", device.text


def test_an_accessory_with_a_public_identity_is_found_again(tmp_path):
    bonds = tmp_path / "bonds.json"
    with accessory("public-identity") as (tester, device):
        pair = ["pair", tester, "--no-mitm", "--json", "--bonds", bonds]
        first, again = (events(run_bench(*pair, "--peer", PEER))[-1] for _ in range(2))
        assert (first["event"], again["event"]) == ("paired", "encrypted") and first["peer"] == again["peer"]
        assert first["peer"].endswith("/public")
        assert "encrypted with the key of the bond" in run_bench("gatt", tester, "--peer", PEER, "--bonds", bonds).stdout
        # The identity resolves to the address on the air.
        assert events(run_bench(*pair, "--peer", first["peer"]))[-1]["event"] == "encrypted"
        [bond] = json.loads(bonds.read_text())["bonds"]
        assert (bond["peer"], bond["address"]) == (first["peer"], PEER)
        results = tmp_path / "results.json"
        run_bench(
            "run", "accessory-security/reconnects-encrypted", "--tester", tester, "--peer", ADDRESS, "--bonds", "none", "--json", results)
    [case] = json.loads(results.read_text())["cases"]
    assert case["verdict"] == "PASS", case


def test_an_accessory_that_gives_an_irk_and_keeps_its_address_stays_known(tmp_path):
    with accessory("irk") as (tester, _):
        pair = [
            "pair", tester, "--peer", PEER, "--private", "--no-mitm", "--json", "--seconds", 30, "--bonds", tmp_path / "bonds.json"]
        assert [events(run_bench(*pair))[-1]["event"] for _ in range(2)] == ["paired", "encrypted"]


def test_a_bridge_needs_no_public_address_on_the_air(tmp_path):
    bonds = tmp_path / "bonds.json"
    with accessory("dual", "--profile", "dual") as (tester, _):
        told = events(run_bench(
            "bridge", tester, "--peer", PEER, "--json", "--bonds", bonds, "--wait", 30, expected=None))
        names = [event["event"] for event in told]
        assert names[:3] == ["connected", "paired", "link_key"], told
    assert json.loads(bonds.read_text())["bonds"][0]["link_key"]["type"] == 7


def test_a_bridge_says_why_there_is_no_link_key(tmp_path):
    with accessory("public-identity", "--profile", "dual") as (tester, _):
        result = run_bench(
            "bridge", tester, "--peer", PEER, "--json", "--bonds", tmp_path / "bonds.json", "--wait", 30, expected=1)
    assert "LinkKey in its key distribution" in result.stderr and events(result)[-1]["event"] == "failed", result


def test_gatt_and_pair_take_a_name(tmp_path):
    bonds = ["--bonds", tmp_path / "bonds.json"]
    with dongles(2, virtual_time=True) as ports, Process(
            bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]},virtual-time=2", "--as", "keyboard", "--seconds", 120) as device:
        device.wait_for("advertising 'Bluebench")
        tester = f"tcp:127.0.0.1:{ports[0]},virtual-time"
        assert "service 0x1812" in run_bench("gatt", tester, "--peer", "Bluebench Keyboard", "--bonds", "none").stdout
        refused = run_bench("gatt", tester, "--peer", "1812", "--read", "2A4D", "--bonds", "none", expected=1)
        assert "the peer refused to read 0x2A4D: Insufficient_" in refused.stderr, refused
        assert events(run_bench("pair", tester, "--peer", "Bluebench Keyboard", "--no-mitm", "--json", *bonds))[-1]["event"] == "paired"
        assert "encrypted with the key" in run_bench("gatt", tester, "--peer", "Bluebench Keyboard", *bonds).stdout
    with dongles(1, virtual_time=True) as ports:
        assert "'Nobody' was not found" in run_bench("gatt", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--peer", "Nobody", "--bonds", "none", expected=3).stderr


def test_a_name_must_be_whole_and_a_value_has_its_unit():
    with dongles(2, virtual_time=True) as ports, Process(
            bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]},virtual-time=2", "--as", "heart-rate", "--seconds", 120) as device:
        [name] = device.wait_for("advertising '([^']*)'")
        tester = ("gatt", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--bonds", "none", "--peer")
        assert f"a name must be whole: '{name[1]}'" in run_bench(*tester, name[1][:-4], expected=3).stderr
        scanned = run_bench("scan", tester[1], "--service", "FFFE", "--seconds", 2)
        assert scanned.stdout == "" and re.fullmatch(r"bluebench: none of the [1-9]\d* received reports matches\n", scanned.stderr), scanned
        lines = run_bench(*tester, name[1], "--read", "2A38", "--read", "2A19", "--only-value").stdout.splitlines()
        assert len(lines) == 2 and re.fullmatch(r"[0-9A-F]{2}  location [A-Z]\w+.* \(\d\)", lines[0]) and lines[1].endswith(" %"), lines
    assert "--only-value needs --read or --subscribe" in run_bench("gatt", "tcp:127.0.0.1:1", "--peer", "x", "--only-value", expected=2).stderr
