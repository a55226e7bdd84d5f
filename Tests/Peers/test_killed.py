"""A killed run loses no reported result: every finished case is in the journal and in JUnit, and --resume completes the rest."""

import json
import os
import random
import re
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from support import TIMEOUT, ROOT, Process, bluebench, run_bench

pytestmark = pytest.mark.wall_time

FAIL = 1
KILLS = 30 if os.environ.get("SOAK") else 3
COUNT = 12
"""Own cases, every third of which fails at an event in the capture."""

CASE = """
title: Case {number}
purpose: It reads something, and every third wants what is not there.
reference: Core Vol 4, Part E, 7.4.6
subject: controller
setup: {setup}
steps:
  - {{send: Read_BD_ADDR, as: subject}}
  - {{send: LE_Rand, as: subject, answer: {{Status: {wanted}}}, states: The status is {wanted}.}}
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    (folder / "made").mkdir()
    for number in range(COUNT):
        wanted = "Hardware_Failure" if number % 3 == 0 else "Success"
        (folder / "made" / f"case-{number:02}.yaml").write_text(CASE.format(number=number, wanted=wanted, setup="[{use: connected}]" if number == 1 else "[]"))
    return folder


@pytest.fixture(scope="module")
def whole(cases, tmp_path_factory):
    """The run that is not killed."""
    folder = tmp_path_factory.mktemp("whole")
    run_bench("run", "--cases", cases, "--report", folder, expected=FAIL)
    return folder


def told(case):
    """The parts of the results that do not depend on interruptions."""
    case = case | {"message": re.sub(r"packet \d+", "packet", case["message"])}
    case["step"] = {key: value for key, value in case.get("step", {}).items() if key != "packet"}
    return {key: case.get(key) for key in ("id", "verdict", "message", "virtual_ms", "seed", "covers", "step", "purpose", "reference")}


def results(folder):
    return json.loads((folder / "results.json").read_text())


def in_junit(folder):
    """Ids and whether each failed; the file is well-formed at all times."""
    path = folder / "junit.xml"
    if not path.exists():
        return {}
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    names = [f"{case.get('classname')}/{case.get('name')}" for case in cases]
    assert len(set(names)) == len(names), "no case is there twice"
    return dict(zip(names, (case.find("failure") is not None for case in cases)))


def in_journal(folder):
    path = folder / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)[1:] if path.exists() else []
    return [json.loads(line)["id"] for line in lines if line.endswith("\n")]


def kill(run, folder, moment):
    """Kills the program when a file has reached a size, between two cases or in one."""
    name, octets = moment
    path = folder / name
    while run.running() and (not path.exists() or path.stat().st_size < octets):
        pass
    run._process.send_signal(signal.SIGKILL)  # or not, if the program was faster


def moments(whole):
    """Seeded: sizes of the journal, of JUnit and of the capture, from empty to complete."""
    draw = random.Random(13)
    for _ in range(30):
        name = draw.choice(["results.jsonl", "junit.xml", "capture.pcapng"])
        yield name, draw.randrange((whole / name).stat().st_size)


def killed_once(cases, folder, moment):
    with Process(bluebench(), "run", "--cases", cases, "--report", folder) as run:
        kill(run, folder, moment)
        run._process.wait(TIMEOUT)
        run._reader.join(TIMEOUT)
        return re.findall(r"^(?:PASS|FAIL) +(made/\S+?):?(?: |$)", run.text, re.M)


def packet(folder, name, number, shown={}):
    """The description of a packet in a capture."""
    key = folder / name
    if key not in shown:
        shown[key] = run_bench("show", key).stdout.splitlines()
    [line] = [line for line in shown[key] if line.split()[0] == str(number)]
    return line


def documents(folder):
    """The files of a killed run are complete at all times, and `merge` completes JUnit and results.json from the journal without running anything."""
    path, journal = folder / "results.json", in_journal(folder)
    if not path.exists():
        return
    left = json.loads(path.read_text())
    if left["run"]["interrupted"]:
        assert {case["id"] for case in left["cases"]} <= set(journal) and left["run"]["date"] and left["run"]["host"]
    if journal:
        captures = sorted(folder.glob("*.pcapng"))
        merged = run_bench("merge", folder, "--report", folder, "--quiet", expected=None)
        assert merged.returncode == (FAIL if left["summary"]["fail"] or results(folder)["summary"]["fail"] else 3)
        assert ("was killed" in merged.stderr) == left["run"]["interrupted"] == results(folder)["run"]["interrupted"]
        assert [case["id"] for case in results(folder)["cases"]] == sorted(journal) == sorted(in_junit(folder))
        assert results(folder)["run"]["build"] and (folder / "index.html").exists() and sorted(folder.glob("*.pcapng")) == captures


def check(cases, folder, whole):
    """Completes the run: each result occurs once, and the evidence refers to the right packets."""
    before = in_journal(folder)
    resumed = run_bench("run", "--cases", cases, "--report", folder, "--resume", expected=FAIL)
    ran = re.findall(r"^(?:PASS|FAIL) +(made/\S+?):?(?: |$)", resumed.stdout, re.M)
    assert not set(ran) & set(before) and len(ran) + len(set(before)) == COUNT, "the rest, and nothing else"
    now, then = results(folder), results(whole)
    assert [told(case) for case in now["cases"]] == [told(case) for case in then["cases"]]
    assert now["summary"] == then["summary"] and now["summary"]["fail"] == COUNT / 3
    assert in_junit(folder) == in_junit(whole)
    assert len(set(in_journal(folder))) == len(in_journal(folder)) == COUNT
    for case in now["cases"]:
        assert case["first_packet"] <= case["last_packet"]
        seen = [entry["packet"] for entry in case["evidence"] if entry["packet"]]
        assert all(case["first_packet"] <= number <= case["last_packet"] for number in seen)
        if case["verdict"] == "FAIL":
            assert seen and "LE_Rand" in packet(folder, case["capture"], seen[-1]), case


@pytest.mark.parametrize("index", range(KILLS))
def test_nothing_is_lost_by_kill_9(tmp_path, cases, whole, index):
    moment = list(moments(whole))[index]
    finished = killed_once(cases, tmp_path, moment)
    assert set(finished) <= set(in_journal(tmp_path)), moment
    assert set(finished) <= set(in_junit(tmp_path)), moment
    documents(tmp_path)
    check(cases, tmp_path, whole)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")], "no draft is left"


def test_a_run_that_is_killed_twice_is_completed(tmp_path, cases, whole):
    sizes = [(whole / "results.jsonl").stat().st_size * part // 3 for part in (1, 2)]
    killed_once(cases, tmp_path, ("results.jsonl", sizes[0]))
    with Process(bluebench(), "run", "--cases", cases, "--report", tmp_path, "--resume") as run:
        kill(run, tmp_path, ("results.jsonl", sizes[1]))
        run._process.wait(TIMEOUT)
    check(cases, tmp_path, whole)


def test_what_an_old_run_left_is_not_taken_for_the_new_one(tmp_path, cases):
    run_bench("run", "--cases", cases, "--report", tmp_path, expected=FAIL)
    page, document = tmp_path / "index.html", tmp_path / "results.json"
    with Process(bluebench(), "run", "--cases", cases, "--report", tmp_path) as run:
        while run.running() and page.exists():
            pass
        os.kill(run.pid, signal.SIGKILL)
        assert run._process.wait(TIMEOUT) == -signal.SIGKILL
    assert not page.exists() and len(in_junit(tmp_path)) < COUNT
    assert not document.exists() or results(tmp_path)["run"]["interrupted"] and len(results(tmp_path)["cases"]) < COUNT


def test_junit_says_when_and_where(whole):
    root = ElementTree.parse(whole / "junit.xml").getroot()
    [suite] = root.iter("testsuite")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
    assert suite.get("hostname") == os.uname().nodename
    properties = {entry.get("name"): entry.get("value") for entry in suite.find("properties")}
    assert properties["tester"] == "virtual" and properties["seed"] == "1"
    own = dict(line.split(": ", 1) for line in suite.find("testcase").find("system-out").text.splitlines())
    assert re.fullmatch(r"\d+ to \d+ of capture\.pcapng", own["packets"]) and own["started"].endswith("Z")


def tshark(path, *options):
    return subprocess.run(["tshark", "-r", path, *options], check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout


def test_the_capture_has_an_interface_for_each_and_says_where_cases_are(whole):
    """Tester, subject and air, with a comment at the start, failure and end of a case; the packets are those in the results."""
    rows = tshark(whole / "capture.pcapng", "-T", "fields", "-e", "frame.number", "-e", "frame.interface_name", "-e", "frame.comment").splitlines()
    rows = [row.split("\t") for row in rows]
    assert {row[1] for row in rows} == {"tester", "subject", "air"}
    comments = {int(number): text for number, _, text in rows if text}
    for case in results(whole)["cases"]:
        name, first, last = case["id"], case["first_packet"], case["last_packet"]
        assert f"case {name} begins" in comments[first]
        assert f"case {name} ends: {case['verdict']}" in comments[last]
        marked = [number for number, text in comments.items() if f"case {name} fails at" in text]
        assert len(marked) == (case["verdict"] == "FAIL") and all(first <= number <= last for number in marked)
    assert sum(case["last_packet"] - case["first_packet"] + 1 for case in results(whole)["cases"]) == len(rows)


def test_the_air_of_a_capture_has_what_carries_something(tmp_path):
    """Nothing is missing but empty packets, which the log of the air has."""
    capture, air = tmp_path / "capture.pcapng", tmp_path / "air.pcapng"
    run_bench("run", "phy/central-asks-2m", "--capture", capture, "--air", air)
    fields = ("-T", "fields", "-e", "btle.data_header.length")
    lean = tshark(capture, "-Y", 'frame.interface_name == "air"', *fields).splitlines()
    full = tshark(air, *fields).splitlines()
    # Advertising has no such field, and remains.
    assert "0" in full and "" in lean
    assert lean == [length for length in full if length != "0"]
