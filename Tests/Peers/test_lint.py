"""The rules of the house: every room of the manifest is under them, and the pages name the rooms as the manifest does."""

import importlib.machinery
import importlib.util
import re

import pytest

from support import ROOT, run_bench


@pytest.fixture(scope="module")
def lint():
    loader = importlib.machinery.SourceFileLoader("lint", str(ROOT / ".ci/lint"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
    import sys
    sys.path.insert(0, str(ROOT / ".ci"))
    try:
        loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / ".ci"))
    return module


@pytest.fixture(scope="module")
def rooms(lint):
    return lint.manifest()


def test_every_folder_is_a_room(rooms):
    assert set(rooms) == {folder.name for folder in (ROOT / "Sources").iterdir() if folder.is_dir()}


# A line that a room may not have, and the rule that finds it. The rooms are those that a list by hand had forgotten, and one that it had.
PLANTED = [
    ("Exploration", "import BBConformance", "imports Conformance"),
    ("BTP", "@testable import BBSimulation", "imports Simulation"),
    ("UpperTester", "import BBConformance", "imports Conformance"),
    ("HTTP", "import BBHost", "imports Host"),
    ("Exploration", "send(HCICommands.SetEventMask(eventMask: .init(rawValue: 0x2000_9FFF)))", "through its declared packet"),
    ("Exploration", "pipe.send(HCIPacket(.acl, [1, 0, 2, 0]))", "through its declared packet"),
    ("VirtualDongle", "let status = event.parameters[3]", "through its declared packet"),
    ("Diagnosis", "guard opcode == 0x0C03 else { return }", "written by name"),
    ("Exploration", "Task { await work() }", "leaves the run loop"),
    ("UpperTester", "let now = ContinuousClock.now", "time and randomness"),
    ("Diagnosis", "let pick = Int.random(in: 0...1)", "time and randomness"),
    ("CoreBluetooth", "let dongle = try USBTransport(selector, on: loop)", "opened by DeviceOpener"),
    ("bluebench", "let pipe = try H4Transport.connect(to: address, on: loop)", "opened by DeviceOpener"),
    ("bluebench", "let host = Host(loop: loop, transport: pipe)", "made by BenchDevice"),
]


@pytest.mark.parametrize(("room", "line", "text"), PLANTED, ids=lambda value: str(value).split()[0])
def test_a_planted_line_is_found_in_any_room(lint, rooms, tmp_path, monkeypatch, room, line, text):
    for name in rooms:
        (tmp_path / "Sources" / name).mkdir(parents=True)
    (tmp_path / "Sources" / room / "Planted.swift").write_text("import BBPackets\n\n" + line + "\n")
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    monkeypatch.setattr(lint, "SOURCES", tmp_path / "Sources")
    monkeypatch.setattr(lint, "violations", [])
    for check in (lint.check_arrows, lint.check_loop, lint.check_hci, lint.check_devices):
        check(rooms)
    [found] = lint.violations
    assert found.startswith(f"Sources/{room}/Planted.swift:3: ") and text in found


def test_a_folder_without_a_target_is_found(lint, rooms, tmp_path, monkeypatch):
    for name in [*rooms, "Attic"]:
        (tmp_path / "Sources" / name).mkdir(parents=True)
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    monkeypatch.setattr(lint, "SOURCES", tmp_path / "Sources")
    monkeypatch.setattr(lint, "violations", [])
    lint.check_arrows(rooms)
    assert lint.violations == ["Package.swift:1: the room Attic is missing"]


# MARK: Pages


def test_the_page_of_the_architecture_has_the_rooms_in_their_order(rooms):
    page = (ROOT / "docs/design/architecture.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \|", page[:page.index("\n## ")], re.MULTILINE)
    swift = {name for name in rooms if any((ROOT / "Sources" / name).rglob("*.swift"))} - {"PDUGenerator"}
    assert set(listed) == swift and len(listed) == len(swift)
    for name in listed:
        above = set(listed[:listed.index(name) + 1])
        assert not rooms[name] & above, f"{name} is listed below a room that it depends on"


def test_the_page_of_the_simulation_names_the_optimised_rooms():
    """Those which the manifest does not compile as written when the build serves the tests."""
    manifest = (ROOT / "Package.swift").read_text()
    targets = re.findall(r'\n        room\(\s*"(\w+)"(.*?)(?=\n        (?:room|\.))', manifest, re.DOTALL)
    optimised = {name.removeprefix("BB") for name, rest in targets if "asWritten" not in rest}
    page = " ".join((ROOT / "docs/design/architecture.md").read_text().split())
    sentence = re.search(r"in which only (.*?) are optimised", page)[1]
    assert set(re.findall(r"`(\w+)`", sentence)) == optimised


def test_the_page_of_the_simulation_counts_about_what_there_is():
    """Within a tenth: a page need not change with each case, but tells the order of magnitude."""
    said = run_bench("check").stdout
    found = {word: int(number) for number, word in re.findall(r"(\d+) (round|mutant|variant)s?", said)}
    page = (ROOT / "docs/design/simulation.md").read_text()
    written = re.search(r"\(about (\d+) rounds, (\d+) mutants, (\d+) variants\)", page)
    for word, number in zip(("round", "mutant", "variant"), written.groups()):
        assert int(number) == pytest.approx(found[word], rel=0.1), f"docs/design/simulation.md has {number} {word}s, and check {found[word]}"
