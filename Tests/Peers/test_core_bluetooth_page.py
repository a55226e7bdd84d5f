"""docs/core-bluetooth.md against the module's public symbols, and its statements against the tests and cases that they name."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from support import ROOT, TIMEOUT

PAGE = (ROOT / "docs" / "core-bluetooth.md").read_text()
# Protocol conformances, and what is ours: the bench with its phones.
INHERITED = {"rawValue", "init(rawValue:)", "hash", "hash(into:)", "==(_:_:)", "isEqual(_:)", "copy(with:)", "description", "~=(_:_:)", "errorCode", "init(_:userInfo:)"}
OURS = ("CBBench", "CBPhone", "CFAbsoluteTime")


def rows(heading):
    """The cells of each row of the tables below a heading of the second level."""
    part = re.split(r"^## ", PAGE, flags=re.M)
    text = next(text for text in part if text.startswith(heading))
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] not in ("name", "no."):
            yield cells


@pytest.fixture(scope="module")
def symbols(tmp_path_factory):
    """The public names of the module in the newest build."""
    built = [ROOT / ".build" / kind / "Modules/CoreBluetooth.swiftmodule" for kind in ("release", "debug")]
    module = max((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime, default=None)
    assert module, "the module is not built: swift build --product bluebenchPackageTests"
    folder = tmp_path_factory.mktemp("symbols")
    target = json.loads(subprocess.run(["swift", "-print-target-info"], check=True, capture_output=True).stdout)["target"]["triple"]
    flags = subprocess.run(["pkg-config", "--cflags", "libusb-1.0"], check=True, capture_output=True, text=True).stdout.split()
    command = ["swift", "symbolgraph-extract", "-module-name", "CoreBluetooth", "-target", target, "-I", module.parent, "-output-dir", folder, *flags]
    for name in ("Sources/CProgramTime/include", "Sources/CSystemCalls", "Sources/CLibCrypto", "Sources/CLibUSB", "Sources/CZlib", ".build/checkouts/Yams/Sources/CYaml/include"):
        command += ["-I", ROOT / name]
    subprocess.run(command, cwd=ROOT, check=True, timeout=TIMEOUT, env=os.environ | {"TMPDIR": str(folder)})
    graph = json.loads((folder / "CoreBluetooth.symbols.json").read_text())
    paths = [symbol["pathComponents"] for symbol in graph["symbols"] if "::SYNTHESIZED" not in symbol["identifier"]["precise"]]
    return {".".join(path) for path in paths if not path[0].startswith(OURS) and path[-1] not in INHERITED}


def test_the_page_has_every_public_name(symbols):
    listed = {name.strip("`"): state for name, state, _ in rows("The API")}
    here = {name for name, state in listed.items() if state in ("here", "differs")}
    assert set(listed.values()) <= {"here", "differs", "not"}
    assert symbols - here == set(), "public, and not on the page"
    assert here - symbols == set(), "on the page, and not public"
    assert len(here) >= 0.95 * len(listed)


def test_each_difference_has_a_reason():
    assert [name for name, state, note in rows("The API") if state != "here" and not note] == []


def test_each_statement_names_what_exists():
    tests = "\n".join(path.read_text() for folder in ("Tests/CoreBluetoothTests", "Examples/core-bluetooth/Tests") for path in (ROOT / folder).rglob("*.swift"))
    functions = set(re.findall(r"func (\w+)\(", tests))
    numbers, shown = [], 0
    for number, _, evidence in rows("Statements"):
        numbers.append(int(number))
        if evidence.startswith("not shown"):
            assert ":" in evidence, f"{number}: no reason"
            continue
        shown += 1
        words = re.findall(r"`([^`]+)`", evidence)
        assert words or "](" in evidence, f"{number}: names nothing"
        for word in words:
            if word.startswith("bluebench run "):
                for name in re.sub(r"--\w+ \S+", "", word.removeprefix("bluebench run ")).split():
                    assert name == "accessory" or any((ROOT / "Conformance").glob(f"{name}*")), f"{number}: {name}"
            elif not word.startswith("bluebench "):
                assert word in functions, f"{number}: no test {word}"
    assert numbers == list(range(1, 164))
    assert shown >= 150
    assert f"{shown} of 163" in PAGE
