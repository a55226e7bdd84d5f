"""Surroundings of the tests' own, and the codec under test as a process that answers lines."""

import json
import os
import pathlib
import subprocess

import pytest

# Hooks of this folder, and a home before anything reads the user's.
from surroundings import pytest_runtest_call, pytest_runtest_setup, pytest_runtest_teardown  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def codec_program():
    """PDUTool: PDUTOOL, or the newest build of this checkout."""
    named = os.environ.get("PDUTOOL")
    places = [ROOT / named] if named else [ROOT / ".build" / kind / "PDUTool" for kind in ("release", "debug")]
    program = max((place for place in places if place.is_file()), key=lambda place: place.stat().st_mtime, default=None)
    assert program, "no codec to test: swift build --product PDUTool"
    return program


class Codec:
    """PDUTool: one line of JSON for each request."""

    def __init__(self, program):
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer
        return answer

    def end(self):
        self._process.stdin.close()
        self._process.wait(10)


@pytest.fixture(scope="session")
def codec(codec_program):
    codec = Codec(codec_program)
    yield codec
    codec.end()
