"""tshark decodes our captures: those of a run and the log of the air, without a malformed frame."""

import collections
import os
import socket
import subprocess

import pytest

from support import NO_SUITES, TIMEOUT, ROOT, dongles, once, run_bench

# Correct frames that tshark 4.0 reports as malformed, as filters with reasons. All others fail.
GAPS = {
    "it takes each fragment of advertising data for whole data, and finds AD structures that are cut (Vol 4, Part E, 7.8.54 and 7.8.55)":
        "(bthci_cmd.opcode == 0x2037 || bthci_cmd.opcode == 0x2038) && bthci_cmd.adv_data_operation != 3",
    "it takes each part of a chained report for whole data (Vol 4, Part E, 7.7.65.13)":
        "bthci_evt.le_meta_subevent == 0x0d && bthci_evt.le_ext_advts_event_type.data_status == 1",
    "it takes the data of each AUX_CHAIN_IND, and of what points to one, for whole data (Vol 6, Part B, 2.3.4.9)":
        "btle.advertising_header.pdu_type == 7 && (btle.extended_advertising_header.flags.aux_pointer == 1"
        " || btle.extended_advertising_header.flags.advertiser_address == 0)",
    "it wants data in an Echo Request or Response and after a signalling command that it does not know, which may have none (Vol 3, Part A, 4 and 4.9)":
        "btl2cap.cid == 5 && (btl2cap.cmd_code > 0x1a || (btl2cap.cmd_code in {0x08, 0x09} && btl2cap.length == 4))",
    "cases cut signalling commands on purpose, or add an octet: their header, or requests for a channel and for a disconnection (Vol 3, Part A, 4, 4.6 and 4.22)":
        "btl2cap.cid == 5 && (btl2cap.length < 4 || (btl2cap.cmd_code == 0x14 && btl2cap.length < 14) || (btl2cap.cmd_code == 0x06 && btl2cap.length < 8)"
        " || btl2cap.cmd_code == 0x00)",
    "it takes a channel whose request was refused for connected, and one octet or none on it for half an SDU length (Vol 3, Part A, 4.23)":
        "btl2cap.cid == 0x0040 && btl2cap.length < 2",
    "it takes a part of a long value for the whole value (Vol 3, Part F, 3.4.4.5 and 3.4.6.1)": "btatt.opcode in {0x0d, 0x16, 0x17}",
    "it reads values of one and two octets as in an earlier database of the same address (Vol 3, Part G, 2.5.1)":
        "btatt.opcode == 0x12 && (btl2cap.length == 4 || btl2cap.length == 5)",
    "it wants a UUID in the include of a service whose UUID has 128 bits, where there is none (Vol 3, Part G, 3.2)":
        "btatt.opcode == 0x09 && btatt.length == 6",
    "it takes a channel of LE for one of SDP, which earlier had the same CID (Vol 3, Part A, 2.1)": "btsdp",
    "it reads octets that only fill advertising data as structures, and looks for the last one's end (Vol 3, Part C, 11)":
        "btcommon.eir_ad.entry.type == 0x5a || btcommon.eir_ad.entry.type == btcommon.eir_ad.entry.length"
        " || (btcommon.eir_ad.entry.length == 0x11 && btcommon.eir_ad.entry.type == 0x22)",
    "it wants the Basic L2CAP header in a start fragment, which may have any length (Vol 3, Part A, 1.4)":
        "bthci_acl && frame.len < 10",
    "cases send on the channels of BR/EDR over LE, where nobody has opened them (Vol 3, Part A, 2.1)": "btl2cap.cid in {1, 2, 3, 7}",
    "cases advertise one octet, which is half a structure for it (Vol 3, Part C, 11)":
        "bthci_evt.data_length == 1 || bthci_cmd.le_data_length == 1 || btle.advertising_header.length == 7"
        " || (btle.advertising_header.pdu_type == 7 && btle.advertising_header.length == 11)",
    "it wants more octets than Truncated Page and the commands of MWS coexistence without an element have (Vol 4, Part E, 7.1.47, 7.3.81, 7.3.84 and 7.3.85)":
        "bthci_cmd.opcode in {0x043f, 0x0c6f, 0x0c72, 0x0c73}",
    "cases cut commands of the security manager on purpose, to less than their fields (Vol 3, Part H, 3.5.1, 3.5.3 and 3.5.6)":
        "(btsmp.opcode == 0x01 && btl2cap.length < 7) || (btsmp.opcode == 0x03 && btl2cap.length < 17) || (btsmp.opcode == 0x0c && btl2cap.length < 65)",
}


CHANNELS = {"bredr-l2cap", "bredr-lmp", "bridge", "ctkd", "gatt-bredr", "rfcomm", "sdp"}
"""Suites over BR/EDR with octets that are no protocol's, on channels that nobody has opened or that a case breaks on purpose; `test_bredr_wireshark.py`
has tshark read such channels when nothing is wrong with them."""

BROKEN = {"accessory-robust"}
"""Suites that send malformed PDUs to a device."""


FILES = ["capture.btsnoop", "capture.pcapng", "air.pcapng"]
SOME = ["eatt", "gap-adv", "gatt", "hci", "l2cap", "phy", "smp-sc"]
"""Suites whose capture is also written as pcapng; all of them with SOAK=1."""
PART = [] if "SOAK" in os.environ else ["--shard", "1/5"]
"""A fifth of the cases of the suites; `make soak` runs all."""


def make(folder):
    others = NO_SUITES | CHANNELS | BROKEN
    suites = sorted(path.name for path in (ROOT / "Conformance").iterdir() if path.is_dir() and path.name not in others)
    run_bench("run", *suites, *PART, "--capture", folder / "capture.btsnoop", "--air", folder / "air.pcapng", expected=None)
    run_bench("run", *(suites if "SOAK" in os.environ else SOME), *PART, "--capture", folder / "capture.pcapng", expected=None)
    for name in FILES:
        fields = tshark(folder / name, "-T", "fields", *(part for name in Reading.FIELDS for part in ("-e", name)))
        Reading.text(folder / name).write_text("\n".join(fields))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return once(tmp_path_factory, "wireshark", make)


def tshark(path, *options):
    result = subprocess.run(["tshark", "-n", "-r", path, *options], capture_output=True, text=True, timeout=TIMEOUT * 5)
    assert result.returncode == 0, result.stderr
    assert "appears to" not in result.stderr and "cut short" not in result.stderr, result.stderr
    return result.stdout.splitlines()


HCI_FIELDS = [
    "bthci_cmd.opcode", "bthci_evt.opcode", "bthci_evt.status", "bthci_evt.bd_addr", "bthci_evt.advertising_sid",
    "bthci_evt.le_ext_advts_event_type.data_status", "bthci_evt.le_meta_subevent",
]
AIR_FIELDS = ["btle.access_address", "btle.control_opcode", "btle.data_header", "btle.crc.incorrect", "btle_rf.flags.crc_valid"]


class Reading:
    """All frames of a file, read once: each as a dictionary of the fields that any test needs."""

    FIELDS = ["frame.number", "frame.protocols", "_ws.malformed", *HCI_FIELDS, *AIR_FIELDS]

    def __init__(self, path):
        self.path = path
        self.frames = [dict(zip(self.FIELDS, line.split("\t"))) for line in self.text(path).read_text().split("\n")]

    @staticmethod
    def text(path):
        """The file with the fields of all frames, a line for each."""
        return path.with_name(path.name + ".txt")

    @property
    def malformed(self):
        return {int(frame["frame.number"]) for frame in self.frames if frame["_ws.malformed"]}

    def last_parts(self):
        """Reports that complete a chain: the previous report of the same advertiser and set announced more data."""
        unfinished, found = set(), set()
        for frame in self.frames:
            if frame["bthci_evt.le_meta_subevent"] != "0x0d":
                continue
            advertiser = frame["bthci_evt.bd_addr"], frame["bthci_evt.advertising_sid"]
            if int(frame["bthci_evt.le_ext_advts_event_type.data_status"].split(",")[-1], 0) == 1:
                unfinished.add(advertiser)
            elif advertiser in unfinished:
                unfinished.discard(advertiser)
                found.add(int(frame["frame.number"]))
        return found

    def refused_commands(self):
        """Commands that a case deliberately sends malformed: the controller refuses them."""
        waiting, found = {}, set()
        for frame in self.frames:
            command, event, status = frame["bthci_cmd.opcode"], frame["bthci_evt.opcode"], frame["bthci_evt.status"]
            if command:
                waiting[command] = int(frame["frame.number"])
            elif event in waiting and status and int(status, 0) == 0x12:
                found.add(waiting.pop(event))
        return found

    def enciphered(self):
        """Packets of links on which encryption has started: without the key tshark takes them for plaintext."""
        started, found = set(), set()
        for frame in self.frames:
            if not frame["btle.data_header"]:
                continue
            link, opcode = frame["btle.access_address"], frame["btle.control_opcode"]
            if link in started:
                found.add(int(frame["frame.number"]))
            elif opcode and int(opcode, 0) == 0x05:
                started.add(link)
        return found


@pytest.fixture(scope="module", params=FILES[:2])
def hci(files, request):
    return Reading(files / request.param)


@pytest.fixture(scope="module")
def air(files):
    return Reading(files / "air.pcapng")


def unexplained(reading):
    """The output of tshark for frames that only it reports as malformed."""
    explained = reading.last_parts() | reading.refused_commands() | reading.enciphered()
    if not reading.malformed - explained:
        return []
    gaps = " || ".join(f"({gap})" for gap in GAPS.values())
    return [line for line in tshark(reading.path, "-Y", f"_ws.malformed && !({gaps})") if int(line.split()[0]) not in explained]


def test_no_malformed_frame_to_and_from_controllers(hci):
    assert not unexplained(hci)[:20]


def test_no_malformed_frame_on_the_air(air):
    assert not unexplained(air)[:20]


def every_layer_is_recognised(reading, protocols):
    seen = collections.Counter(part for frame in reading.frames for part in set(frame["frame.protocols"].split(":")))
    assert protocols <= set(seen), seen
    assert seen["data"] == 0, "octets that no dissector wanted"


def test_every_layer_to_and_from_controllers_is_recognised(hci):
    every_layer_is_recognised(hci, {"bthci_cmd", "bthci_evt", "bthci_acl", "btl2cap", "btatt"})


def test_every_layer_on_the_air_is_recognised(air):
    every_layer_is_recognised(air, {"btle_rf", "btle", "btl2cap", "btatt"})


def test_the_checksums_on_the_air_are_right(air):
    assert [frame for frame in air.frames if frame["btle.crc.incorrect"] or frame["btle_rf.flags.crc_valid"] in ("0", "False")] == []


def test_the_answer_to_an_inquiry_is_named(tmp_path):
    """An FHS packet on the BR/EDR interface, with its header and payload in order; beside it, the LE packets."""
    air = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", air) as ports:
        hosts = [socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) for port in ports]
        hosts[1].sendall(bytes.fromhex("01240c0304025a" "01470c0101" "011a0c0101"))  # class of device, interlaced scan, inquiry scan
        hosts[1].sendall(bytes.fromhex("0106200fa000a0000000000000000000000700" "010a200101"))  # legacy advertising
        hosts[0].sendall(bytes.fromhex("01010405338b9e0801"))  # inquiry with the general LAP, for one response
        seen = b""
        while b"\x04\x01\x01\x00" not in seen:
            octets = hosts[0].recv(4096)
            assert octets, seen.hex()
            seen += octets
        for each in hosts:
            each.close()
    answers = tshark(air, "-Y", "btbredr_fhs", "-T", "fields", "-e", "frame.interface_name", "-e", "btbredr_fhs.eir", "-e", "_ws.col.Info")
    assert len(answers) == 1 and "air, BR/EDR" in answers[0] and "FHS" in answers[0], answers
    assert tshark(air, "-Y", "_ws.malformed || _ws.expert.severity >= 0x600000") == []
    protocols = set(tshark(air, "-T", "fields", "-e", "frame.protocols"))
    assert any("btle" in line for line in protocols) and any("btbredr" in line for line in protocols), protocols
