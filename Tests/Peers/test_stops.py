"""Ctrl-C, SIGTERM, SIGHUP and --timeout end every command at any time, with its report, and leave no activity on the air. SOAK=1 tries 330 times."""

import collections
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

import pytest

from support import MEMORY, TIMEOUT, Process, Starvation, bluebench, dongles, fake_usb, run_bench

pytestmark = pytest.mark.wall_time

BENCH = 3
SOAK = bool(os.environ.get("SOAK"))
LIMIT = 2 if SOAK else 4
"""Seconds from the signal to the end, on a machine with a processor to spare: two, and as much again for a debug build."""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
REFERENCE = "02:BB:00:00:00:02"
"""The public address of the second dongle."""
RESET = "0x0c03"
# Commands that start activity on the air, or a mode that outlasts its user; those that end it again have parameters of zero.
LIVE = {
    "0x2039": "extended advertising", "0x200a": "advertising", "0x2042": "extended scanning", "0x200c": "scanning", "0x0401": "inquiry",
    "0x0405": "paging", "0x2043": "initiating", "0x200d": "initiating", "0x0c1a": "inquiry or page scan", "0x1802": "loopback",
}


@pytest.fixture
def tmp_path():
    """A folder in memory if possible, because the limit is for the program and not for the disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield pathlib.Path(folder)


Command = collections.namedtuple("Command", "name longest peer arguments")
"""`arguments` is a function of both devices and the output folder; `longest` the last time in seconds; `peer` the accessory on the other device."""


def command(name, longest, arguments, peer=None):
    return Command(name, longest, peer, arguments)


COMMANDS = [
    command("advertise", 1.5, lambda own, _, folder: ["advertise", own]),
    command("scan", 1.5, lambda own, _, folder: ["scan", own, "--seconds", 60, "--duplicates"], peer="reference"),
    command("inquiry", 1.5, lambda own, _, folder: ["scan", own, "--bredr", "--seconds", 60]),
    command("gatt", 3, lambda own, _, folder: ["gatt", own, "--peer", f"{REFERENCE}/public", "--json", "--subscribe", "2A37", "--seconds", 60], peer="heart-rate"),
    command("l2cap", 1.5, lambda own, _, folder: ["l2cap", own, "--seconds", 60]),
    command("survey", 8, lambda own, _, folder: ["survey", own, "--peer", "Bluebench Reference"], peer="reference"),
    command("pair", 3, lambda own, _, folder: ["pair", own, "--peer", f"{REFERENCE}/public", "--no-bond", "--accept"], peer="keyboard"),
    command("pair as acceptor", 1.5, lambda own, _, folder: ["pair", own, "--advertise", "Bench", "--transport", "bredr", "--no-bond"]),
    command("bridge", 1.5, lambda own, _, folder: ["bridge", own, "--advertise", "Bench", "--bonds", folder / "bonds.json"]),
    command("loopback", 2, lambda own, _, folder: ["loopback", own, "--packets", 10_000_000]),
    command("throughput", 4, lambda own, other, folder: ["throughput", "--tester", own, "--subject", other, "--seconds", 60, "--json", folder / "rows.json"]),
    command("devices", 6, lambda own, other, folder: ["devices", own, "--probe", "--with", other, "--json"]),
    command("run over the air", 12, lambda own, _, folder: [
        "run", "accessory-att", "accessory-gatt", "--tester", own, "--peer", "Bluebench Reference", "--report", folder], peer="reference"),
    command("run on two", 4, lambda own, other, folder: ["run", "gap-conn", "gap-adv", "--tester", own, "--subject", other, "--report", folder]),
]
VIRTUAL = [
    command("run", 5, lambda *ends: ["run", "--report", ends[-1]]),
    command("throughput", 3, lambda *ends: ["throughput", "--seconds", 1000, "--json", ends[-1] / "rows.json"]),
    command("bridge", 3, lambda *ends: ["bridge", "virtual", "--seconds", 3000]),
    command("mutants", 3, lambda *ends: ["mutants", "--json", ends[-1] / "mutants.json"]),
    command("variants", 3, lambda *ends: ["variants", "--json", ends[-1] / "variants.json"]),
]


@contextlib.contextmanager
def two_dongles(kind, folder):
    """Two devices of one air and a function that starts a program with them; their packets are in the capture after the end."""
    options = ["--profile", "dual", "--capture", folder / "seen.pcapng"]
    if kind == "tcp":
        with dongles(2, *options) as ports:
            yield [f"tcp:127.0.0.1:{port}" for port in ports], lambda *words: Process(bluebench(), *words)
    elif kind == "usb":
        with fake_usb(2, *options) as bus:
            yield [f"usb:{dongle.path}" for dongle in bus.dongles], lambda *words: bus.start(bluebench(), *words)
    else:
        yield [None, None], lambda *words: Process(bluebench(), *words)


def stop(process, moment, number):
    """Ends the program with a signal at a time, unless it has already ended; returns the time until the end.

    The limit grows with the time in which the program, or a dongle that it waits for, waited for a processor: by three times, as not all of it is seen.
    """
    with contextlib.suppress(subprocess.TimeoutExpired):
        process._process.wait(moment)
    began, starvation = time.monotonic(), Starvation()
    process._process.send_signal(number)
    while True:
        try:
            process._process.wait(0.02)
            break
        except subprocess.TimeoutExpired:
            if time.monotonic() - began < LIMIT + 3 * starvation.seconds():
                continue
            process._process.kill()
            raise AssertionError(f"{process.command} did not end within {LIMIT} s of {number.name} at {moment:.2f} s:\n{process.text}") from None
    process._reader.join(TIMEOUT)
    return time.monotonic() - began


def commands_sent(folder, device):
    """The opcodes of the commands that a dongle received."""
    capture = folder / "seen.pcapng"
    if not capture.exists():
        return []
    shown = subprocess.run(
        ["tshark", "-r", capture, "-T", "fields", "-e", "frame.interface_id", "-e", "bthci_cmd.opcode"], capture_output=True, text=True, timeout=TIMEOUT,
        check=True)
    rows = [row.split("\t") for row in shown.stdout.splitlines()]
    return [opcode for interface, opcode in rows if interface == str(device) and opcode]


def check_air(folder, device):
    """After the last reset no activity was started that would continue."""
    sent = commands_sent(folder, device)
    last = len(sent) - sent[::-1].index(RESET) if RESET in sent else 0
    left = [LIVE[opcode] for opcode in sent[last:] if opcode in LIVE]
    assert not left, f"dongle {device} is left with {left}; the last commands were {sent[-6:]}"
    return bool(sent)


def check_reports(words, process, folder, was_used):
    """The command's output is complete up to the end; it may be missing only if the program was still loading cases or opening devices."""
    code, text = process._process.returncode, process.text
    assert "CancellationError" not in text and "Fatal" not in text
    if code < 0 or code > 128:
        assert "PASS" not in text and "connected" not in text and "advertising" not in text, f"exit {code} of {words}:\n{text}"
        return
    if "--report" in words:
        document = json.loads((folder / "results.json").read_text())
        ElementTree.parse(folder / "junit.xml")
        assert document["cases"] and (folder / "index.html").stat().st_size > 1000 and (folder / "scorecard.md").exists()
        assert document["run"]["interrupted"] or code != BENCH
    elif words[0] in {"mutants", "variants"}:
        # The results that were there at the signal.
        rows = json.loads((folder / f"{words[0]}.json").read_text())[words[0]]
        assert code == BENCH and f"interrupted: {len(rows)} of " in text, text
    elif folder / "rows.json" in words:
        assert "rows" in json.loads((folder / "rows.json").read_text())
    elif "--json" in words and was_used:
        assert isinstance(json.loads(text[text.index("{"):text.rindex("}") + 1]), dict)


def draws():
    """Seeded: command, kind of devices, signal, time. The sample contains each command once for either kind of devices."""
    draw = random.Random(29)
    rounds = 10 if SOAK else 1
    for turn in range(rounds):
        for kind, commands in (("tcp", COMMANDS), ("usb", COMMANDS), ("virtual", VIRTUAL)):
            for chosen in commands:
                number, moment = draw.choice(SIGNALS), draw.uniform(0.05, chosen.longest)
                if SOAK or kind != "usb" or chosen.name in {"scan", "gatt", "loopback", "throughput", "run over the air"}:
                    yield pytest.param(chosen, kind, number, moment, id=f"{chosen.name}-{kind}-{number.name}-{moment:.2f}")


@pytest.mark.parametrize("chosen, kind, number, moment", list(draws()))
def test_a_signal_ends_it_with_its_report_and_nothing_on_the_air(tmp_path, chosen, kind, number, moment):
    with two_dongles(kind, tmp_path) as (devices, start), contextlib.ExitStack() as others:
        if chosen.peer:
            peer = others.enter_context(start("advertise", devices[1], "--as", chosen.peer))
            peer.wait_for("advertising")
        words = chosen.arguments(*devices, tmp_path)
        process = others.enter_context(start(*words))
        took = stop(process, moment, number)
        record(chosen.name, kind, took)
    used = [check_air(tmp_path, device) for device in range(2 if kind != "virtual" else 0)]
    check_reports(words, process, tmp_path, any(used[:1]))


def record(name, kind, took):
    """The statistics of a whole run, on request."""
    if path := os.environ.get("STOPS"):
        with open(path, "a") as file:
            file.write(f"{name}\t{kind}\t{took:.3f}\n")


class SilentController:
    """A port that accepts everything and never answers, or answers each command `late` seconds after it with zeros."""

    def __init__(self, late=None):
        self.got, self.late = b"", late
        self.arrived = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.device = "tcp:127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            while octets := connection.recv(4096):
                self.got += octets
                self.arrived.set()
                if self.late is not None:
                    answer = b"\x04\x0e\x44\x01" + octets[1:3] + bytes(65)
                    threading.Timer(self.late, self._answer, [connection, answer]).start()

    @staticmethod
    def _answer(connection, octets):
        with contextlib.suppress(OSError):
            connection.sendall(octets)


@pytest.mark.parametrize("words", [
    ["advertise"], ["scan"], ["gatt", "--peer", f"{REFERENCE}/public"], ["survey", "--peer", "x"], ["pair", "--advertise", "x", "--no-bond"], ["loopback"],
    ["devices", "--probe"], ["capture"], ["capture", "--web", "0"], ["share", "--tcp", "0"],
    ["extcap", "--extcap-interface", "bluebench-device", "--capture", "--fifo", "/dev/null", "--device"],
], ids=lambda words: " ".join(words[:2]))
@pytest.mark.parametrize("late", [None, 1], ids=["silent", "slow"])
def test_a_silent_controller_holds_nobody_up(words, late):
    controller = SilentController(late)
    line = [*words, controller.device] if words[-1] == "--device" else [words[0], controller.device, *words[1:]]
    with Process(bluebench(), *line) as process:
        assert controller.arrived.wait(TIMEOUT)
        stop(process, 0, signal.SIGINT)
    assert process._process.returncode == BENCH and "CancellationError" not in process.text
    assert controller.got.endswith(bytes.fromhex("01030C00")), "the reset is the last it gets"


def test_a_capture_ends_in_time_although_its_controller_never_answers():
    controller = SilentController()
    result = run_bench("capture", controller.device, "--seconds", 1, expected=BENCH)
    assert "the capture ended before every device had answered" in result.stderr


@pytest.mark.parametrize("words", [["share", "DEVICE", "--tcp", "0"], ["capture", "DEVICE", "--between", "tcp-listen:0"]], ids=lambda words: words[0])
@pytest.mark.parametrize("after", ["while a client is there", "while it is reset after a client"])
def test_a_device_that_falls_silent_is_left(words, after):
    """The device answers the first reset of `share`, and nothing afterwards."""
    controller = FallingSilent(1 if words[0] == "share" else 0)
    with Process(bluebench(), *[controller.device if word == "DEVICE" else word for word in words]) as process:
        [served] = process.wait_for(r"tcp:127\.0\.0\.1:(\d+) (shares|leads)")
        with socket.create_connection(("127.0.0.1", int(served[1])), TIMEOUT) as client:
            client.sendall(bytes.fromhex("01030C00"))
            assert controller.silent.wait(TIMEOUT)
            if after == "while a client is there":
                stop(process, 0, signal.SIGTERM)
        if after != "while a client is there":
            process.wait_for("the (client|program) (has )?left")
            stop(process, 0, signal.SIGTERM)
    assert process._process.returncode == 0


class FallingSilent:
    """A controller that answers a number of resets, each on a connection of its own."""

    def __init__(self, answers):
        self.left = answers
        self.silent = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.device = "tcp:127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection):
        with contextlib.suppress(OSError), connection:
            while connection.recv(4096):
                if self.left:
                    self.left -= 1
                    connection.sendall(bytes.fromhex("040E0401030C00"))
                else:
                    self.silent.set()


def test_a_second_signal_ends_it_at_once():
    controller = SilentController()
    with Process(bluebench(), "advertise", controller.device) as process:
        assert controller.arrived.wait(TIMEOUT)
        process._process.send_signal(signal.SIGINT)
        stop(process, 0, signal.SIGTERM)
    assert process._process.returncode == 128 + signal.SIGTERM


def test_a_time_limit_ends_a_run_over_the_air_with_its_report(tmp_path):
    with two_dongles("tcp", tmp_path) as (devices, start):
        with start("advertise", devices[1]) as peer:
            peer.wait_for("advertising")
            words = ["run", "accessory-att", "--tester", devices[0], "--peer", "Bluebench Reference", "--report", tmp_path, "--timeout", 4]
            with start(*words) as process:
                assert process.wait() == BENCH
    check_air(tmp_path, 0)
    document = json.loads((tmp_path / "results.json").read_text())
    assert {case["message"] for case in document["cases"] if case["verdict"] == "INCONC"} == {"the run's time was up (--timeout 4)"}
    assert ElementTree.parse(tmp_path / "junit.xml") and (tmp_path / "index.html").exists() and (tmp_path / "scorecard.md").exists()


@pytest.mark.parametrize("words", [["advertise", "--seconds", 1], ["scan", "--seconds", 1], ["l2cap", "--seconds", 1], ["pair", "--advertise", "x", "--no-bond", "--seconds", 1]],
                         ids=lambda words: words[0])
def test_nothing_is_on_the_air_after_its_own_end(tmp_path, words):
    with two_dongles("tcp", tmp_path) as (devices, start):
        run_bench(words[0], devices[0], *words[1:], expected=None)
    assert check_air(tmp_path, 0)
