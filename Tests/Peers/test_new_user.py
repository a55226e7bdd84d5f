"""A new user's first steps, as in the README: five commands from the checkout to a verdict on another maker's product."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from products import NAMES
from support import HERE, TIMEOUT, ROOT, Process, bluebench, fake_usb

PRODUCT = "1209:0001"
SOAK = "SOAK" in os.environ


def commands():
    """The commands of the README, with the contents of files."""
    [block] = re.findall(r"## Test a product in five commands\n(?:.+\n)+\n((?:    .*\n)+)", (ROOT / "README.md").read_text())
    for line in block.splitlines():
        words = shlex.split(line)
        file = words[words.index(">") + 1] if ">" in words else None
        yield words[1:words.index(">")] if file else words[1:], file


@pytest.fixture(scope="module")
def desk():
    """Two dongles, one of which runs the product."""
    with fake_usb(2) as bus:
        product = [sys.executable, HERE / "products.py", f"usb:{PRODUCT}/{bus.dongles[1].serial}", "serial"]
        with bus.start(*product) as server:
            server.wait_for("advertising")
            yield bus
            assert server.running(), server.text


def test_five_commands_lead_from_nothing_to_a_verdict(desk, tmp_path):
    told = []
    for words, file in commands():
        words = [word.replace("usb:1-2", f"usb:{desk.dongles[0].path}") for word in words]
        if words[0] == "run" and not SOAK:
            words[1:2] = ["accessory-advertising/data[rule=flags]", "accessory-gatt", "accessory-att/declaration-not-written"]
        environment = desk.environment | {"HOME": str(tmp_path)}
        if words[0] in ("run", "explain"):
            words += ["--cases", str(ROOT / "Conformance")]
        ended = subprocess.run(
            [bluebench(), *words], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT * 10)
        if file:
            (tmp_path / file).write_text(ended.stdout)
        told.append((words[0], ended.returncode, ended.stdout + ended.stderr))
    assert [name for name, *_ in told] == ["devices", "scan", "survey", "run", "explain"]
    assert [code for _, code, _ in told] == [0, 0, 0, 1, 0], told
    assert told[0][2].count(PRODUCT) >= 2, told[0]
    assert NAMES["serial"] in told[1][2]
    assert re.search(r"length +about \d+", told[3][2]), told[3]
    [failure] = re.findall(r"FAIL +accessory-att/declaration-not-written: (.*)", told[3][2])
    assert "Expected ATT_ERROR_RSP, got ATT_WRITE_RSP" in failure and "packet" in failure
    assert "A declaration cannot be written" in told[4][2]
    assert (tmp_path / "report" / "index.html").stat().st_size > 0
