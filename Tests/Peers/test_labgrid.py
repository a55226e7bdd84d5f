"""A labgrid lab on this machine: its coordinator, our exporter on a simulated USB bus, and clients that take turns."""

import contextlib
import os
import signal
import sys

import pytest
import yaml

from support import ROOT, Process, bluebench, fake_usb

TOOLS = ROOT / "Tools" / "labgrid"
PLACES = {
    "lab": {
        "tags": {"board": "two-dongles"},
        "matches": [{"exporter": "desk-pc", "group": "desk", "cls": "RemoteBluebenchDongle", "name": name} for name in ("tester", "subject")],
    }
}


class Lab:
    """The coordinator and an exporter with two dongles."""

    def __init__(self, folder, coordinator, bus):
        self.folder, self.coordinator, self.bus = folder, coordinator, bus
        [found] = coordinator.wait_for(r"listening on (127\.0\.0\.1:\d+)")
        self.address = found[1]
        program = folder / "bluebench-on-the-bus"
        program.write_text(f"#!/bin/sh\nUMOCKDEV_DIR={bus.environment['UMOCKDEV_DIR']} LD_PRELOAD=libumockdev-preload.so.0 exec '{bluebench()}' \"$@\"\n")
        program.chmod(0o755)
        devices = {name: {"cls": "BluebenchDongle", "device": f"usb:{dongle.path}"} for name, dongle in zip(("tester", "subject"), bus.dongles)}
        (folder / "exporter.yaml").write_text(yaml.safe_dump({"desk": devices}))
        self.exporter = Process(
            sys.executable, TOOLS / "exporter.py", "-c", self.address, "-n", "desk-pc", "--hostname", "127.0.0.1", folder / "exporter.yaml",
            env=self.environment("desk") | {"BLUEBENCH": str(program)})
        self.exporter.wait_for("creating poll task")

    def environment(self, user):
        return os.environ | {
            "LG_COORDINATOR": self.address, "LG_USERNAME": user, "LG_HOSTNAME": "desk-pc", "PYTHONPATH": str(TOOLS), "BLUEBENCH": bluebench()}

    def tests(self, user, text):
        """A user's own tests with our fixture."""
        path = self.folder / f"test_of_{user}.py"
        path.write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "pytest_bluebench", "-p", "no:cacheprovider", "-s", "-q", "--rootdir", self.folder, path]
        return Process(*command, env=self.environment(user))

    def reservations(self):
        with self.client("watcher", "reservations") as listing:
            listing.wait()
            return listing.text

    def client(self, user, *arguments):
        return Process(sys.executable, "-m", "labgrid.remote.client", *arguments, env=self.environment(user))


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "places.yaml").write_text(yaml.safe_dump(PLACES))
    with contextlib.ExitStack() as stack:
        bus = stack.enter_context(fake_usb(2))
        command = f'cd "{tmp_path}" && exec "{sys.executable}" -m labgrid.remote.coordinator -l 127.0.0.1:0'
        coordinator = stack.enter_context(Process("sh", "-c", command, env=os.environ | {"PYTHONUNBUFFERED": "1"}))
        lab = Lab(tmp_path, coordinator, bus)
        stack.enter_context(lab.exporter)
        yield lab
        # Displayed beside a failure.
        print(lab.exporter.text, lab.coordinator.text, sep="\n")


def test_clients_take_turns(lab):
    gate = lab.folder / "gate"
    os.mkfifo(gate)
    first = f"""
def test_read(two_dongles):
    print("alice has it", flush=True)
    open({str(gate)!r}).read()
    outcome = two_dongles.run("phy/read")
    assert outcome.verdict == "PASS", outcome.output
    assert [case["verdict"] for case in outcome.results["cases"]] == ["PASS"]
"""
    second = """
def test_read(two_dongles):
    print("bob has it", flush=True)
    assert two_dongles.tester.selector != two_dongles.subject.selector
"""
    with lab.tests("alice", first) as alice:
        alice.wait_for("alice has it")
        with lab.client("bob", "-p", "lab", "acquire") as refused:
            assert refused.wait() != 0 and "already acquired by desk-pc/alice" in refused.text
        with lab.tests("bob", second) as bob:
            while "bob" not in lab.reservations():
                assert bob.running(), bob.text
            assert "bob has it" not in bob.text
            gate.write_text("")
            assert alice.wait() == 0, alice.text + lab.exporter.text
            assert bob.wait() == 0, bob.text + lab.exporter.text
    lab.coordinator.wait_for("lab: place released", 2)


def test_an_exporter_that_dies_is_inconclusive_and_the_place_is_released(lab):
    text = """
def test_much(two_dongles):
    outcome = two_dongles.run()
    verdicts = {case["verdict"] for case in outcome.results["cases"]}
    assert outcome.verdict == "INCONC" and "INCONC" in verdicts and "FAIL" not in verdicts, outcome.output
"""
    with lab.tests("carol", text) as carol:
        lab.exporter.wait_for("a client came", 2)
        os.kill(lab.exporter.pid, signal.SIGKILL)
        assert carol.wait() == 0, carol.text + lab.exporter.text
    lab.coordinator.wait_for("lab: place released")
    # The shares ended with it, and released the dongles.
    for dongle in lab.bus.dongles:
        with lab.bus.start(bluebench(), "scan", f"usb:{dongle.path}", "--seconds", "1") as scan:
            assert scan.wait() == 0, scan.text
