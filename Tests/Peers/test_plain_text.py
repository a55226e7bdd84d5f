"""External text from the air, from captures and from case files cannot move the cursor, forge lines or reach a page unescaped."""

import re
import struct

import pytest
from bumble.core import AdvertisingData
from bumble.hci import OwnAddressType

from support import host, run_bench, run_beside

NASTY = "\x1b]0;own\x07\x1b[31m\x9b2J\nPASS    fake/line\u202e"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def assert_plain(text):
    assert not CONTROLS.search(text), repr(text)
    assert not re.search(r"^PASS    fake", text, re.M)


@pytest.mark.virtual_time
async def test_a_name_from_the_air(ports):
    near, far = ports
    async with host(far, "nasty", "C0:B1:BE:00:00:07") as peer:
        await peer.start_advertising(
            auto_restart=True, own_address_type=OwnAddressType.RANDOM,
            advertising_data=bytes(AdvertisingData([(AdvertisingData.SHORTENED_LOCAL_NAME, NASTY.encode()[:26])])))
        text = (await run_beside("scan", near, "--count", "1", "--passive")).stdout
    assert "\\u{1B}]0;own\\u{7}" in text
    assert_plain(text)


def pcapng(name, comment):
    def block(kind, body):
        body += b"\0" * (-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    def option(code, text):
        data = text.encode()
        return struct.pack("<HH", code, len(data)) + data + b"\0" * (-len(data) % 4)

    packet = b"\0\0\0\0\x01\x03\x0c\x00"
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interfaces = b"".join(block(1, struct.pack("<HHI", 201, 0, 0) + option(2, text) + option(0, "")) for text in (name, "other"))
    body = struct.pack("<IIIII", 0, 0, 0, len(packet), len(packet)) + packet
    return section + interfaces + block(6, body + option(1, comment) + option(0, ""))


def test_names_and_comments_of_a_capture(tmp_path):
    path = tmp_path / "nasty.pcapng"
    path.write_bytes(pcapng(NASTY, NASTY))
    text = run_bench("show", path).stdout
    assert "Reset" in text and "\\u{1B}" in text
    assert_plain(text)


CASE = """\
title: "Title \\e]0;own\\a \\u202E"
purpose: "Purpose \\e[2J"
reference: Core Vol 4, Part E, 7.3.2
steps:
  - send: Reset
    as: subject
    answer: {Status: Command_Disallowed}
    states: "Requirement \\e[31m"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Cases" / "own").mkdir(parents=True)
    (tmp_path / "Cases" / "own" / "nasty.yaml").write_text(CASE)
    return tmp_path / "Cases"


@pytest.mark.parametrize("command", [("run", "--list"), ("run",), ("explain", "own/nasty")])
def test_words_of_a_case_file(folder, command):
    result = run_bench(*command, "--cases", folder, expected=None)
    assert "\\u{1B}" in result.stdout + result.stderr
    assert_plain(result.stdout + result.stderr)


def test_words_of_a_case_file_in_the_reports(folder, tmp_path):
    report = tmp_path / "report"
    run_bench("run", "--cases", folder, "--report", report, expected=1)
    for name in ("index.html", "junit.xml"):
        assert_plain((report / name).read_text())
    for name in ("results.json", "results.jsonl"):
        assert not re.search("[\x00-\x09\x0b-\x1f]", (report / name).read_text()), "JSON keeps the text, in its own escapes"
