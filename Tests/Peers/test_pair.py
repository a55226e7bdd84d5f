"""`bluebench pair` and `bluebench bonds`: two of our programs on the two controllers of a virtual dongle."""

import json
import os
import re
import signal
import stat
import subprocess

import pytest

from support import TIMEOUT, Process, bluebench, dongles, run_bench


class Bench:
    """A central and a peripheral with a bond file each, on the same air."""

    def __init__(self, folder, ports):
        self.folder, self.ports = folder, ports
        self.files = [folder / "central.json", folder / "peripheral.json"]

    def pair(self, central, peripheral, expected=(0, 0), identity=None):
        """The advertised address, and the events of both sides, the central's first. It connects to `identity` if there is one."""
        with Process(
                bluebench(), "pair", f"tcp:127.0.0.1:{self.ports[1]}", "--advertise", "bench", "--json", "--bonds", self.files[1], "--seconds",
                TIMEOUT, *peripheral) as waiting:
            peer = waiting.wait_for(r'"advertising","peer":"([^"]*)"')[0][1]
            done = subprocess.run(
                [bluebench(), "pair", f"tcp:127.0.0.1:{self.ports[0]}", "--peer", identity or peer, "--json", "--bonds", str(self.files[0]), *central],
                capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
            assert (done.returncode, waiting.wait()) == expected, f"{done.stdout}{done.stderr}\n{waiting.text}"
            events = [[json.loads(line) for line in lines if line.startswith("{")] for lines in (done.stdout.splitlines(), waiting.lines)]
            return (peer, *events)


@pytest.fixture
def bench(tmp_path):
    with dongles(2) as ports:
        yield Bench(tmp_path, ports)


def named(events, name):
    return [event for event in events if event["event"] == name]


@pytest.mark.parametrize("central, peripheral, model, level", [
    (["--accept"], ["--accept"], "Numeric Comparison", "secure_connections"),
    (["--accept", "--io", "none"], ["--accept"], "Just Works", "encrypted"),
    (["--io", "keyboard", "--passkey", "42"], ["--io", "display", "--passkey", "42"], "Passkey Entry", "secure_connections"),
    (["--legacy", "--io", "keyboard", "--passkey", "42"], ["--io", "display", "--passkey", "42"], "Passkey Entry", "authenticated"),
    (["--accept", "--legacy", "--no-mitm", "--max-key-size", "7"], ["--accept", "--no-mitm"], "Just Works", "encrypted"),
])
def test_two_sides_pair_and_come_back(bench, central, peripheral, model, level):
    peer, *sides = bench.pair(central, peripheral)
    for events in sides:
        last = events[-1]
        assert (last["event"], last["model"], last["level"], last["bonded"]) == ("paired", model, level, True)
        assert last["key_size"] == (7 if "7" in central else 16)
    numbers = [event["number"] for events in sides for event in named(events, "compare")]
    assert len(set(numbers)) == (1 if model == "Numeric Comparison" else 0)
    assert [event["passkey"] for event in named(sides[1], "passkey")] == (["000042"] if model == "Passkey Entry" else [])
    for path in bench.files:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    _, *again = bench.pair([], [])
    assert [events[-1]["event"] for events in again] == ["encrypted", "encrypted"]
    assert [events[-1]["level"] for events in again] == [level, level]
    listed = json.loads(run_bench("bonds", "list", "--json", "--bonds", bench.files[0]).stdout)
    assert [bond["peer"] for bond in listed] == [peer]
    shown = run_bench("bonds", "show", peer, "--bonds", bench.files[0]).stdout
    assert not re.search("[0-9A-F]{32}", shown), "keys are hidden"
    assert re.search("[0-9A-F]{32}", run_bench("bonds", "show", peer, "--keys", "--bonds", bench.files[0]).stdout)


def test_private_addresses_are_known_to_bonded_peers(bench):
    private = ["--accept", "--private"]
    address, central, peripheral = bench.pair(private, private)
    identities = [events[-1]["peer"] for events in (central, peripheral)]
    assert address != identities[0] and peripheral[1]["peer"] != identities[1]
    later, central, peripheral = bench.pair(private, private, identity=identities[0])
    assert later not in (address, identities[0])
    assert [events[-1]["event"] for events in (central, peripheral)] == ["encrypted", "encrypted"]
    assert peripheral[-1]["peer"] == identities[1]


def test_packets_that_are_read_together_do_not_break_a_pairing(tmp_path):
    with dongles(2, "--quirk", "joins-packets=200") as ports:
        private = ["--accept", "--private"]
        bench = Bench(tmp_path, ports)
        _, *sides = bench.pair(private, private)
        assert [events[-1]["event"] for events in sides] == ["paired", "paired"]
        _, *sides = bench.pair(private, private, identity=sides[0][-1]["peer"])
        assert [events[-1]["event"] for events in sides] == ["encrypted", "encrypted"]


def test_what_happens_when_a_side_has_lost_the_bond(bench):
    peer, *_ = bench.pair(["--accept"], ["--accept"])
    assert run_bench("bonds", "forget", "--all", "--bonds", bench.files[1]).stdout.startswith("forgot ")
    _, events, _ = bench.pair([], [], expected=(1, 1))
    assert "PIN_Or_Key_Missing" in events[-1]["reason"] and "--again" in events[-1]["reason"]
    _, events, _ = bench.pair(["--accept", "--again"], ["--accept"])
    assert events[-1]["event"] == "paired"


def test_a_weaker_pairing_takes_no_bonds_place(bench):
    bench.pair(["--accept"], ["--accept"])
    before = bench.files[1].read_text()
    _, _, events = bench.pair(["--accept", "--again", "--no-mitm", "--io", "none", "--accept-weaker"], ["--accept", "--again", "--no-mitm"], expected=(1, 1))
    assert "Authentication_Requirements" in events[-1]["reason"]
    assert json.loads(bench.files[1].read_text())["bonds"][0]["peer_ltk"] == json.loads(before)["bonds"][0]["peer_ltk"]


def test_wrong_passkey_is_told_on_both_sides(bench):
    _, *sides = bench.pair(["--io", "keyboard", "--passkey", "1"], ["--io", "display", "--passkey", "2"], expected=(1, 1))
    for events in sides:
        assert "Confirm_Value_Failed" in events[-1]["reason"]


def test_gatt_and_scan_use_bonds(bench):
    peer, *_ = bench.pair(["--accept"], ["--accept"])
    with Process(
            bluebench(), "pair", f"tcp:127.0.0.1:{bench.ports[1]}", "--advertise", "bench", "--json", "--bonds", bench.files[1]) as waiting:
        waiting.wait_for("advertising")
        near = f"tcp:127.0.0.1:{bench.ports[0]}"
        reports = run_bench("scan", near, "--bonds", bench.files[0], "--count", 1, "--passive").stdout
        assert peer.split("/")[0] in reports
        lines = run_bench("gatt", near, "--peer", peer, "--bonds", bench.files[0]).stdout.splitlines()
        assert lines[1] == "encrypted with the key of the bond, 16 octets"
        assert waiting.wait() == 0
    kept = json.loads(bench.files[0].read_text())["bonds"][0]["database"]
    assert [service["uuid"] for service in kept["services"]] == ["0x1800", "0x1801"]


def test_ctrl_c_still_reports(bench):
    with Process(bluebench(), "pair", f"tcp:127.0.0.1:{bench.ports[1]}", "--advertise", "bench", "--json", "--bonds", "none") as waiting:
        waiting.wait_for("advertising")
        os.kill(waiting.pid, signal.SIGINT)
        assert waiting.wait() == 3
        assert json.loads([line for line in waiting.lines if line.startswith("{")][-1])["event"] == "interrupted"


@pytest.mark.parametrize("content, mode, reason", [
    ("{}", 0o600, "damaged"), ('{"format": "bluebench bonds", "version": 9, "bonds": []}', 0o600, "version 9"),
    ('{"format": "bluebench bonds", "version": 1, "bonds": []}', 0o644, "others may read"),
])
def test_a_bond_file_that_cannot_be_used_is_kept(tmp_path, content, mode, reason):
    path = tmp_path / "bonds.json"
    path.write_text(content)
    path.chmod(mode)
    result = run_bench("bonds", "forget", "--all", "--bonds", path, expected=2)
    assert reason in result.stderr and result.stderr.count("\n") == 1
    assert path.read_text() == content


def test_a_pairing_serves_both_transports(bench):
    """Both sides store the same link key; a device with a static address stores none."""
    peer, *sides = bench.pair(["--accept", "--bredr"], ["--accept", "--bredr"])
    assert peer.endswith("/public")
    keys = [json.loads(file.read_text())["bonds"][0]["link_key"] for file in bench.files]
    assert keys[0] == keys[1] and (keys[0]["type"], keys[0]["size"]) == (8, 16)
    listed = run_bench("bonds", "--bonds", bench.files[0]).stdout
    assert "BR/EDR: Authenticated_Combination_P256" in listed and keys[0]["key"] not in listed
    bench.pair(["--accept", "--again"], ["--accept", "--again"])
    assert json.loads(bench.files[0].read_text())["bonds"][0]["link_key"] == keys[0]
    for file in bench.files:
        file.unlink()
    bench.pair(["--accept"], ["--accept", "--bredr"])
    assert all("link_key" not in json.loads(file.read_text())["bonds"][0] for file in bench.files)


def pair_in_virtual_time(ports, central, peripheral, environment):
    """Two of our programs pair in virtual time; their events."""
    words = [["--advertise", "bench", *peripheral], ["--peer", "bench", *central]]
    sides = [
        subprocess.Popen(
            [bluebench(), "pair", f"tcp:127.0.0.1:{port},virtual-time=2", "--accept", "--json", *map(str, more)], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for port, more in zip(reversed(ports), words)]
    try:
        outputs = [side.communicate(timeout=TIMEOUT) for side in sides]
    finally:
        for side in sides:
            side.kill()
    assert all('"paired"' in out for out, _ in outputs), outputs
    return outputs


def test_secrets_of_virtual_time_serve_no_real_device(tmp_path):
    environment = os.environ | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    with dongles(2, virtual_time=True) as ports:
        pair_in_virtual_time(ports, ["--private"], ["--private"], environment)
        assert not (tmp_path / "data").exists(), "no command in virtual time opens the default file"
    files = [tmp_path / "central.json", tmp_path / "peripheral.json"]
    with dongles(2, virtual_time=True) as ports:
        pair_in_virtual_time(ports, ["--bonds", files[0]], ["--bonds", files[1]], environment)
    for file in files:
        document = json.loads(file.read_text())
        assert document["virtual_time"] is True and document["bonds"] and document["identity"]
        assert "can be used only there" in run_bench("bonds", "--bonds", file).stderr
    with dongles(2) as ports:
        device, before = f"tcp:127.0.0.1:{ports[0]}", files[0].read_text()
        for words in (
                ["pair", device, "--peer", "x"], ["gatt", device, "--peer", "C0:B1:BE:00:00:01"], ["scan", device], ["survey", device, "--peer", "x"],
                ["advertise", device], ["l2cap", device, "--listen"], ["bridge", device, "--advertise", "x"],
                ["run", "accessory", "--tester", device, "--peer", "x"]):
            refused = run_bench(*words, "--bonds", files[0], expected=2)
            assert "it was made in virtual time" in refused.stderr, refused.stderr
        assert files[0].read_text() == before


def test_keys_of_real_devices_stay_out_of_virtual_time(bench):
    bench.pair(["--accept"], ["--accept"])
    with dongles(1, virtual_time=True) as [port]:
        before = bench.files[0].read_text()
        refused = run_bench("pair", f"tcp:127.0.0.1:{port},virtual-time", "--peer", "x", "--bonds", bench.files[0], expected=2)
        assert "keys of real devices" in refused.stderr and bench.files[0].read_text() == before
        for words in ([], ["--peer", "Bluebench Reference"]):
            refused = run_bench("run", "accessory", "--list", *words, "--bonds", bench.files[0], expected=2)
            assert "keys of real devices" in refused.stderr, "two virtual devices are in virtual time, too"


def test_removed_bonds_are_reported_when_they_are_next_used(tmp_path):
    bonds = tmp_path / "bonds.json"
    with dongles(2) as ports, Process(bluebench(), "advertise", f"tcp:127.0.0.1:{ports[0]}", "--bonds", bonds) as server:
        [address] = server.wait_for(r"^advertising '.*' at (\S+)")
        bonds.unlink()
        for _ in range(2):
            run_bench("gatt", f"tcp:127.0.0.1:{ports[1]}", "--peer", address[1], "--bonds", "none")
        server.wait_for("bonds in .*: the file was removed while the command ran")
        assert len([line for line in server.lines if "was removed" in line]) == 1


@pytest.mark.parametrize("given", ["file", "variable"])
def test_a_passkey_is_no_argument_that_others_see(bench, tmp_path, monkeypatch, given):
    (tmp_path / "key").write_text("42\n")
    if given == "variable":
        monkeypatch.setenv("BLUEBENCH_PASSKEY", "42")
    words = ["--passkey-file", tmp_path / "key"] if given == "file" else []
    _, *sides = bench.pair(["--io", "keyboard", *words], ["--io", "display", *words])
    assert {events[-1]["model"] for events in sides} == {"Passkey Entry"}


@pytest.mark.parametrize("text", ["", "x", "1000000", "-1", "1" * 5000])
def test_a_file_without_a_passkey_is_refused(tmp_path, text):
    (tmp_path / "key").write_text(text)
    refused = run_bench("pair", "tcp:127.0.0.1:1", "--peer", "x", "--bonds", "none", "--passkey-file", tmp_path / "key", expected=2)
    assert "--passkey-file" in refused.stderr
