"""Whatever is wrong from outside gives one clear line and its exit code, and loses nothing that was written before.

Exit codes: 0 pass, 1 fail, 2 usage, 3 bench error or INCONC without a FAIL.
"""

import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading

import pytest

from support import ROOT, Process, bluebench, dongles, run_bench

USAGE, BENCH = 2, 3

GOOD_CASE = """\
title: A reset is answered
purpose: HCI_Reset ends with Command Complete.
covers: {HCI/DSU/BV-02-C: partial}
steps:
  - send: Reset
    as: subject
    states: The reset is answered.
reference: Core Vol 4, Part E, 7.3.2
"""


def one_line(result, *words):
    """The single line of the error message, which contains each of the words."""
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, f"{len(lines)} lines of complaint:\n{result.stderr}\n{result.stdout}"
    for word in words:
        assert word.lower() in lines[0].lower(), f"{word!r} is not in: {lines[0]}"
    assert "fatal error" not in lines[0].lower()
    return lines[0]


@pytest.fixture
def busy_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_no_such_command():
    one_line(run_bench("dance", expected=USAGE), "dance")


@pytest.mark.parametrize(
    "selector", ["banana", "usb:zzzz:0001", "tcp:127.0.0.1", "tcp:127.0.0.1:notaport", "virtual:1"],
)
def test_a_device_name_that_means_nothing(selector):
    one_line(run_bench("run", "hci", "--tester", selector, "--subject", "virtual", expected=USAGE), selector)


def test_a_usb_device_that_is_not_there():
    one_line(run_bench("run", "hci", "--tester", "usb:FFFF:FFFF", "--subject", "usb:FFFF:FFFE", expected=BENCH), "usb:FFFF:FFFF")


def test_a_port_that_nobody_serves():
    with socket.socket() as near, socket.socket() as far:
        near.bind(("127.0.0.1", 0))
        far.bind(("127.0.0.1", 0))
        tester, subject = (f"tcp:127.0.0.1:{closed.getsockname()[1]}" for closed in (near, far))
        one_line(run_bench("run", "hci", "--tester", tester, "--subject", subject, expected=BENCH), tester)


def test_a_busy_port(busy_port):
    one_line(run_bench("dongle", "--tcp", busy_port, expected=BENCH), str(busy_port))


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_out_of_range(port):
    one_line(run_bench("dongle", f"--tcp={port}", expected=USAGE))


def test_no_such_suite():
    one_line(run_bench("run", "gap-advv", expected=USAGE), "gap-adv")


@pytest.fixture
def folder(tmp_path):
    """A folder of cases with one suite; the test writes its case."""
    (tmp_path / "Cases" / "hci").mkdir(parents=True)
    (tmp_path / "Cases" / "public-tests").mkdir()
    (tmp_path / "Cases" / "public-tests" / "own.tsv").write_text("id\nREQ-12\n")
    return tmp_path / "Cases"


def run_options(command, folder, results):
    return ["check", folder] if command == "check" else ["run", "--cases", folder, "--json", results]


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_good_case_file(folder, tmp_path, command):
    (folder / "hci" / "good.yaml").write_text(GOOD_CASE)
    run_bench(*run_options(command, folder, tmp_path / "results.json"))


@pytest.mark.parametrize(
    ("text", "where", "word"),
    [
        (GOOD_CASE + "tearduwn: []\n", ":9:1", "teardown"),
        (GOOD_CASE.replace("Reset\n", "Resett\n"), ":5:11", "Reset"),
        (GOOD_CASE.replace("BV-02-C", "BV-02-X"), ":3:10", "HCI/DSU/BV-02-C"),
        (GOOD_CASE.replace("as: subject", "as: sbject"), ":6:9", "subject"),
        ("title: [unclosed\n", ":", ""),
        ("", ":", ""),
        ("\x00\xff not yaml \x01", ":", ""),
    ],
)
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_wrong_case_file(folder, tmp_path, command, text, where, word):
    (folder / "hci" / "wrong.yaml").write_text(text, encoding="latin-1")
    results = tmp_path / "results.json"
    complaint = one_line(run_bench(*run_options(command, folder, results), expected=USAGE), "wrong.yaml" + where, word)
    assert complaint.count("wrong.yaml") == 1, "one mistake, said once"
    assert not results.exists(), "nothing runs when a file is wrong"


@pytest.mark.parametrize("form", ["folder/suite/case.yaml", "suite/case.yaml", "case.yaml", "procedures/own.yaml"])
def test_a_file_may_use_the_built_in_procedures(folder, form):
    """As `check` of its folder and `run --cases` have it, wherever the command is given."""
    (folder / "procedures").mkdir()
    (folder / "procedures/own.yaml").write_text("about: a link of our own\nsteps:\n  - use: connected\n")
    (folder / "hci/uses.yaml").write_text(GOOD_CASE.replace("steps:\n", "setup:\n  - use: connected\nsteps:\n"))
    place, name = {
        "folder/suite/case.yaml": (ROOT, folder / "hci/uses.yaml"), "suite/case.yaml": (folder, "hci/uses.yaml"),
        "case.yaml": (folder / "hci", "uses.yaml"), "procedures/own.yaml": (ROOT, folder / "procedures/own.yaml"),
    }[form]
    if place != ROOT:
        (place / "Conformance").symlink_to(ROOT / "Conformance")
    found = subprocess.run([os.path.abspath(bluebench()), "check", str(name)], cwd=place, capture_output=True, text=True)
    assert found.returncode == 0 and found.stdout == f"{name}: no mistakes\n", found.stdout + found.stderr
    (folder / "hci/uses.yaml").write_text(GOOD_CASE.replace("steps:\n", "setup:\n  - use: conected\nsteps:\n"))
    wrong = one_line(run_bench("check", folder / "hci/uses.yaml", expected=USAGE), "uses.yaml")
    assert "conected" in wrong and "connected" in wrong


def test_a_damaged_file_elsewhere_does_not_stop_a_named_case(folder):
    """Only named files are opened; `check` reads all files."""
    (folder / "hci" / "good.yaml").write_text(GOOD_CASE)
    (folder / "hci" / "damaged.yaml").write_text("title: [\n")
    (folder / "procedures").mkdir(exist_ok=True)
    (folder / "procedures" / "damaged.yaml").write_text("about: [\n")
    assert "PASS    hci/good" in run_bench("run", "hci/good", "--cases", folder).stdout
    assert "A reset is answered" in run_bench("explain", "hci/good", "--cases", folder).stdout
    assert run_bench("run", "hci/good", "--list", "--cases", folder).stdout.startswith("hci/good")
    for command in [("check", folder), ("run", "--cases", folder), ("run", "hci", "--cases", folder)]:
        assert "hci/damaged.yaml:2:1" in run_bench(*command, expected=USAGE).stderr, command
    assert "procedures/damaged.yaml:2:1" in run_bench("check", folder, expected=USAGE).stderr


def test_a_folder_of_cases_that_is_not_there(tmp_path):
    one_line(run_bench("check", tmp_path / "absent", expected=USAGE), "absent")


def btsnoop(packets):
    header = b"btsnoop\0" + struct.pack(">II", 1, 1002)
    return header + b"".join(
        struct.pack(">IIIIq", len(packet), len(packet), 2 if packet[0] == 1 else 3, 0, 0x00DCDDB30F2F8000 + number) + packet
        for number, packet in enumerate(packets))


RESET = bytes.fromhex("01030c00")
RESET_COMPLETE = bytes.fromhex("040e0401030c00")


def test_a_truncated_capture_shows_what_is_there(tmp_path):
    path = tmp_path / "cut.btsnoop"
    path.write_bytes(btsnoop([RESET, RESET_COMPLETE, RESET])[:-2])
    result = run_bench("show", path, expected=None)
    assert result.returncode in (USAGE, BENCH)
    one_line(result, "cut.btsnoop")
    assert result.stdout.count("HCI_Reset") + result.stdout.count("Reset") >= 2, result.stdout


@pytest.mark.parametrize("content", [b"", b"btsnoop", b"btsnoop\0\0\0\0\x09\0\0\0\0", b"not a capture at all, but some text", b"\x0a\x0d\x0d\x0a\xff\xff\xff\xff"])
def test_a_file_that_is_no_capture(tmp_path, content):
    path = tmp_path / "odd.bin"
    path.write_bytes(content)
    result = run_bench("show", path, expected=None)
    assert result.returncode in (USAGE, BENCH)
    one_line(result, "odd.bin")


def test_a_report_that_cannot_be_written(tmp_path):
    path = tmp_path / "no" / "such" / "folder" / "results.json"
    result = run_bench("run", "hci", "--json", path, expected=None)
    assert result.returncode in (USAGE, BENCH)
    one_line(result, "results.json")


class VanishingController:
    """A proxy of a virtual dongle that closes permanently after a number of octets from the host."""

    def __init__(self, port, octets):
        self.target, self.octets = port, octets
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        near, _ = self.server.accept()
        self.server.close()
        with near, socket.create_connection(("127.0.0.1", self.target)) as far:
            while self.octets > 0:
                for ready in select.select([near, far], [], [])[0]:
                    data = ready.recv(4096)
                    if not data:
                        return
                    if ready is near:
                        self.octets -= len(data)
                    (far if ready is near else near).sendall(data)


@pytest.mark.parametrize("octets", [1, 200, 2000])
def test_a_controller_that_vanishes(tmp_path, octets):
    """Completed cases keep their verdicts, the others are INCONC, and the capture can be read."""
    results, capture = tmp_path / "results.json", tmp_path / "capture.btsnoop"
    with dongles(2) as (near, far):
        vanishing = VanishingController(far, octets)
        result = run_bench(
            "run", "hci", "--tester", f"tcp:127.0.0.1:{near}", "--subject", f"tcp:127.0.0.1:{vanishing.port}",
            "--json", results, "--capture", capture, expected=BENCH)
    one_line(result, f"127.0.0.1:{vanishing.port}")
    verdicts = [case["verdict"] for case in json.loads(results.read_text())["cases"]]
    first = verdicts.index("INCONC")
    assert set(verdicts[:first]) <= {"PASS", "N/A"}
    assert set(verdicts[first:]) <= {"INCONC", "N/A"}
    assert octets < 2000 or "PASS" in verdicts[:first], "some cases ran before the line was cut"
    assert "Read_Local_Version_Information" in run_bench("show", capture).stdout, "what was asked when the run began is captured, too"


def test_a_controller_that_cannot_tell_its_version():
    """It answers every command with only a status."""

    def serve(listener):
        client, _ = listener.accept()
        with client:
            while command := client.recv(4096):
                client.sendall(bytes([4, 0x0E, 4, 1, *command[1:3], 0]))

    with dongles(1) as [near], socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        result = run_bench(
            "run", "hci/buffer-size", "--tester", f"tcp:127.0.0.1:{near}", "--subject", f"tcp:127.0.0.1:{listener.getsockname()[1]}",
            expected=BENCH)
    one_line(result, "malformed answer to Read_Local_Version_Information", "00")


def test_an_interrupted_run_keeps_what_was_written(tmp_path):
    """SIGINT after the first verdict: the results of completed cases are on disk and can be read."""
    results = tmp_path / "results.json"
    with dongles(2) as (near, far):
        with Process(
                bluebench(), "run", "hci", "--tester", f"tcp:127.0.0.1:{near}", "--subject", f"tcp:127.0.0.1:{far}", "--json", results) as run:
            run.wait_for("PASS")
            os.kill(run.pid, signal.SIGINT)
            assert run.wait() == BENCH
    cases = json.loads(results.read_text())["cases"]
    assert any(case["verdict"] == "PASS" for case in cases)


def test_procedures_that_use_the_next_one_twice_are_counted_once_each(tmp_path):
    folder = tmp_path / "procedures"
    folder.mkdir()
    (tmp_path / "mine").mkdir()
    deepest = 60
    for number in range(deepest):
        uses = f"  - {{use: p{number + 1}}}\n" * 2 if number < deepest - 1 else "  - {send: Read_BD_ADDR, as: tester}\n"
        (folder / f"p{number}.yaml").write_text(f"about: It uses the next one twice.\nsteps:\n{uses}")
    (tmp_path / "mine" / "bomb.yaml").write_text(
        GOOD_CASE.replace("covers: {HCI/DSU/BV-02-C: partial}\n", "").replace("reference:", "setup: [{use: p0}]\nreference:"))
    result = run_bench("check", tmp_path, expected=USAGE, timeout=60)
    assert "could run more than 100000 steps" in result.stdout + result.stderr


def test_a_folder_of_cases_may_be_a_link(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(ROOT / "Conformance")
    run_bench("check", link)
    assert "hci/buffer-size" in run_bench("run", "hci/buffer-size", "--cases", link, "--list").stdout


def test_a_controller_without_an_address_is_at_fault_not_the_user(tmp_path):
    with dongles(1, "--profile", "dual", "--quirk", "zero-address") as [port]:
        for words in (["bridge"], ["pair", "--bredr"]):
            result = run_bench(words[0], f"tcp:127.0.0.1:{port}", "--advertise", "x", "--bonds", tmp_path / "b.json", *words[1:], expected=BENCH)
            one_line(result, "public address", "this controller has none of its own")


def test_a_host_hears_why_a_dongle_of_le_alone_does_not_suit_it():
    with Process(bluebench(), "dongle", "--tcp", "0") as server:
        [found] = server.wait_for(r":(\d+) ")
        with socket.create_connection(("127.0.0.1", int(found.group(1)))) as client:
            for _ in range(2):
                client.sendall(bytes.fromhex("01560C0101"))  # HCI_Write_Simple_Pairing_Mode
                assert client.recv(64), "it is answered"
        server.wait_for("controller 0 supports only LE, but its host sent .*--profile dual")
        assert len([line for line in server.lines if "supports only LE" in line]) == 1


@pytest.mark.parametrize("way", ["--tcp", "--usbip"])
def test_dongles_that_others_reach_say_so(way):
    with Process(bluebench(), "dongle", way, "0", "--host", "0.0.0.0") as server:
        server.wait_for("others reach 0.0.0.0")


RESULTS = """{"format": 3, "run": {"seed": "1", "tester": "t", "subject": "s", "interrupted": false, "devices": [{"side": "tester",
"device": "x", "discarded": 0, "held": 1, "worst_wait_ms": 1, "dropped": 0, "cleared_halts": 0, "known": [], "workarounds": [], "learned": [],
"losses": [{"at_ms": 1, "away_ms": 1, "reason": "r"}]}]}, "summary": {"pass": 1, "fail": 0, "inconc": 0, "na": 0, "error": 0},
"cases": [{"id": "a/b", "verdict": "PASS", "duration_ms": 1, "virtual_ms": 1, "seed": "1", "commands": [{"attempt": 1, "duration_ms": 1,
"exit_code": 0, "occasion": "before-case", "output": "", "output_omitted": 0}], "notes": ["n"]}]}"""

FIGURES = """{"rows": [{"over": "notify", "direction": "both", "phy": "2m", "data_length": 251, "mtu": 247, "interval_ms": 1,
"goodput_kbps": 1300, "ceiling_kbps": 1400, "machine_delay_ms": 1, "window": {"begin_us": 1, "end_us": 2}}]}"""

ODD_NUMBERS = ["1e300", "-1e300", "1e400", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "NaN"]
MASSES = ["[" * 100_000 + "]" * 100_000, "[" + "0," * 200_000 + "0]", '"' + "x" * 1_000_000 + '"']


def survives(*arguments):
    """The exit code of a command that reads a strange file: it ends by itself, and complains in lines."""
    result = run_bench(*arguments, expected=None)
    assert result.returncode in range(4), f"{arguments}: exit {result.returncode}\n{result.stderr[:2000]}"
    assert "atal error" not in result.stderr
    return result.returncode


@pytest.mark.parametrize("field", ["worst_wait_ms", "at_ms", "away_ms", "duration_ms", "virtual_ms", "held"])
def test_results_of_somebody_else_with_odd_numbers(tmp_path, field):
    usual = tmp_path / "usual.json"
    usual.write_text(RESULTS)
    for number in ODD_NUMBERS:
        odd = tmp_path / "odd.json"
        text = RESULTS.replace(f'"{field}": 1', f'"{field}": {number}')
        assert text != RESULTS
        odd.write_text(text)
        code = survives("merge", odd, "--report", tmp_path / "report", "--junit", tmp_path / "junit.xml")
        if field != "held" and number in ("1e300", "-1e300"):
            assert code == 0, f"{field} of {number}"
        survives("compare", usual, odd, "--unlike")
        history = tmp_path / "history.sqlite"
        history.unlink(missing_ok=True)
        if survives("history", "add", history, odd) == 0:
            survives("history", "show", history)


@pytest.mark.parametrize("field", ["interval_ms", "data_length", "goodput_kbps", "machine_delay_ms", "begin_us", "end_us"])
def test_figures_of_somebody_else_with_odd_numbers(tmp_path, field):
    usual = tmp_path / "usual.json"
    usual.write_text(FIGURES)
    for number in ODD_NUMBERS:
        odd = tmp_path / "odd.json"
        odd.write_text(re.sub(rf'"{field}": \d+', f'"{field}": {number}', FIGURES))
        survives("compare", usual, odd, "--json", tmp_path / "findings.json")
        survives("compare", odd, usual)
        history = tmp_path / "history.sqlite"
        history.unlink(missing_ok=True)
        if survives("history", "add", history, odd) == 0:
            survives("history", "show", history)


@pytest.mark.parametrize("mass", MASSES, ids=["deep", "long", "wide"])
def test_masses_in_files_of_somebody_else(tmp_path, mass):
    for text, place in [(RESULTS, '"notes": ["n"]'), (FIGURES, '"over": "notify"')]:
        odd = tmp_path / "odd.json"
        odd.write_text(text.replace(place, place.split(":")[0] + ": " + mass))
        survives("compare", odd, odd)
        survives("merge", odd, "--report", tmp_path / "report")
        survives("history", "add", tmp_path / "history.sqlite", odd)
