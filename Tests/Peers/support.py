"""Shared by the tests: the program under test as a process, waiting for conditions, and Bumble hosts on a port."""

import asyncio
import collections
import contextlib
import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The package of this checkout, also for programs that a test starts.
sys.path.insert(0, str(ROOT / "Python"))

from bluebench import Air, Dongle, air, process, virtualtime  # noqa: E402
from python_peer import PythonPeer  # noqa: E402

NO_SUITES = {"mutants", "procedures", "profiles", "public-tests", "variants"}
"""Folders beside the suites without cases."""
TIMEOUT = 300
"""The time limit in seconds of an expected event. It protects against hanging and is not a requirement, so that a busy machine fails no test."""
process.Process.guard = air.CLIENT_TIMEOUT = TIMEOUT
virtualtime.client.GUARD = virtualtime.loop.GUARD = 2 * TIMEOUT
VIRTUAL_TIMEOUT = 1800
"""The same limit in virtual time, where waiting is instantaneous."""
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder in memory if possible: renaming a file waits for the disk, seconds if that is busy."""
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "bluebench.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:labgrid"]
"""A user's pytest. labgrid's plugin takes longer to load than most of these tests run."""
SEED = 7
"""The seed of Bumble's random numbers in virtual time."""


def bluebench():
    """The program under test: BLUEBENCH, or the newest build of this checkout."""
    named = os.environ.get("BLUEBENCH")
    candidates = [ROOT / named] if named else [ROOT / ".build" / kind / "bluebench" for kind in ("release", "debug")]
    for path in candidates:
        if path.is_file():
            return str(path)
    raise AssertionError(f"no program to test: build it with `make release` (looked for {', '.join(map(str, candidates))})")


def wait_until(condition):
    end, pause = time.monotonic() + TIMEOUT, threading.Event()
    while not condition():
        assert time.monotonic() < end, "it did not come"
        pause.wait(0.02)


def run_bench(*arguments, expected=0, timeout=TIMEOUT * 5, cwd=ROOT):
    """Runs bluebench and returns its output; `expected` is its exit code, or None for any."""
    result = subprocess.run([bluebench(), *map(str, arguments)], capture_output=True, text=True, timeout=timeout, cwd=cwd)
    if expected is not None:
        assert result.returncode == expected, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def virtual_loop():
    """The running event loop, if it uses virtual time."""
    loop = asyncio.get_running_loop()
    return loop if isinstance(loop, virtualtime.VirtualTimeLoop) else None


async def run_beside(command, port, *arguments, expected=0):
    """Runs a command on the dongle of a port like `run_bench`, while the event loop continues; in virtual time the command shares the loop's world."""
    loop = virtual_loop()
    if loop:
        loop.expect(2)
    device = f"tcp:127.0.0.1:{port}" + (",virtual-time" if loop else "")
    process = await asyncio.create_subprocess_exec(
        bluebench(), command, device, *map(str, arguments), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = (text.decode() for text in await process.communicate())
    finally:
        if process.returncode is None:
            process.kill()
    if loop:
        loop.expect(1)
    assert expected in (None, process.returncode), f"exit {process.returncode}\n{out}\n{err}"
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def once(factory, name, make):
    """A folder that `make` fills, once for all workers of a run of the tests."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    done = folder / ".done"
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


class Process(process.Process):
    """A running program in the folder of the checkout whose output can be awaited."""

    def __init__(self, *command, **options):
        super().__init__(*command, **({"cwd": ROOT} | options))


def in_virtual_time(scenario):
    """Runs a coroutine in virtual time, with seeded random numbers."""
    with virtualtime.seeded(SEED):
        return virtualtime.run(asyncio.wait_for(scenario, VIRTUAL_TIMEOUT))


@contextlib.contextmanager
def dongles(count=2, *options, virtual_time=False):
    """Virtual dongles of one simulated air, in real time, or in virtual time for `in_virtual_time`; yields their TCP ports."""
    with Air(count, virtual_time=virtual_time, options=options, program=bluebench()) as air:
        yield [dongle.port for dongle in air.dongles]
        assert air.process.running(), f"the server ended:\n{air.output}"


class Starvation:
    """Seconds in which this process and its children were runnable and had no processor. A limit of a program's time grows with them."""

    def __init__(self):
        self._threads = {}
        self._before = self._note()

    def _note(self):
        # What is known of a thread that has ended is kept.
        for process in ["self", *pathlib.Path("/proc/thread-self/children").read_text().split()]:
            for path in pathlib.Path("/proc", process, "task").glob("*/schedstat"):
                with contextlib.suppress(OSError, IndexError):
                    self._threads[path] = int(path.read_text().split()[1]) / 1e9
        return sum(self._threads.values())

    def seconds(self):
        return self._note() - self._before


class FakeUSB:
    """A simulated USB bus with virtual dongles; programs started with its environment see only this bus."""

    Dongle = collections.namedtuple("Dongle", "path address serial")

    def __init__(self, folder, server, count):
        found = server.wait_for(r"^usbfs:\S+ usb:(\S+) (\S+)", count)
        self.dongles = [self.Dongle(path, address, address.replace(":", "")) for path, address in (match.groups() for match in found)]
        self.environment = os.environ | {"UMOCKDEV_DIR": str(folder), "LD_PRELOAD": "libumockdev-preload.so.0"}

    def start(self, *command):
        return Process(*command, env=self.environment)


@contextlib.contextmanager
def fake_usb(count=2, *options):
    """Virtual dongles of one air on a USB bus that unmodified libusb uses as the system's. The folder's name is short because socket paths are limited."""
    with tempfile.TemporaryDirectory(prefix="bb", dir=MEMORY) as folder:
        with Process(bluebench(), "dongle", "--usbfs", folder, "--count", str(count), *options) as server:
            yield FakeUSB(folder, server, count)
            assert server.running(), f"the server ended:\n{server.text}"


@contextlib.contextmanager
def bumble_controllers(count=2):
    """Bumble's own controllers; yields their addresses as host:port, and the prefix of commands that connect to them."""
    with PythonPeer("bumble_controllers.py", count) as server:
        yield [match.group(1) for match in server.wait_for(r"tcp (127\.0\.0\.1:\d+)", count)], []


@contextlib.contextmanager
def rootcanal(count=2):
    """RootCanal in its own network, with a controller for each client; yields like `bumble_controllers`."""
    with Process(sys.executable, HERE / "rootcanal_net.py") as server:
        [ready] = server.wait_for(r"rootcanal (\S+) network (\d+)")
        enter = ["nsenter", "--target", ready.group(2), "--net"]
        if os.geteuid() != 0:
            enter += ["--user", "--preserve-credentials"]
        yield [ready.group(1)] * count, enter
        assert server.running(), f"RootCanal ended:\n{server.text}"


@contextlib.asynccontextmanager
async def host(port, name, address, power_on=True, **configuration):
    """A Bumble host on the controller that listens on `port`; of a program of ours, or another one."""
    async with Dongle(0, port, "", virtual_loop() is not None).host(name, address, power_on, **configuration) as device:
        yield device


class Inbox:
    """Collects the events of an emitter, and waits until there are enough."""

    def __init__(self, emitter=None, event=None, select=lambda *arguments: arguments[0] if len(arguments) == 1 else arguments):
        self.items = collections.deque()
        self._arrived = asyncio.Event()
        self._select = select
        if emitter is not None:
            emitter.on(event, self.put)

    def put(self, *arguments):
        self.items.append(self._select(*arguments))
        self._arrived.set()

    async def until(self, condition):
        """Returns the first item that satisfies the condition; items before it are dropped."""
        while True:
            while self.items:
                item = self.items.popleft()
                if condition(item):
                    return item
            self._arrived.clear()
            await self._arrived.wait()

    async def next(self):
        return await self.until(lambda item: True)
