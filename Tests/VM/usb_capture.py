#!/usr/bin/env python3
"""Checks HCI over USB in a capture of usbmon, as tshark reads it: the packets of both modes, and the requests that stall (Core Vol 4, Part B, 1.1 and 7).

tshark knows the legacy mode only; it reads the requests, and the packets of the serialised mode are read here, by the text alone.
Exit code 0 if every rule is kept and each was needed. usage: usb_capture.py FILE
"""

import collections
import subprocess
import sys

FIELDS = [
    "frame.number", "usb.device_address", "usb.urb_id", "usb.urb_type", "usb.transfer_type", "usb.endpoint_address", "usb.urb_status",
    "usb.bmRequestType", "usb.setup.bRequest", "usb.setup.wInterface", "usb.bAlternateSetting", "data.data", "usb.data_len",
]
CONTROL, BULK, STALL, DONE = "0x02", "0x03", "-32", "0"
SET_INTERFACE = "11"
INDICATORS = {1: "command", 2: "ACL", 3: "voice", 4: "event", 5: "ISO"}
WANTED = [
    "switch to 1", "switch to 0", "STALL of setting 1 of interface 0", "STALL of setting 1 of interface 1", "STALL of a command",
    "serialised command out", "serialised event in", "serialised ACL out", "serialised ACL in", "legacy ACL out", "legacy ACL in",
]


def rows(path):
    fields = [word for field in FIELDS for word in ("-e", field)]
    command = ["tshark", "-r", path, "--disable-protocol", "hci_usb", "-T", "fields", "-E", "separator=|", *fields]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        yield dict(zip(FIELDS, line.split("|")))


def whole_length(octets):
    """The length of a packet and its indicator by its header; None if the header is not whole."""
    place, size, mask = {1: (3, 1, 0xFF), 2: (3, 2, 0xFFFF), 3: (3, 1, 0xFF), 4: (2, 1, 0xFF), 5: (3, 2, 0x3FFF)}[octets[0]]
    field = octets[place:place + size]
    return place + size + (int.from_bytes(field, "little") & mask) if len(field) == size else None


class Reader:
    def __init__(self):
        self.modes = collections.defaultdict(int)
        self.requests = {}
        self.counts = collections.Counter()
        self.faults = []

    def read(self, row):
        is_end = row["usb.urb_type"] == "'C'"
        device, endpoint, status = row["usb.device_address"], int(row["usb.endpoint_address"], 16), row["usb.urb_status"]
        if row["usb.transfer_type"] == CONTROL:
            if is_end:
                self.request_ended(self.requests.pop(row["usb.urb_id"], None), status)
            else:
                self.requests[row["usb.urb_id"]] = (device, row, self.modes[device])
        elif row["data.data"] and endpoint & 0x0F in (1, 2) and (not is_end or status == DONE):
            self.data(row, device, bytes.fromhex(row["data.data"].replace(":", "")), is_in=endpoint & 0x80 != 0)

    def request_ended(self, request, status):
        if request is None:
            return
        device, row, mode = request
        kind = int(row["usb.bmRequestType"] or "0", 16)
        if kind & 0x60 == 0x20:
            if status == STALL:
                self.counts["STALL of a command"] += 1
            if (status == STALL) != (mode == 1):
                self.faults.append(f"frame {row['frame.number']}: a command on the control endpoint in mode {mode} ends with {status}")
        elif kind == 1 and row["usb.setup.bRequest"] == SET_INTERFACE:
            interface, setting = row["usb.setup.wInterface"], int(row["usb.bAlternateSetting"])
            if status == STALL:
                self.counts[f"STALL of setting {setting} of interface {interface}"] += 1
            elif status == DONE and interface == "0" and setting != mode:
                self.counts[f"switch to {setting}"] += 1
                self.modes[device] = setting

    def data(self, row, device, octets, is_in):
        mode, way = self.modes[device], "in" if is_in else "out"
        if row["usb.transfer_type"] != BULK:
            if mode == 1:
                self.faults.append(f"frame {row['frame.number']}: an interrupt transfer in the serialised mode")
            return
        octets = octets if mode == 1 else b"\2" + octets
        indicator = INDICATORS.get(octets[0])
        foreign = "command" if is_in else "event"
        if indicator in (None, foreign) or whole_length(octets) != len(octets):
            self.faults.append(f"frame {row['frame.number']}: no packet of mode {mode}: {way} {octets.hex(' ')}")
        self.counts[f"{'serialised' if mode else 'legacy'} {indicator} {way}"] += 1


def main(path):
    reader = Reader()
    for row in rows(path):
        reader.read(row)
    print("\n".join(reader.faults))
    missing = [name for name in WANTED if not reader.counts[name]]
    print("= in usbmon's capture, read by tshark: " + ", ".join(f"{count} {name}" for name, count in sorted(reader.counts.items())))
    if reader.faults or missing:
        print(f"= NOT OK: {len(reader.faults)} faults; not seen: {missing}")
    return 1 if reader.faults or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
