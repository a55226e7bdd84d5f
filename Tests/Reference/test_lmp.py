"""Link manager PDUs as tshark reads them: it knows each by its name, and its fields begin where ours do.

Random values come from our codec.
"""

import re
import struct
import subprocess
import xml.etree.ElementTree

import pytest

import baseband

ADDRESS = 0x47123456
"""UAP and LAP of the access code."""
# The octets of each field. Core Vol 2, Part C, 5.1.
PLAIN = {
    "LMP_NAME_REQ": [1], "LMP_NAME_RES": [1, 1, 14], "LMP_ACCEPTED": [1], "LMP_NOT_ACCEPTED": [1, 1], "LMP_CLKOFFSET_REQ": [],
    "LMP_CLKOFFSET_RES": [2], "LMP_DETACH": [1], "LMP_IN_RAND": [16], "LMP_COMB_KEY": [16], "LMP_UNIT_KEY": [16], "LMP_AU_RAND": [16],
    "LMP_SRES": [4], "LMP_TEMP_RAND": [16], "LMP_TEMP_KEY": [16], "LMP_ENCRYPTION_MODE_REQ": [1], "LMP_ENCRYPTION_KEY_SIZE_REQ": [1],
    "LMP_START_ENCRYPTION_REQ": [16], "LMP_STOP_ENCRYPTION_REQ": [], "LMP_SWITCH_REQ": [4], "LMP_HOLD": [2, 4], "LMP_HOLD_REQ": [2, 4],
    "LMP_SNIFF_REQ": [1, 2, 2, 2, 2], "LMP_UNSNIFF_REQ": [], "LMP_INCR_POWER_REQ": [1], "LMP_DECR_POWER_REQ": [1], "LMP_MAX_POWER": [],
    "LMP_MIN_POWER": [], "LMP_AUTO_RATE": [], "LMP_PREFERRED_RATE": [1], "LMP_VERSION_REQ": [1, 2, 2], "LMP_VERSION_RES": [1, 2, 2],
    "LMP_FEATURES_REQ": [8], "LMP_FEATURES_RES": [8], "LMP_QUALITY_OF_SERVICE": [2, 1], "LMP_QUALITY_OF_SERVICE_REQ": [2, 1],
    "LMP_SCO_LINK_REQ": [1, 1, 1, 1, 1, 1], "LMP_REMOVE_SCO_LINK_REQ": [1, 1], "LMP_MAX_SLOT": [1], "LMP_MAX_SLOT_REQ": [1],
    "LMP_TIMING_ACCURACY_REQ": [], "LMP_TIMING_ACCURACY_RES": [1, 1], "LMP_SETUP_COMPLETE": [], "LMP_USE_SEMI_PERMANENT_KEY": [],
    "LMP_HOST_CONNECTION_REQ": [], "LMP_SLOT_OFFSET": [2, 6], "LMP_PAGE_MODE_REQ": [1, 1], "LMP_PAGE_SCAN_MODE_REQ": [1, 1],
    "LMP_SUPERVISION_TIMEOUT": [2], "LMP_TEST_ACTIVATE": [], "LMP_TEST_CONTROL": [1, 1, 1, 1, 1, 1, 1, 2],
    "LMP_ENCRYPTION_KEY_SIZE_MASK_REQ": [], "LMP_ENCRYPTION_KEY_SIZE_MASK_RES": [2], "LMP_SET_AFH": [4, 1, 10],
    "LMP_ENCAPSULATED_HEADER": [1, 1, 1], "LMP_ENCAPSULATED_PAYLOAD": [16], "LMP_SIMPLE_PAIRING_CONFIRM": [16],
    "LMP_SIMPLE_PAIRING_NUMBER": [16], "LMP_DHKEY_CHECK": [16], "LMP_PAUSE_ENCRYPTION_AES_REQ": [16],
}  # fmt: skip
EXTENDED = {
    "LMP_ACCEPTED_EXT": [1, 1], "LMP_NOT_ACCEPTED_EXT": [1, 1, 1], "LMP_FEATURES_REQ_EXT": [1, 1, 8], "LMP_FEATURES_RES_EXT": [1, 1, 8],
    "LMP_CLK_ADJ": [1, 4, 2, 1, 1, 4], "LMP_CLK_ADJ_ACK": [1], "LMP_CLK_ADJ_REQ": [2, 1, 1], "LMP_PACKET_TYPE_TABLE_REQ": [1],
    "LMP_ESCO_LINK_REQ": [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1], "LMP_REMOVE_ESCO_LINK_REQ": [1, 1],
    "LMP_CHANNEL_CLASSIFICATION_REQ": [1, 2, 2], "LMP_CHANNEL_CLASSIFICATION": [10], "LMP_SNIFF_SUBRATING_REQ": [1, 2, 4],
    "LMP_SNIFF_SUBRATING_RES": [1, 2, 4], "LMP_PAUSE_ENCRYPTION_REQ": [], "LMP_RESUME_ENCRYPTION_REQ": [],
    "LMP_IO_CAPABILITY_REQ": [1, 1, 1], "LMP_IO_CAPABILITY_RES": [1, 1, 1], "LMP_NUMERIC_COMPARISON_FAILED": [], "LMP_PASSKEY_FAILED": [],
    "LMP_OOB_FAILED": [], "LMP_KEYPRESS_NOTIFICATION": [1], "LMP_POWER_CONTROL_REQ": [1], "LMP_POWER_CONTROL_RES": [1],
    "LMP_PING_REQ": [], "LMP_PING_RES": [], "LMP_SAM_SET_TYPE0": [1, 14], "LMP_SAM_DEFINE_MAP": [1, 1, 1, 12],
    "LMP_SAM_SWITCH": [1, 1, 1, 4],
}  # fmt: skip


def places(sizes, start):
    """Offset and size of each field, and the end of the last."""
    result = []
    for size in sizes:
        result.append((start, size))
        start += size
    return result, start


LAYOUTS = {name: places(sizes, 1) for name, sizes in PLAIN.items()} | {name: places(sizes, 2) for name, sizes in EXTENDED.items()}


# Numbers that tshark 4.0 decodes in parts: of the test data length, the ninth and tenth octet, it reads only the first.
TOLD_IN_PARTS = {("LMP_TEST_CONTROL", 8)}


def frame(pdu):
    """A DM1 packet in the format LINKTYPE_BLUETOOTH_BREDR_BB, with all checks correct."""
    header = baseband.lsb_first(1, 3) + baseband.lsb_first(3, 4) + "100"
    header += baseband.hec(header, ADDRESS >> 24)
    payload = bytes([len(pdu) << 3 | 0b111]) + pdu
    check = baseband.crc(baseband.octet_bits(payload), ADDRESS >> 24)
    payload += bytes(int(check[at : at + 8][::-1], 2) for at in (0, 8))
    numbers = (10, -40, -128, 0, 0x30, 0, 0, ADDRESS & 0xFFFFFF, ADDRESS, int(header[::-1], 2), 0x0FBB)
    return struct.pack("<BbbBBBHIIIH", *numbers) + payload


@pytest.fixture(scope="module")
def read(codec, tmp_path_factory):
    """Maps the name to the PDU's octets and tshark's fields."""
    path = tmp_path_factory.mktemp("lmp") / "lmp.pcap"
    pdus = {name: bytes.fromhex(codec.ask("random", "LMP", 7, name)["hex"]) for name in LAYOUTS}
    records = b"".join(struct.pack("<IIII", 0, 0, len(one), len(one)) + one for one in map(frame, pdus.values()))
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 255) + records)
    output = subprocess.run(["tshark", "-n", "-r", path, "-T", "pdml"], capture_output=True, check=True).stdout
    packets = xml.etree.ElementTree.fromstring(output).findall("packet")
    return {name: (pdu, packet.find("proto[@name='btlmp']")) for (name, pdu), packet in zip(pdus.items(), packets, strict=True)}


def test_all_are_declared(codec):
    assert {one["name"] for one in codec.ask("list") if one["layer"] == "LMP"} == set(LAYOUTS)


@pytest.mark.parametrize("name", LAYOUTS)
def test_tshark_reads_it_alike(read, name):
    pdu, proto = read[name]
    fields, end = LAYOUTS[name]
    start = int(proto.get("pos"))
    assert int(proto.get("size")) == len(pdu) == end
    leaves = list(proto.iter("field"))
    opcodes = [re.search(r"Opcode: (LMP_\S+)", one.get("showname", "")) for one in leaves]
    named = [one[1].casefold() for one in opcodes if one]
    assert named[:1] == [name.casefold()]
    begins = {int(one.get("pos")) - start for one in leaves}
    assert {offset for offset, _ in fields} <= begins, (fields, begins)
    # Keys, maps and features may be compared octet by octet; a number has one position.
    numbers = [(offset, size) for offset, size in fields if size < 8 and (name, offset) not in TOLD_IN_PARTS]
    assert not {at for offset, size in numbers for at in range(offset + 1, offset + size)} & begins, (fields, begins)
