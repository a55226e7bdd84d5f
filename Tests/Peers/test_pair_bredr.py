"""`bluebench pair --transport bredr` and `bluebench scan --bredr`: two of our programs on two dual-mode virtual dongles."""

import json
import subprocess

import pytest

from support import TIMEOUT, Process, bluebench, dongles, run_bench


class Bench:
    """The paging side, and the discoverable side."""

    def __init__(self, folder, ports):
        self.ports = ports
        self.files = [folder / "initiator.json", folder / "acceptor.json"]

    def waiting(self, transport, *options):
        return Process(
            bluebench(), "pair", f"tcp:127.0.0.1:{self.ports[1]}", "--advertise", "bench", "--transport", transport, "--json", "--bonds",
            self.files[1], "--seconds", TIMEOUT, *options)

    def pair(self, initiator, acceptor, expected=(0, 0), transport="bredr"):
        """The events of both sides, the initiator's first."""
        with self.waiting(transport, *acceptor) as waiting:
            peer = waiting.wait_for(r'"(?:discoverable|advertising)","peer":"([^"]*)"')[0][1]
            done = subprocess.run(
                [bluebench(), "pair", f"tcp:127.0.0.1:{self.ports[0]}", "--peer", peer, "--transport", transport, "--json", "--bonds",
                 str(self.files[0]), *initiator],
                capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
            assert (done.returncode, waiting.wait()) == expected, f"{done.stdout}{done.stderr}\n{waiting.text}"
            return [[json.loads(line) for line in lines if line.startswith("{")] for lines in (done.stdout.splitlines(), waiting.lines)]


@pytest.fixture
def bench(tmp_path):
    with dongles(2, "--profile", "dual") as ports:
        yield Bench(tmp_path, ports)


@pytest.mark.parametrize("initiator, acceptor, model, level, secure", [
    (["--accept"], ["--accept"], "Numeric Comparison", "secure_connections", True),
    (["--accept", "--io", "none", "--no-mitm"], ["--accept", "--no-mitm"], "Just Works", "encrypted", True),
    (["--accept", "--legacy"], ["--accept"], "Numeric Comparison", "authenticated", False),
    (["--no-mitm", "--pin", "0000"], ["--no-mitm", "--pin", "0000"], None, "encrypted", False),
])
def test_two_sides_pair_and_come_back(bench, initiator, acceptor, model, level, secure):
    sides = bench.pair(initiator, acceptor)
    for events in sides:
        last = events[-1]
        assert (last["event"], last.get("model"), last["secure_connections"], last["bonded"]) == ("paired", model, secure, True)
        assert (last["level"], last["key_size"], last["transport"]) == (level, 16, "bredr")
        assert [event["event"] for event in events].count("le_keys") == (1 if secure else 0)
    again = bench.pair([], [])
    assert [events[-1]["event"] for events in again] == ["encrypted", "encrypted"]
    if secure:
        # The LE keys were derived without further questions.
        [le, _] = bench.pair([], [], transport="le")
        assert le[-1]["event"] == "encrypted"


def test_data_out_of_band(bench, tmp_path):
    data = tmp_path / "oob.json"
    sides = bench.pair(["--io", "none", "--oob", str(data)], ["--io", "none", "--oob-own", str(data)])
    assert [(events[-1]["model"], events[-1]["level"]) for events in sides] == [("Out of Band", "secure_connections")] * 2
    # Values of the previous key pair are invalid: the acceptor generates new ones.
    old = tmp_path / "old.json"
    old.write_bytes(data.read_bytes())
    bench.pair(["--again", "--io", "none", "--oob", str(old)], ["--io", "none", "--again", "--oob-own", str(data)], expected=(1, 1))


def test_a_lost_key_is_told(bench):
    bench.pair(["--accept"], ["--accept"])
    bench.files[1].unlink()
    [events, _] = bench.pair([], ["--accept"], expected=(1, 1))
    assert "--again" in events[-1]["reason"]


def test_devices_are_found_by_name(bench):
    with bench.waiting("bredr", "--accept") as waiting:
        peer = waiting.wait_for(r'"discoverable","peer":"([^"]*)"')[0][1]
        found = run_bench("scan", f"tcp:127.0.0.1:{bench.ports[0]}", "--bredr", "--seconds", "4")
        assert f"{peer}" in found.stdout and "'bench'" in found.stdout and "1 device" in found.stdout
