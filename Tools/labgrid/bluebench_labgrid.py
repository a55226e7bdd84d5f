"""Dongles as labgrid resources: an export that shares them, the resource that a client sees, and a driver that runs cases on two of them.

The exporter is started as `python Tools/labgrid/exporter.py`, which knows this export; everything else is labgrid's own.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading

import attr
from labgrid.driver import Driver
from labgrid.factory import target_factory
from labgrid.remote import exporter as remote_exporter
from labgrid.resource.common import ManagedResource, NetworkResource
from labgrid.resource.remote import RemotePlaceManager

CODES = {0: "PASS", 1: "FAIL", 2: "USAGE", 3: "INCONC"}
"""What the exit codes of `bluebench run` mean."""


@target_factory.reg_resource
@attr.s(eq=False)
class RemoteBluebenchDongle(NetworkResource, ManagedResource):
    """A dongle that an exporter shares while the place is acquired."""

    manager_cls = RemotePlaceManager
    port = attr.ib(validator=attr.validators.optional(attr.validators.instance_of(int)))
    wants_token = attr.ib(default=False, validator=attr.validators.instance_of(bool))

    @property
    def selector(self):
        """The dongle's name for bluebench."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tcp:{host}:{self.port}" + (",token" if self.wants_token else "")


@attr.s(eq=False)
class LocalDongle:
    """What an exporter's configuration says: a device of bluebench's, and the address to serve it on."""

    device = attr.ib(validator=attr.validators.instance_of(str))
    listen = attr.ib(default="127.0.0.1", validator=attr.validators.instance_of(str))
    avail = True

    def poll(self):
        pass


def _ending_with_parent(command):
    """The share ends when its exporter does, however that ends. (A fork that runs Python of its own is no way: gRPC has threads.)"""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", *command] if setpriv else command


@attr.s(eq=False)
class BluebenchDongleExport(remote_exporter.ResourceExport):
    """Runs `bluebench share` while a place has the dongle."""

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.data["cls"] = "RemoteBluebenchDongle"
        self.local = LocalDongle(**self.local_params)
        self.child = None
        self.port = None
        self.wants_token = False

    def _get_params(self):
        return {"host": self.host, "port": self.port, "wants_token": self.wants_token, "extra": {"device": self.local.device}}

    def _start(self, start_params):
        command = [os.environ.get("BLUEBENCH", "bluebench"), "share", self.local.device, "--tcp", "0", "--host", self.local.listen]
        self.child = subprocess.Popen(_ending_with_parent(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        found = re.search(r":(\d+)(,token)? shares ", line)
        if not found:
            code = self.child.wait()
            self.child = None
            raise remote_exporter.ExporterError(f"{' '.join(command)} ended with exit code {code}: {line}")
        self.port, self.wants_token = int(found[1]), found[2] is not None
        threading.Thread(target=self._drain, args=(self.child.stdout,), daemon=True).start()

    def _drain(self, lines):
        for line in lines:
            self.logger.info("%s: %s", self.local.device, line.rstrip())

    def _stop(self, start_params):
        child, self.child, self.port = self.child, None, None
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


remote_exporter.exports["BluebenchDongle"] = BluebenchDongleExport


@attr.s(eq=False)
class Outcome:
    """What came of a run: PASS, FAIL, INCONC or USAGE, the results as `docs/guide/results.md` has them (None without any), and what was printed."""

    verdict = attr.ib()
    results = attr.ib()
    output = attr.ib()


@target_factory.reg_driver
@attr.s(eq=False)
class BluebenchDriver(Driver):
    """Runs cases with one dongle of a place as tester and one as subject."""

    bindings = {"tester": "RemoteBluebenchDongle", "subject": "RemoteBluebenchDongle"}
    program = attr.ib(default=None, validator=attr.validators.optional(attr.validators.instance_of(str)))

    @Driver.check_active
    def run(self, *cases, options=()):
        """Runs cases, suites or patterns to their end."""
        program = self.program or os.environ.get("BLUEBENCH", "bluebench")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.json")
            command = [program, "run", *cases, "--tester", self.tester.selector, "--subject", self.subject.selector, "--json", path, *options]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            results = None
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    results = json.load(file)
        return Outcome(CODES.get(done.returncode, "INCONC"), results, done.stdout)
