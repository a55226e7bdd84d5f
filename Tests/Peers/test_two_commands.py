"""Two commands at the same time, on two dongles of one workplace, with bonds in the user's own file."""

import contextlib
import json
import socket
import threading

import pytest

from support import TIMEOUT, Process, bluebench, dongles, run_bench
from test_l2cap_pipe import Pipe, exchange, listening

pytestmark = pytest.mark.wall_time

KEYBOARD = ("--as", "keyboard")


class Workplace:
    """Two dongles of the bench, and two accessories in real time. The first has a bond."""

    def __init__(self, devices, accessories):
        self.devices = devices
        self.peers = [accessory.wait_for(r"advertising '.*' at (\S+)")[0][1] for accessory in accessories]

    def pair(self, number, device=None):
        return [bluebench(), "pair", device or self.devices[number], "--peer", self.peers[number], "--no-mitm", "--json"]

    def gatt(self, number, *options):
        return [bluebench(), "gatt", self.devices[number], "--peer", self.peers[number], "--read", "2A00", *options]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with dongles(4) as ports:
        devices = [f"tcp:127.0.0.1:{port}" for port in ports]
        with Process(bluebench(), "advertise", devices[2], *KEYBOARD) as one, Process(bluebench(), "advertise", devices[3], *KEYBOARD) as other:
            made = Workplace(devices, [one, other])
            finished(Process(*made.pair(0)))
            yield made


def finished(*commands):
    """The texts of commands that end without an error. None of them is left."""
    with contextlib.ExitStack() as left:
        for command in commands:
            left.enter_context(command)
        for command in commands:
            assert command.wait() == 0, command.text
        return [command.text for command in commands]


def bonds():
    return json.loads(run_bench("bonds", "--json").stdout)


def test_two_pairings_at_once_are_both_kept(workplace):
    finished(Process(*workplace.pair(0), "--again"), Process(*workplace.pair(1)))
    assert len(bonds()) == 2
    for number in range(2):
        [text] = finished(Process(*workplace.gatt(number)))
        assert "encrypted with the key of the bond" in text


def test_gatt_beside_gatt(workplace):
    finished(Process(*workplace.pair(1)))
    with Process(*workplace.gatt(0), "--subscribe", "2A4D", "--seconds", TIMEOUT) as first:
        first.wait_for("encrypted with the key of the bond")
        [text] = finished(Process(*workplace.gatt(1)))
        assert "encrypted with the key of the bond" in text and first.running()


def test_pair_beside_what_advertises(workplace, tmp_path):
    own = tmp_path / "bluebench" / "bonds.json"
    with Process(bluebench(), "advertise", workplace.devices[0], "--bonds", own) as first:
        first.wait_for("advertising")
        finished(Process(*workplace.pair(1)))
        assert first.running() and len(bonds()) == 2


@pytest.mark.parametrize("options", [(), ("--pair",)], ids=str)
def test_l2cap_beside_l2cap(workplace, options):
    ports = [device.rsplit(":", 1)[1] for device in workplace.devices]
    with listening(ports[0], *options) as (listener, peer), Pipe(ports[1], *peer, *options) as caller:
        exchange(caller, listener)
        caller.process.stdin.close()
        assert "ended by this side" in caller.wait()
        listener.process.stdin.close()
        listener.wait()


def test_bonds_are_listed_and_forgotten_beside_a_command(workplace):
    with Process(*workplace.gatt(0), "--subscribe", "2A4D", "--seconds", TIMEOUT) as first:
        first.wait_for("encrypted with the key of the bond")
        [bond] = bonds()
        run_bench("bonds", "forget", bond["peer"])
        assert first.running()
    assert bonds() == [], "what the running command has learned does not bring it back"


class Gate:
    """A way to a dongle that is closed at first."""

    def __init__(self, device):
        self._target = device.rsplit(":", 1)[1]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.device = "tcp:127.0.0.1:%d" % self._listener.getsockname()[1]
        self.has_come, self.opens = threading.Event(), threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        near, _ = self._listener.accept()
        self.has_come.set()
        self.opens.wait()
        far = socket.create_connection(("127.0.0.1", self._target))
        threading.Thread(target=self._carry, args=(far, near), daemon=True).start()
        self._carry(near, far)

    def _carry(self, source, sink):
        with contextlib.suppress(OSError):
            while octets := source.recv(4096):
                sink.sendall(octets)
            sink.close()


def test_the_identity_that_is_stored_first_stays(workplace, tmp_path):
    own = ["--bonds", tmp_path / "new.json"]
    gate = Gate(workplace.devices[1])
    with Process(*workplace.pair(1, gate.device), *own) as late:
        # It has read the file, which has no identity yet.
        assert gate.has_come.wait(TIMEOUT)
        finished(Process(*workplace.pair(0), *own))
        gate.opens.set()
        assert late.wait() == 3 and "another command has just stored the identity" in late.text, late.text
    # The gate may still hold its dongle.
    finished(Process(*workplace.pair(1, workplace.devices[0]), *own))
    assert len(json.loads((tmp_path / "new.json").read_text())["bonds"]) == 2
