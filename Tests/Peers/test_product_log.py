"""The product's log in a run: from a command, a file that is replaced, and a serial line that vanishes."""

import contextlib
import json
import os
import threading
import tty

import pytest

from support import Process, bluebench, dongles, run_bench

CASE = "accessory-link/idle"
BANNER = "*** Booting Zephyr OS build v4.0.0 ***"
TICK = "\x1b[32m<inf>\x1b[0m tick <b>"


def run(folder, source, *options, seconds=2):
    """The results of a case in real time that lasts for some seconds, with the page and what was printed."""
    report = folder / "report"
    with dongles(2) as ports, Process(bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "reference") as product:
        product.wait_for("advertis")
        made = run_bench(
            "run", CASE, "--tester", f"tcp:127.0.0.1:{ports[0]}", "--peer", "Bluebench Reference", "--bonds", "none", "--report", report,
            "--dut-log", source, "--before-case", f"touch {folder}/begun", "--set", f"{CASE}.seconds={seconds}", *options)
    [case] = json.loads((report / "results.json").read_text())["cases"]
    return case, (report / "index.html").read_text(), made


@contextlib.contextmanager
def writing(folder, write):
    """Calls `write` every few milliseconds while the test waits for a program, with the number of the calls since the case began."""
    ended = threading.Event()

    def work():
        number = 0
        while not ended.wait(0.01):
            number += (folder / "begun").exists()
            write(number)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def texts(case):
    return [line["text"] for line in case["log"]]


def test_lines_of_a_command_stand_between_the_packets(tmp_path):
    case, page, made = run(tmp_path, f"while :; do printf '{TICK}\\n' >&2; sleep 0.05; done".replace("\x1b", "\\033"))
    assert case["verdict"] == "PASS" and set(texts(case)) == {"<inf> tick <b>"}, case
    times = [line["at_ms"] for line in case["log"]]
    assert times == sorted(times) and times[-1] - times[0] > 500
    ladder = page[page.index('class="ladder"'):]
    assert ladder.count('class="log"') == len(times)
    first, last = ladder.index('class="log"'), ladder.rindex('class="log"')
    assert 'class="name"' in ladder[first:last], "the lines are not between the packets"
    assert "&lt;inf&gt; tick &lt;b&gt;" in ladder and made.stderr == ""


def test_a_banner_in_the_middle_is_named(tmp_path):
    """It comes more than five seconds after the command before the case."""
    case, page, _ = run(tmp_path, f"while :; do echo '{BANNER}'; sleep 0.2; done", seconds=7)
    assert f"the product restarted: {BANNER} (its log at " in case["message"], case
    assert any(row["side"] == "log" and row["text"] == BANNER for row in case["evidence"]) and "the product restarted" in page


def test_a_command_that_ends_is_told_once(tmp_path):
    case, _, made = run(tmp_path, "command:echo gone; exit 4")
    assert case["verdict"] == "PASS"
    assert made.stderr.count("the product's log has ended: the command 'echo gone; exit 4' ended with exit code 4") == 1, made.stderr


def test_a_file_is_followed_when_it_is_replaced(tmp_path):
    path = tmp_path / "dut.log"
    path.write_text("an old line\n")
    replaced = tmp_path / "dut.log.1"

    def write(number):
        if number == 50 and not replaced.exists():
            path.rename(replaced)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"line {number} {'of the old' if number < 50 else 'of the new'} file\n")

    with writing(tmp_path, write):
        case, _, _ = run(tmp_path, path, seconds=4)
    assert any("of the new" in text for text in texts(case)) and "an old line" not in texts(case), texts(case)


def test_a_serial_line_is_read_and_its_end_told(tmp_path):
    head, tail = os.openpty()
    tty.setraw(head)
    os.set_blocking(head, False)
    open_ends = [head]

    def write(number):
        if number < 100:
            with contextlib.suppress(BlockingIOError):
                os.write(head, f"line {number}\r\n".encode())
        elif open_ends:
            os.close(open_ends.pop())

    name = os.ttyname(tail)
    os.close(tail)
    with writing(tmp_path, write):
        case, _, made = run(tmp_path, f"serial:{name},115200", seconds=4)
    assert case["verdict"] == "PASS" and any(text.startswith("line ") for text in texts(case))
    assert made.stderr.count("is gone") == 1, made.stderr


@pytest.mark.parametrize("options, words", [
    (["--boot-line", "x"], "--boot-line needs --dut-log"), (["--dut-log", "x", "--boot-line", "("], "--boot-line (: a closing bracket ) is missing"),
    (["--dut-log", " "], "--dut-log takes"), (["--dut-log", "serial:/dev/x,7"], "speed"),
])
def test_wrong_options_are_refused(options, words):
    assert words in run_bench("run", *options, expected=2).stderr
