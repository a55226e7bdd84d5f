"""The check-up of dongles: its findings, its recommendations, and its handling of errors."""

import json
import tempfile

import pytest

from support import bluebench, dongles, run_bench

USAGE = 2


def checked(*arguments):
    return json.loads(run_bench("devices", "--probe", "--json", *arguments).stdout)


def test_two_plain_dongles_have_no_fault_and_are_recommended():
    with dongles(2) as ports:
        one, other = (f"tcp:127.0.0.1:{port}" for port in ports)
        document = checked(one, "--with", other)
    [device] = document["devices"]
    assert device["check_up"]["findings"] == []
    assert device["check_up"]["skipped"] == [] and "links" in device["check_up"]["made"]
    assert device["numbers"]["hci_version"] == 13
    assert document["reference"]["tester"] == one


def test_without_a_second_dongle_it_says_what_is_left_out():
    with dongles(1) as [port]:
        lines = run_bench("devices", "--probe", f"tcp:127.0.0.1:{port}", "--listen", "1").stdout.splitlines()
    assert any("not checked: links" in line and "--with" in line for line in lines)
    assert lines[-1].startswith("reference: tcp:")


def test_rows_of_a_file_are_used_and_mistakes_have_their_place():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as table, dongles(1) as [port]:
        row = "{id: mine, name: n, match: {company: 65535}, conduct: c, source: s, advice: a, do: [avoids-coded-phy]}"
        table.write(f"dongles:\n  - {row}\n")
        table.flush()
        [device] = checked(f"tcp:127.0.0.1:{port}", "--listen", "1", "--known-dongles", table.name)["devices"]
        assert [known["id"] for known in device["known"]] == ["mine"]
        assert device["workarounds"] == ["avoids-coded-phy"]
        table.write("  - {id: other, nam: n}\n")
        table.flush()
        failed = run_bench("devices", "--known-dongles", table.name, expected=USAGE)
        assert f"{table.name}:3:5: `name:` is missing" in failed.stderr


@pytest.mark.parametrize("arguments", [["--with", "tcp:127.0.0.1:1"], ["--listen", "5"], ["tcp:127.0.0.1:1"]])
def test_options_of_the_check_up_need_it(arguments):
    assert "--probe" in run_bench("devices", *arguments, expected=USAGE).stderr
