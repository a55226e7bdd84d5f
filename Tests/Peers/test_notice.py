"""NOTICE names what the program was built from: the packages of the build, and the libraries of `ldd`."""

import pathlib
import subprocess
import sys

import pytest

from support import ROOT, bluebench

SCRATCH = next((folder for folder in pathlib.Path(bluebench()).resolve().parents if (folder / "workspace-state.json").exists()), ROOT / ".build")


def notice(*arguments):
    return subprocess.run([sys.executable, ROOT / ".ci/notice", *arguments], capture_output=True, text=True)


@pytest.fixture(autouse=True)
def _needs_the_build():
    if not (SCRATCH / "workspace-state.json").exists():
        pytest.skip("the program was built elsewhere")


def test_it_is_not_stale():
    made = notice(bluebench(), "--scratch", SCRATCH, "--check")
    assert made.returncode == 0, made.stderr


def test_each_library_of_the_program_is_named():
    """`ldd` without the script's own reading of it."""
    text = (ROOT / "NOTICE").read_text()
    shown = subprocess.run(["ldd", bluebench()], capture_output=True, text=True, check=True).stdout
    names = {"libusb-1.0": "libusb", "libsqlite3": "SQLite", "libcrypto": "OpenSSL", "libz.so": "zlib", "libstdc++": "GNU C++", "libudev": "libudev", "libFoundation": "ICU"}
    for library, name in names.items():
        assert library not in shown or f"- {name} " in text


def test_the_texts_of_what_is_given_away(tmp_path):
    made = notice(bluebench(), "--scratch", SCRATCH, "--distribute", tmp_path)
    assert made.returncode == 0, made.stderr
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (tmp_path / "licences/LGPL-2.1.txt").read_text()
    assert (tmp_path / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    carried = (tmp_path / "NOTICE").read_text().split("Shared library of the system")[0].count("\n- ")
    # One text for each work, and that of the LGPL.
    assert len(list((tmp_path / "licences").iterdir())) == carried + 1


def test_an_unknown_library_is_refused():
    made = notice("/bin/bash", "--scratch", SCRATCH)
    assert made.returncode != 0 and "has no entry in .ci/notice" in made.stderr
