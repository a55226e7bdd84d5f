"""tshark reads what we write: the capture of the whole run and the log of the air, without a malformed frame."""

import collections
import socket
import subprocess

import pytest

from support import PATIENCE, ROOT, dongles, run_bench

# What tshark 4.0 calls malformed although it is not, as filters, each with its reason. Everything else fails.
GAPS = {
    "it takes each fragment of advertising data for whole data, and finds AD structures that are cut (Vol 4, Part E, 7.8.54 and 7.8.55)":
        "(bthci_cmd.opcode == 0x2037 || bthci_cmd.opcode == 0x2038) && bthci_cmd.adv_data_operation != 3",
    "it takes each part of a chained report for whole data (Vol 4, Part E, 7.7.65.13)":
        "bthci_evt.le_meta_subevent == 0x0d && bthci_evt.le_ext_advts_event_type.data_status == 1",
    "it takes the data of each AUX_CHAIN_IND, and of what points to one, for whole data (Vol 6, Part B, 2.3.4.9)":
        "btle.advertising_header.pdu_type == 7 && (btle.extended_advertising_header.flags.aux_pointer == 1"
        " || btle.extended_advertising_header.flags.advertiser_address == 0)",
    "it wants data after a signalling command that it does not know, which may have none (Vol 3, Part A, 4)":
        "btl2cap.cid == 5 && btl2cap.cmd_code == 0xf3",
    "it takes a channel whose request was refused for connected, and one octet on it for half an SDU length (Vol 3, Part A, 4.23)":
        "btl2cap.cid == 0x0040 && btl2cap.length == 1",
    "cases cut commands of the security manager on purpose, to less than their fields (Vol 3, Part H, 3.5.1, 3.5.3 and 3.5.6)":
        "(btsmp.opcode == 0x01 && btl2cap.length < 7) || (btsmp.opcode == 0x03 && btl2cap.length < 17) || (btsmp.opcode == 0x0c && btl2cap.length < 65)",
}


CHANNELS = {"bredr-l2cap", "bredr-lmp", "bridge", "ctkd", "gatt-bredr", "rfcomm", "sdp"}
"""Suites over BR/EDR with octets that are no protocol's, on channels that nobody has opened or that a case breaks on purpose; `test_bredr_wireshark.py`
has tshark read such channels when nothing is wrong with them."""

BROKEN = {"accessory-robust"}
"""Suites that send a device what is malformed."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    others = {"mutants", "procedures", "variants"} | CHANNELS | BROKEN
    suites = sorted(path.name for path in (ROOT / "Conformance").iterdir() if path.is_dir() and path.name not in others)
    run_bench("run", *suites, "--json", folder / "results.json", "--capture", folder / "capture.btsnoop", "--air", folder / "air.pcapng", expected=None)
    run_bench("run", *suites, "--capture", folder / "capture.pcapng", expected=None)
    return folder


def tshark(path, *options):
    result = subprocess.run(["tshark", "-n", "-r", path, *options], capture_output=True, text=True, timeout=PATIENCE * 5)
    assert result.returncode == 0, result.stderr
    assert "appears to" not in result.stderr and "cut short" not in result.stderr, result.stderr
    return result.stdout.splitlines()


def numbers(path, wanted):
    return {int(line) for line in tshark(path, "-Y", wanted, "-T", "fields", "-e", "frame.number")}


def last_parts(path):
    """Reports that complete a chain: the report before them, of the same advertiser and set, said that more was to come."""
    fields = ["frame.number", "bthci_evt.bd_addr", "bthci_evt.advertising_sid", "bthci_evt.le_ext_advts_event_type.data_status"]
    unfinished, found = set(), set()
    for line in tshark(path, "-Y", "bthci_evt.le_meta_subevent == 0x0d", "-T", "fields", *(part for field in fields for part in ("-e", field))):
        number, address, sid, status = line.split("\t")
        if int(status.split(",")[-1], 0) == 1:
            unfinished.add((address, sid))
        elif (address, sid) in unfinished:
            unfinished.discard((address, sid))
            found.add(int(number))
    return found


def refused_commands(path):
    """Commands that a case sends malformed on purpose: the controller refuses them as such."""
    fields = ["frame.number", "bthci_cmd.opcode", "bthci_evt.opcode", "bthci_evt.status"]
    waiting, found = {}, set()
    for line in tshark(path, "-T", "fields", *(part for field in fields for part in ("-e", field))):
        number, command, event, status = line.split("\t")
        if command:
            waiting[command] = int(number)
        elif event in waiting and status and int(status, 0) == 0x12:
            found.add(waiting.pop(event))
    return found


def enciphered(path):
    """Packets of links on which encryption has started: without the key tshark takes what it sees for plain."""
    started, found = set(), set()
    fields = ["frame.number", "btle.access_address", "btle.control_opcode"]
    for line in tshark(path, "-Y", "btle.data_header", "-T", "fields", *(part for field in fields for part in ("-e", field))):
        number, link, opcode = line.split("\t")
        if link in started:
            found.add(int(number))
        elif opcode and int(opcode, 0) == 0x05:
            started.add(link)
    return found


@pytest.mark.parametrize("name", ["capture.btsnoop", "capture.pcapng", "air.pcapng"])
def test_no_malformed_frame(files, name):
    path = files / name
    explained = set().union(*(numbers(path, f"_ws.malformed && {gap}") for gap in GAPS.values()))
    if name.startswith("capture"):
        explained |= last_parts(path) | refused_commands(path)
    else:
        explained |= enciphered(path)
    unexplained = numbers(path, "_ws.malformed") - explained
    lines = [line for line in tshark(path, "-Y", "_ws.malformed") if int(line.split()[0]) in unexplained]
    assert not lines, "\n".join(lines[:20])


@pytest.mark.parametrize(("name", "protocols"), [
    ("capture.btsnoop", {"bthci_cmd", "bthci_evt", "bthci_acl", "btl2cap", "btatt"}),
    ("capture.pcapng", {"bthci_cmd", "bthci_evt", "bthci_acl", "btl2cap", "btatt"}),
    ("air.pcapng", {"btle_rf", "btle", "btl2cap", "btatt"}),
])
def test_every_layer_is_recognised(files, name, protocols):
    seen = collections.Counter(part for line in tshark(files / name, "-T", "fields", "-e", "frame.protocols") for part in set(line.split(":")))
    assert protocols <= set(seen), seen
    assert seen["data"] == 0, "octets that no dissector wanted"


def test_the_checksums_on_the_air_are_right(files):
    assert tshark(files / "air.pcapng", "-Y", "btle.crc.incorrect || btle_rf.flags.crc_valid == 0", "-c", "200000") == []


def test_the_answer_to_an_inquiry_is_named(tmp_path):
    """An FHS packet on the interface of BR/EDR, with its header and payload in order; beside it, the packets of LE."""
    air = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", air) as ports:
        hosts = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) for port in ports]
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
