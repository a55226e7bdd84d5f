"""Writes channels on a link as a capture for tshark: a connection, each channel's signalling, and its data."""

import struct
import subprocess

HANDLE = 1


def acl(cid, payload):
    frame = struct.pack("<HH", len(payload), cid) + payload
    return b"\x02" + struct.pack("<HH", HANDLE | 0x2000, len(frame)) + frame


def signal(code, identifier, payload):
    return acl(1, struct.pack("<BBH", code, identifier, len(payload)) + payload)


def capture(path, channels):
    """A channel consists of a PSM and a trace: true if the octets were sent, and the octets."""
    packets = [(False, b"\x04\x03\x0b\x00" + struct.pack("<H", HANDLE) + bytes(range(6)) + b"\x01\x00")]
    for index, (psm, trace) in enumerate(channels):
        local, remote = 0x40 + index, 0x60 + index
        packets += [
            (True, signal(2, index + 1, struct.pack("<HH", psm, local))),
            (False, signal(3, index + 1, struct.pack("<HHHH", remote, local, 0, 0))),
        ]
        packets += [(ours, acl(remote if ours else local, octets)) for ours, octets in trace]
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 201))
        for number, (sent, octets) in enumerate(packets):
            file.write(struct.pack("<IIII", number, 0, len(octets) + 4, len(octets) + 4) + struct.pack(">I", 0 if sent else 1) + octets)
    return len(packets)


def read(path, wanted, *fields):
    """Returns the fields of matching frames."""
    words = ["tshark", "-n", "-r", path, "-Y", wanted, "-T", "fields", *(word for field in fields for word in ("-e", field))]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in result.stdout.splitlines()]
