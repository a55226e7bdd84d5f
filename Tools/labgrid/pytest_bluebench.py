"""A pytest fixture for two dongles of a lab: `pytest -p pytest_bluebench`, with this folder in PYTHONPATH.

LG_COORDINATOR names the coordinator, BLUEBENCH_PLACE the tag filter of the places that will do (`board=two-dongles`). The fixture waits in the
coordinator's queue until one is free, acquires it, and releases it in the end, also when its exporter is gone by then.
"""

import os
import re
import subprocess
import sys

import pytest
from labgrid import Target
from labgrid.resource.remote import RemotePlace

from bluebench_labgrid import BluebenchDriver


class Lab:
    """A coordinator, asked by labgrid-client."""

    def __init__(self, token=None):
        self.environment = dict(os.environ) | ({"LG_TOKEN": token} if token else {})

    def ask(self, *arguments):
        command = [sys.executable, "-m", "labgrid.remote.client", *arguments]
        done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"labgrid-client {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout


@pytest.fixture(scope="session")
def two_dongles():
    """An active BluebenchDriver on the two dongles, `tester` and `subject`, of a place that is ours until the session ends."""
    reserved = Lab().ask("reserve", "--wait", "--shell", os.environ.get("BLUEBENCH_PLACE", "board=two-dongles"))
    token = re.search(r"LG_TOKEN=(\S+)", reserved)[1]
    lab = Lab(token)
    try:
        place = re.search(r"acquired place (\S+)", lab.ask("-p", "+", "acquire"))[1]
    finally:
        # Who has the place needs the reservation no more; with it, the next in the queue would wait for the coordinator's next round.
        lab.ask("cancel-reservation", token)
    try:
        target = Target("main")
        RemotePlace(target, name=place)
        target.set_binding_map({"tester": "tester", "subject": "subject"})
        driver = BluebenchDriver(target, name=None)
        target.activate(driver)
        yield driver
        target.cleanup()
    finally:
        lab.ask("-p", place, "release")
