"""The reference page is complete: it has every PDU of the catalogue, well-formed, with valid links and no external content."""

import collections
import html.parser
import subprocess

import pytest

VOID = {"meta", "input", "br", "link", "img"}
BLOCKS = {"h2", "h3", "p", "td", "th", "tr"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.identifiers, self.targets, self.foreign = [], collections.Counter(), set(), []
        self.articles = collections.defaultdict(str)
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.identifiers[attributes["id"]] += 1
        if attributes.get("href", "").startswith("#"):
            self.targets.add(attributes["href"][1:])
        self.foreign += [attributes[name] for name in ("src", "href") if attributes.get(name, "#")[0] != "#"]
        if tag in VOID:
            self.handle_data(" ")
        else:
            self.open.append((tag, attributes.get("id")))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}, line {self.getpos()}"
        self.open.pop()
        if tag in BLOCKS:
            self.handle_data(" ")

    def handle_data(self, data):
        for tag, identifier in self.open:
            if tag == "article":
                self.articles[identifier] += data


@pytest.fixture(scope="module")
def text(codec_program):
    return subprocess.run([codec_program, "page"], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_is_well_formed_and_needs_nothing_else(page, text):
    assert not page.open
    assert max(page.identifiers.values()) == 1
    assert page.targets <= set(page.identifiers)
    assert not page.foreign and "@import" not in text and "url(" not in text


def test_every_pdu_is_there_with_its_code_and_fields(page, codec):
    listed = codec.ask("list")
    assert {f"{one['layer']}.{one['name']}" for one in listed} == {name for name in page.articles if not name.startswith("type-")}
    for one in listed:
        words = page.articles[f"{one['layer']}.{one['name']}"].split()
        if one["layer"] == "HCICommands":
            assert f"0x{one['code']:04X}" in words, one
        elif one["layer"] == "HCIEvents":
            assert any(word.startswith(f"0x{one['code']:02X}") for word in words), one
        fields = codec.ask("random", one["layer"], 1, one["name"])["fields"] if one["layer"] in ("HCICommands", "HCIEvents", "ATT", "SMP") else {}
        if one["name"] != "Command_Complete":
            assert set(fields) <= set(words), one
        if one["returns"]:
            assert set(codec.ask("returns", 1, one["name"])["fields"]) <= set(words), one


def entry(page, name):
    return " ".join(page.articles[name].split())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HCICommands.LE_Set_Advertising_Parameters", ["0x2006", "Core Vol 4, Part E, 7.8.5", "OGF 0x08, OCF 0x0006", "N × 0.625 ms 0x0020…0x4000 (20 ms…10240 ms)"]),
        ("HCICommands.LE_Set_PHY", ["Answered by Command_Status", "PHYs, u8"]),
        ("HCICommands.LE_Read_Buffer_Size", ["no parameters", "Returns by Command_Complete", "LE_ACL_Data_Packet_Length", "ErrorCode, u8"]),
        ("HCIEvents.LE_Connection_Complete", ["0x3E, subevent 0x01"]),
        ("ATT.ATT_READ_BY_TYPE_RSP", ["0x09", "repeated to the end, each of the octets that Length says"]),
        ("type-ErrorCode", ["0x02 Unknown_Connection_Identifier"]),
    ],
)
def test_an_entry_says_what_the_declaration_says(page, name, words):
    for word in words:
        assert word in entry(page, name), entry(page, name)
