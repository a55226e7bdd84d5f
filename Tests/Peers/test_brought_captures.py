"""Captures as people bring them: in archives, as text, cut, in rare formats. Every input is made here from octets."""

import base64
import csv
import gzip
import io
import json
import struct
import subprocess
import tarfile
import zipfile
import zlib

import pytest

from support import ROOT, bluebench, run_bench

SENT, RECEIVED = 0, 1
#: Milliseconds, direction, H4 packet: reset, connection, MTU, a write and a notification, disconnection.
SESSION = [
    (0, SENT, "01 03 0C 00"), (2, RECEIVED, "04 0E 04 01 03 0C 00"),
    (25, SENT, "01 0D 20 19 60 00 60 00 00 01 01 00 00 00 00 C0 00 18 00 18 00 00 00 F4 01 00 00 00 00"), (26, RECEIVED, "04 0F 04 00 01 0D 20"),
    (77, RECEIVED, "04 3E 13 01 00 40 00 00 01 01 00 00 00 00 C0 18 00 00 00 F4 01 00"),
    (127, SENT, "02 40 00 07 00 03 00 04 00 02 F7 00"), (188, RECEIVED, "02 40 20 07 00 03 00 04 00 03 B9 00"),
    (248, SENT, "02 40 00 09 00 05 00 04 00 12 11 00 01 00"), (309, RECEIVED, "02 40 20 05 00 01 00 04 00 13"),
    (369, RECEIVED, "02 40 20 1B 00 17 00 04 00 1B 10 00" + " 00" * 20), (771, SENT, "01 06 04 03 40 00 13"),
    (772, RECEIVED, "04 0F 04 00 01 06 04"), (872, RECEIVED, "04 05 04 00 40 00 16"),
]
PACKETS = [(time, way, bytes.fromhex(text)) for time, way, text in SESSION]
START = 1_767_225_600_000_000
EPOCH = 0x00DCDDB30F2F8000


def btsnoop(packets=PACKETS, datalink=1002, frame=lambda packet, way: packet, kept=None, tells=True):
    out = b"btsnoop\0" + struct.pack(">II", 1, datalink)
    for time, way, packet in packets:
        data = frame(packet, way)
        part = data[:kept] if kept and packet[0] == 2 else data
        flags = way | (2 if packet[0] in (1, 4) else 0)
        out += struct.pack(">IIIIq", len(data) if tells else len(part), len(part), flags, 0, START + time * 1000 + EPOCH) + part
    return out


def serial(packet, _, slip=False, check=False):
    """A frame of the three-wire UART. Core Vol 4, Part D, 4 and 5."""
    kind, payload = packet[0], packet[1:]
    head = bytes([0x40 if check else 0, kind | (len(payload) & 15) << 4, len(payload) >> 4])
    frame = head + bytes([0xFF - sum(head) & 0xFF]) + payload + (b"\x12\x34" if check else b"")
    return b"\xC0" + frame.replace(b"\xDB", b"\xDB\xDD").replace(b"\xC0", b"\xDB\xDC") + b"\xC0" if slip else frame


def bcsp(packet, way):
    return serial(bytes([{1: 5, 4: 5, 2: 6, 3: 7}[packet[0]]]) + packet[1:], way)


def pcap(linktype, frame):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0xFFFF, linktype)
    for time, way, packet in PACKETS:
        data = frame(packet, way)
        out += struct.pack("<IIII", START // 1_000_000, time * 1000, len(data), len(data)) + data
    return out


def btsnooz(version=2, kept=None, wide=False):
    types = {(4, 1): 0x10, (2, 1): 0x11, (1, 0): 0x20, (2, 0): 0x21}
    log, last = b"", 0
    for time, way, packet in PACKETS:
        kind, data = types[packet[0], way], packet[1:]
        part = data[:kept] if kept and packet[0] == 2 else data
        delta, last = (time - last) * 1000, time
        if version == 1:
            log += struct.pack("<HIB", len(part) + 1, delta, kind) + part
        elif wide:
            log += struct.pack("<HHQB", len(part) + 1, len(data) + 1, delta, kind) + part
        else:
            log += struct.pack("<HHIB", len(part) + 1, len(data) + 1, delta, kind) + part
    blob = bytes([version]) + struct.pack("<Q", START + last * 1000) + zlib.compress(log)
    text = base64.b64encode(blob).decode()
    lines = "\n".join(text[at:at + 76] for at in range(0, len(text), 76))
    return f"== dumpstate: 2026-01-01\nBluetooth Status\n  enabled: true\n--- BEGIN:BTSNOOP_LOG_SUMMARY ({len(blob)} bytes in) ---\n{lines}\n" \
        "--- END:BTSNOOP_LOG_SUMMARY ---\nmore text\n"


def archive(*members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as zipped:
        for name, data in members:
            zipped.writestr(name, data)
    return out.getvalue()


def tar(*members, mode="w:gz"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as packed:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def clock(time):
    return f"00:00:0{time // 1000}.{time % 1000:03}"


def lines(form):
    return "".join(form(time, way, packet) + "\n" for time, way, packet in PACKETS)


def dump(data, width=16, indent="", offsets=False, text=True):
    rows = []
    for at in range(0, len(data), width):
        row = data[at:at + width]
        seen = "".join(chr(octet) if 32 <= octet < 127 else "." for octet in row)
        rows.append(indent + (f"{at:06x}  " if offsets else "") + row.hex(" ") + (f"   |{seen}" if text else ""))
    return "\n".join(rows)


NAMES = {1: "CMD", 2: "ACL", 3: "SCO", 4: "EVT"}


def btstack(time, way, packet):
    return f"[{clock(time)}] {NAMES[packet[0]]} {'<=' if way else '=>'} {packet[1:].hex(' ').upper()} "


def zephyr(time, way, packet):
    head = f"[{clock(time)},000] <dbg> bt_driver: {'h4_recv: RX' if way else 'h4_send: Final HCI buffer:'}"
    return head + "\n" + dump(packet, indent=" " * 39)


def bumble(_, way, packet):
    words = "CONTROLLER -> HOST" if way else "HOST -> CONTROLLER"
    return f"\x1b[34mDEBUG:bumble.host:### {words}\x1b[0m: {packet.hex()}"


def text2pcap(time, way, packet):
    return f"{'I' if way else 'O'} {clock(time)}000\n" + dump(packet, offsets=True, text=False) + f"\n{len(packet):06x}"


def hcidump(_, way, packet):
    rows = [packet[at:at + 20].hex(" ").upper() for at in range(0, len(packet), 20)]
    return ("> " if way else "< ") + "\n  ".join(rows) + " "


BINARY = btsnoop()
BUG_REPORT = archive(
    ("version.txt", "1"), ("bugreport-x-2026.txt", btsnooz()), ("FS/data/misc/bluetooth/logs/btsnoop_hci.log.last", btsnoop(PACKETS[:2])),
    ("FS/data/misc/bluetooth/logs/btsnoop_hci.log", BINARY))
#: Name, content, number of packets.
WHOLE = [
    ("gzip.gz", gzip.compress(BINARY)), ("two-members.gz", gzip.compress(BINARY[:100]) + gzip.compress(BINARY[100:])),
    ("zip.zip", archive(("notes.md", "x"), ("x.btsnoop", BINARY))), ("stored.zip", archive(("a/x.log", BINARY), method=zipfile.ZIP_STORED)),
    ("bugreport.zip", BUG_REPORT), ("bugreport-text.zip", archive(("bugreport-x.txt", btsnooz()), ("btsnoop_hci.log", BINARY[:16]))),
    ("deep.zip", archive(("x.tar.gz", b""), ("x.btsnoop.gz", gzip.compress(BINARY)))),
    ("sysdiagnose.tar.gz", tar(("s/logs/Bluetooth/bluetoothd.txt", b"x"), ("s/logs/Bluetooth/bluetoothd-hci-latest.pklg.gz", gzip.compress(BINARY)))),
    ("plain.tar", tar(("s/x.btsnoop", BINARY), mode="w")),
    ("btsnooz.txt", btsnooz().encode()), ("btsnooz-1.txt", btsnooz(1).encode()), ("btsnooz-wide.txt", btsnooz(wide=True).encode()),
    ("1004.btsnoop", btsnoop(datalink=1004, frame=serial)), ("1003.btsnoop", btsnoop(datalink=1003, frame=bcsp)),
    ("slip.btsnoop", btsnoop(datalink=1004, frame=lambda packet, way: serial(packet, way, slip=True, check=True))),
    ("187.pcap", pcap(187, lambda packet, way: packet)),
    ("btstack.txt", lines(btstack).encode()), ("zephyr.log", lines(zephyr).encode()), ("bumble.log", lines(bumble).encode()),
    ("text2pcap.txt", lines(text2pcap).encode()), ("hcidump-R.txt", b"HCI sniffer - Bluetooth packet analyzer ver 5.50\n" + lines(hcidump).encode()),
    ("crlf.txt", lines(btstack).replace("\n", "\r\n").encode()),
]


def shown(path):
    rows = [json.loads(line) for line in run_bench("show", "--json", path).stdout.splitlines()]
    return [(row.get("direction"), row["octets"] if "octets" in row else json.dumps(row["layers"])) for row in rows]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "x.btsnoop"
    path.write_bytes(BINARY)
    return path


@pytest.mark.parametrize("name, content", WHOLE, ids=[name for name, _ in WHOLE])
def test_the_same_packets(name, content, plain, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert shown(tmp_path / name) == shown(plain)
    told = json.loads(run_bench("explain", "--json", tmp_path / name).stdout)
    assert [finding for finding in told["findings"] if finding["severity"] == "fault"] == []


def test_a_file_in_an_archive_is_named_behind_it(plain, tmp_path):
    path = tmp_path / "bugreport.zip"
    path.write_bytes(BUG_REPORT)
    told = run_bench("show", path).stderr
    assert "reading FS/data/misc/bluetooth/logs/btsnoop_hci.log in" in told and "btsnoop_hci.log.last" in told
    assert shown(path / "btsnoop_hci.log.last") == shown(plain)[:2]
    assert "it has no other.log, but FS/data" in run_bench("show", path / "other.log", expected=2).stderr


BTMON = b"Bluetooth monitor ver 5.83\n< HCI Command: Reset (0x03|0x0003) plen 0    #1 [hci0] 0.000000\n        01 03 0c 00\n"
HCIDUMP = b"HCI sniffer - Bluetooth packet analyzer ver 5.50\n< HCI Command: Reset (0x03|0x0003) plen 0\n> HCI Event: Command Complete (0x0e) plen 4\n"
#: Content, what is said, exit code.
REFUSED = {
    "btmon.txt": (BTMON, "record with `btmon -w FILE`", 2), "btmon.zip": (archive(("btmon.txt", BTMON)), "record with `btmon -w FILE`", 2),
    "hcidump.txt": (HCIDUMP, "hcidump -R", 2), "bumble.log": (b"DEBUG:bumble.host:### HOST -> CONTROLLER: HCI_RESET_COMMAND\n", "BUMBLE_SNOOPER", 2),
    "dump.txt": (b"== dumpstate: 2026-01-01\nDUMP OF SERVICE bluetooth_manager:\n", "enable the HCI snoop log", 2),
    "notes.txt": (b"Nothing of Bluetooth.\n", "whole packets in hexadecimal", 2), "trace.etl": (b"\0\0\1\0" + bytes(100), "BTETLParse", 2),
    "1005.btsnoop": (btsnoop(datalink=1005), "datalink 1005 is not 1001 to 1004 or 2001", 2),
    "ethernet.pcap": (pcap(1, lambda packet, way: bytes(14) + packet), "its link type is 1", 2), "empty.zip": (archive(), "none of its 0 files", 2),
    "cut.gz": (gzip.compress(btsnoop(PACKETS * 200))[:300], "is cut off", 3), "not-bluetooth.zip": (archive(("a.txt", b"x\n"),), "hexadecimal", 2),
    "encrypted.zip": (archive(("x.btsnoop", BINARY)).replace(b"PK\1\2\x14\3\x14\0\0\0", b"PK\1\2\x14\3\x14\0\1\0"), "unpack it first", 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_told_the_next_step(name, tmp_path):
    content, says, code = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    for command in ("show", "explain"):
        made = run_bench(command, tmp_path / name, expected=code)
        assert says in made.stderr and made.stderr.count("\n") == 1, made.stderr


def test_archives_are_bounded(tmp_path):
    path = tmp_path / "deep.gz"
    content = BINARY
    for _ in range(6):
        content = gzip.compress(content)
    path.write_bytes(content)
    assert "archives in one another" in run_bench("show", path, expected=2).stderr
    path = tmp_path / "wide.zip"
    path.write_bytes(archive(("x.log", bytes(1 << 24)), ("y.btsnoop", gzip.compress(bytes(1 << 24)))))
    assert run_bench("show", path, expected=2).stderr


#: A capture cut by Android's filter, by BTVS, which forgets the length, and by the text of a bug report.
CUT = {"btsnooz_hci.log": btsnoop(kept=14), "btvs.btsnoop": btsnoop(kept=14, tells=False), "dump.txt": btsnooz(kept=13).encode()}


@pytest.mark.parametrize("name", CUT)
def test_a_cut_packet_shows_what_is_there(name, tmp_path):
    (tmp_path / name).write_bytes(CUT[name])
    lines = run_bench("show", tmp_path / name).stdout.splitlines()
    assert len(lines) == len(PACKETS)
    [value] = [line for line in lines if "cut: " in line]
    assert "cut: 9 of 27 octets" in value and "ATT_HANDLE_VALUE_NTF Attribute_Handle=0x0010" in value
    told = json.loads(run_bench("explain", "--json", tmp_path / name).stdout)
    assert not [finding for finding in told["findings"] if finding["severity"] in ("fault", "symptom")], told["findings"]


def test_iso_data_has_fields(tmp_path):
    load = struct.pack("<IHH", 0x01020304, 7, 2 << 14 | 5)
    stamped = b"\x05" + struct.pack("<HH", 0x60 | 2 << 12 | 1 << 14, 13) + load + bytes(5)
    plain = b"\x05" + struct.pack("<HH", 0x60 | 2 << 12, 6) + load[4:] + bytes(2)
    path = tmp_path / "iso.btsnoop"
    path.write_bytes(btsnoop([(0, RECEIVED, stamped), (10, RECEIVED, plain)]))
    first, second = run_bench("show", path).stdout.splitlines()
    for text in ("Time_Stamp=16909060 us", "Packet_Sequence_Number=7", "ISO_SDU_Length=5 octets", "Packet_Status_Flag=Lost"):
        assert text in first
    assert "Time_Stamp" not in second and "Packet_Sequence_Number=7" in second


#: A number, and words of its meanings.
CODES = {
    "0x22": ["HCI error: LMP_Response_Timeout", "rule response-timeout", "Core Vol 1, Part F"], "546": ["NimBLE: 0x0200 + HCI error 0x22, LMP_Response_Timeout"],
    "133": ["GATT_ERROR", "rule connect-never-answered"], "-110": ["ETIMEDOUT", "command tx timeout"], "14": ["peerRemovedPairingInformation", "ATT error"],
    "0x3401": ["GATTS_SYS_ATTR_MISSING"], "-128": ["Zephyr", "ENOTCONN"], "19": ["Remote_User_Terminated_Connection", "onConnectionStateChange"],
}


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_explained(code):
    text = run_bench("explain", code).stdout
    assert all(words in text for words in CODES[code]), text


def test_an_unknown_code_is_refused():
    assert "99999 is not an error code" in run_bench("explain", "99999", expected=2).stderr


def named(path):
    rows = csv.DictReader(io.StringIO(run_bench("show", path, "--csv", "--no-names").stdout))
    return [[row[column] for column in ("number", "seconds", "direction", "connection", "layer", "name")] for row in rows]


FIXTURES = sorted(path for path in (ROOT / "Fixtures").rglob("*") if path.suffix in (".pcapng", ".btsnoop", ".pklg", ".pcap"))


@pytest.mark.parametrize("path", FIXTURES, ids=[path.name for path in FIXTURES])
def test_an_anonymous_copy_is_explained_the_same(path, tmp_path):
    copy = tmp_path / "anonymous.pcapng"
    said = run_bench("show", path, "--hide", "--export", copy).stderr
    assert "replaced " in said
    assert run_bench("explain", copy).stdout == run_bench("explain", path).stdout
    assert named(copy) == named(path)


def test_an_anonymous_copy_has_nothing_private(tmp_path):
    name, serial = b"Kitchen lamp", b"SN-0815-4711"
    address, irk = bytes.fromhex("665544332211"), bytes(range(16))
    advertising = bytes([2, 1, 6, len(name) + 1, 9]) + name
    report = bytes([2, 1, 0, 0]) + address + bytes([len(advertising)]) + advertising + b"\xC0"
    packets = [(0, RECEIVED, bytes([4, 0x3E, len(report)]) + report), *PACKETS[:7]]
    read = b"\x0B" + serial
    packets.append((300, SENT, bytes.fromhex("02 40 00 07 00 03 00 04 00 0A 20 00")))
    packets.append((320, RECEIVED, b"\x02\x40\x20" + struct.pack("<HHH", len(read) + 4, len(read), 4) + read))
    packets.append((400, RECEIVED, b"\x02\x40\x20" + struct.pack("<HHH", 21, 17, 6) + b"\x08" + irk))
    packets.append((410, RECEIVED, b"\x02\x40\x20" + struct.pack("<HHH", 12, 8, 6) + b"\x09\x00" + address))
    # A value in two fragments.
    whole = struct.pack("<HH", 3 + len(serial), 4) + b"\x1B\x20\x00" + serial
    packets.append((500, RECEIVED, b"\x02\x40\x20" + struct.pack("<H", 10) + whole[:10]))
    packets.append((510, RECEIVED, b"\x02\x40\x10" + struct.pack("<H", len(whole) - 10) + whole[10:]))
    path, copy = tmp_path / "mine.btsnoop", tmp_path / "anonymous.btsnoop"
    path.write_bytes(btsnoop(packets))
    said = run_bench("show", path, "--hide", "--export", copy).stderr
    assert "2 addresses" in said and "1 key" in said, said
    content = copy.read_bytes()
    for secret in (name, serial, serial[3:], address, address[::-1], irk, name[:6]):
        assert secret not in content
    assert [len(packet) for _, packet in shown(copy)] and run_bench("explain", copy).stdout == run_bench("explain", path).stdout
    values = [row for row in run_bench("show", copy).stdout.splitlines() if "ATT_READ_RSP" in row or "ATT_HANDLE_VALUE_NTF" in row]
    one, other = (row.split("Attribute_Value=")[1].split()[0] for row in values)
    assert one == other, "equal values are equal in the copy"


def test_an_anonymous_copy_needs_a_file():
    made = subprocess.run([bluebench(), "show", "-", "--hide", "--export", "x.btsnoop"], input=BINARY, capture_output=True)
    assert made.returncode == 2 and b"reads the file twice" in made.stderr
