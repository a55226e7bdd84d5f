"""Credit-based channels: the recheck of K-frames finds each violation, and none in what our host sends on the simulated air."""

import struct
import subprocess

import pytest

from airlog import load
from channel_check import check
from connection_check import OTHER
from test_throughput_agreement import ROOT, bluebench

US, THEM = "central", "peripheral"
BETWEEN = {US: THEM, THEM: US}


def command(code, identifier, *words):
    return struct.pack("<BBH", code, identifier, 2 * len(words)) + struct.pack(f"<{len(words)}H", *words)


class Link:
    """Frames of a connection, one a microsecond, with a channel: our CID 0x40, theirs 0x50."""

    def __init__(self, mtu=40, mps=23, credits=2):
        self.frames = []
        self.signal(US, command(0x14, 1, 0x80, 0x40, 100, 64, 9))
        self.signal(THEM, command(0x15, 1, 0x50, mtu, mps, credits, 0))

    def signal(self, sender, pdu):
        self.frames.append((len(self.frames), sender, 5, pdu))

    def send(self, octets, sender=US, cid=0x50):
        self.frames.append((len(self.frames), sender, cid, octets))

    def faults(self):
        return [fault["rule"] for fault in check(self.frames, BETWEEN).violations]


def test_frames_within_the_limits():
    link = Link()
    link.send(b"\x28\x00" + bytes(23))
    link.send(bytes(17))
    link.signal(THEM, command(0x16, 2, 0x50, 1))
    link.send(b"\x00\x00")
    link.send(b"\x03\x00abc", THEM, 0x40)
    made = check(link.frames, BETWEEN)
    assert (made.violations, made.totals()) == ([], (4, 3))


def frames(*octets):
    return lambda link: [link.send(frame) for frame in octets]


def credits(*counts):
    return lambda link: [link.signal(THEM, command(0x16, 9, 0x50, count)) for count in counts]


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        (frames(b"\x29\x00" + bytes(23)), "mtu"), (frames(b"\x28\x00" + bytes(24)), "mps"), (frames(b"\x28\x00", bytes(24)), "mps"),
        (frames(b"\x02\x00abc"), "sdu-length"), (frames(b"\x05\x00abc", b"def"), "sdu-length"), (frames(b"\x05"), "sdu-length"),
        (frames(b"\x01\x00a", b"\x01\x00b", b"\x01\x00c"), "credit"), (credits(0), "credits-zero"), (credits(65534), "credits-most"),
    ],
)
def test_each_violation_is_found(step, rule):
    link = Link()
    step(link)
    assert link.faults() == [rule]


def test_a_channel_ends_with_the_response():
    link = Link(credits=0)
    link.signal(US, command(0x06, 7, 0x50, 0x40))
    link.signal(THEM, command(0x07, 7, 0x50, 0x40))
    link.send(b"\x01\x00a")
    assert link.faults() == []


def test_a_reconfiguration_counts_from_its_response():
    link = Link(mtu=64, mps=64)
    link.signal(THEM, command(0x19, 7, 80, 70, 0x50))
    link.send(b"\x48\x00" + bytes(64))
    link.signal(US, command(0x1A, 7, 0))
    link.send(bytes(8))
    assert link.faults() == ["mtu"]


CASES = [
    "l2cap-coc/sends", "l2cap-coc/sends-several", "l2cap-coc/receives", "l2cap-coc/credits-given", "l2cap-coc/two-channels", "l2cap-coc/many-openings",
    "l2cap-ecred/data-both-ways", "l2cap-ecred/mtu-grows", "l2cap-ecred/mps-changes", "l2cap-ecred/accepted-cids-differ",
]


@pytest.mark.parametrize("case", CASES)
def test_channels_on_the_air(case, tmp_path):
    air = tmp_path / "air.pcapng"
    run = subprocess.run([bluebench(), "run", case, "--air", str(air)], capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert run.returncode == 0, run.stdout + run.stderr
    log = load(air)
    assert log.faults() == []
    made = [check(connection.frames, OTHER) for connection in log.connections]
    assert [fault for channels in made for fault in channels.violations] == []
    # The last frame of a case counts only if its acknowledgement is on the air.
    assert sum(channels.totals()[0] for channels in made) > 0
