"""Bearers of ATT: the recheck finds each violation, and none in what our host sends on the simulated air, whose links are decrypted in Python."""

import subprocess

import pytest

import bearer_check
import channel_check
from airlog import load
from connection_check import OTHER
from decryption import read_keys
from test_channel_check import BETWEEN, THEM, US, command
from test_throughput_agreement import ROOT, bluebench

READ, VALUE, NOTE, TELL, OK = b"\x0a\x03\x00", b"\x0bA", b"\x1b\x03\x00A", b"\x1d\x03\x00A", b"\x1e"


class Bearers:
    """PDUs of the fixed channel and of two enhanced bearers, 1 and 2."""

    def __init__(self):
        self.frames = []
        self.frame(US, 5, command(0x17, 1, 0x27, 64, 64, 9, 0x40, 0x41))
        self.frame(THEM, 5, command(0x18, 1, 64, 64, 9, 0, 0x50, 0x51))

    def frame(self, sender, cid, octets):
        self.frames.append((len(self.frames), sender, cid, octets))

    def send(self, sender, bearer, pdu):
        if bearer:
            self.frame(sender, (0x4F if sender == US else 0x3F) + bearer, len(pdu).to_bytes(2, "little") + pdu)
        else:
            self.frame(sender, 4, pdu)


def checked(frames, other):
    channels = channel_check.check(frames, other)
    return channels, bearer_check.check(frames, channels, other)


@pytest.mark.parametrize(
    ("pdus", "rules"),
    [
        ([(US, 0, READ), (US, 1, READ), (US, 2, READ), (THEM, 2, VALUE), (THEM, 0, VALUE), (THEM, 1, VALUE)], []),
        ([(US, 1, READ), (THEM, 1, READ), (US, 1, VALUE), (THEM, 1, VALUE)], []),
        ([(US, 1, READ), (THEM, 1, TELL), (THEM, 1, NOTE), (THEM, 1, VALUE), (US, 1, OK)], []),
        ([(US, 1, READ), (THEM, 1, b"\x01\x0a\x03\x00\x01"), (US, 1, READ), (THEM, 1, VALUE)], []),
        ([(US, 1, b"\x3e"), (THEM, 1, b"\x01\x3e\x00\x00\x06")], []),
        ([(US, 1, READ), (US, 1, READ)], ["one-at-a-time"]), ([(THEM, 0, TELL), (THEM, 0, TELL)], ["one-at-a-time"]),
        ([(US, 1, READ), (THEM, 2, VALUE)], ["answer-unasked"]), ([(US, 0, OK)], ["answer-unasked"]),
        ([(US, 1, READ), (THEM, 1, VALUE), (THEM, 1, VALUE)], ["answer-unasked"]),
        ([(US, 1, READ), (THEM, 1, b"\x13")], ["answer-of-another"]),
        ([(US, 1, READ), (THEM, 1, b"\x01\x08\x03\x00\x01")], ["answer-of-another"]),
    ],
)
def test_each_violation_is_found(pdus, rules):
    made = Bearers()
    for pdu in pdus:
        made.send(*pdu)
    channels, bearers = checked(made.frames, BETWEEN)
    assert ([fault["rule"] for fault in bearers.violations], channels.violations) == (rules, [])


@pytest.mark.parametrize("case", ["eatt/side-by-side", "eatt/indication", "eatt/discovery", "eatt/one-queue", "eatt/beside-fixed-channel"])
def test_bearers_on_the_air(case, tmp_path):
    air, keys = tmp_path / "air.pcapng", tmp_path / "keys"
    run = subprocess.run([bluebench(), "run", case, "--air", air, "--keylog", keys], capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert run.returncode == 0, run.stdout + run.stderr
    log = load(air, keys=read_keys(keys))
    assert log.faults() == []
    made = [checked(connection.frames, OTHER) for connection in log.connections]
    assert [fault for channels, bearers in made for fault in channels.violations + bearers.violations] == []
    # Enhanced bearers have numbers from 0, which no PDU of the fixed channel shares.
    transactions = {bearer for _, bearers in made for bearer in bearers.transactions}
    assert transactions - {"fixed"}, transactions
    if case == "eatt/side-by-side":
        assert max(bearers.most for _, bearers in made) > 1
