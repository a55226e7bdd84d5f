"""A report folder keeps files that do not belong to the run: the user's files, the report of a run whose successor did not start, a damaged journal."""

import os

import pytest

from support import run_bench

USAGE, BENCH = 2, 3
ONE_CASE = ("run", "hci/buffer-size")
NOBODY = ("--tester", "tcp:127.0.0.1:1", "--subject", "tcp:127.0.0.1:2")


def contents(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def test_the_report_of_the_run_before_stays_where_no_device_is_there(tmp_path):
    run_bench(*ONE_CASE, "--report", tmp_path)
    before = contents(tmp_path)
    assert {"index.html", "results.json", "results.jsonl", "junit.xml", "scorecard.md", "capture.pcapng"} <= set(before)
    other = tmp_path.parent / f"{tmp_path.name}.xml"
    result = run_bench(*ONE_CASE, *NOBODY, "--report", tmp_path, "--junit", other, expected=BENCH)
    assert contents(tmp_path) == before and "report  " not in result.stdout
    assert "<skipped" in other.read_text(), "what is named by itself is written"


def test_a_first_run_without_devices_leaves_its_report(tmp_path):
    run_bench(*ONE_CASE, *NOBODY, "--report", tmp_path, expected=BENCH)
    assert {"index.html", "results.json", "junit.xml"} <= set(contents(tmp_path))


def test_captures_of_ones_own_stay(tmp_path):
    own = {"capture.btsnoop": b"mine", "capture-7.pcapng": b"mine, too"}
    for name, octets in own.items():
        (tmp_path / name).write_bytes(octets)
    for _ in range(2):
        run_bench(*ONE_CASE, "--report", tmp_path)
        assert own.items() <= contents(tmp_path).items()
        assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("spoil, word", [
    (lambda octets: octets.replace(b"{", b"[", 1), "does not begin"), (lambda octets: octets.replace(b'"id"', b'"id', 1), "line 2 is damaged"),
    (lambda _: b"my notes\n", "does not begin"), (lambda _: b"my notes", "does not begin"),
])
def test_a_journal_that_cannot_be_continued_is_left_alone(tmp_path, spoil, word):
    run_bench(*ONE_CASE, "--report", tmp_path)
    journal = tmp_path / "results.jsonl"
    journal.write_bytes(spoil(journal.read_bytes()))
    before = contents(tmp_path)
    result = run_bench(*ONE_CASE, "--report", tmp_path, "--resume", expected=USAGE)
    assert word in result.stderr and contents(tmp_path) == before
