"""pytest fixtures: simulated Bluetooth devices on one air, in virtual time. docs/guide/pytest.md has examples.

- `air`: the air of a test, `dongle`: a virtual controller on it, `dongles(2)`: more of them, `accessory("heart-rate")`: a simulated product.
- `@pytest.mark.bluebench(loss=0.1)` sets up the air; `real_time=True` gives its hosts real time.
- A test that is a coroutine runs on the air's clock, with random numbers from the seed.
"""

from __future__ import annotations

import asyncio
import inspect
import pathlib
import re
import shutil
import tempfile
from collections.abc import Callable, Generator
from typing import Any

import pytest

from . import virtualtime
from .air import Air, Dongle
from .captures import show
from .process import Process
from .program import BluebenchError, find_program

LAST_PACKETS = 25
LONG = ("--seconds", 80_000)
"""An accessory's time. In virtual time a host may wait for a day at most, and without this option it waits for a year."""
VIRTUAL_TIMEOUT, REAL_TIMEOUT = 1800.0, 60.0
MARKER = """bluebench(count=4, loss=None, neighbours=None, chip=None, quirks=(), dual=False, seed=None, real_time=False, timeout=None): \
the simulated air of the test. count: dongles that it may use; loss: packet error rate, 0 to 1; neighbours: other devices on the air; \
chip, quirks: of all dongles; dual: with BR/EDR; timeout: seconds, in virtual time by default."""
_AIR: pytest.StashKey[TestAir] = pytest.StashKey()


class Accessory:
    """A simulated product, played by `bluebench advertise`."""

    def __init__(self, model: str, dongle: Dongle, process: Process) -> None:
        self.model, self.dongle, self.process = model, dongle, process

    @property
    def address(self) -> str:
        """Its public device address."""
        return self.dongle.address

    @property
    def output(self) -> str:
        """Text that it has printed so far."""
        return self.process.text


class TestAir:
    """The air of one test, with what the test has placed on it."""

    __test__ = False

    def __init__(
        self, *, seed: int = 1, count: int = 4, real_time: bool = False, timeout: float | None = None, quirks: Any = (), **options: Any,
    ) -> None:
        self.seed, self.virtual_time = seed, not real_time
        self.timeout = timeout or (REAL_TIMEOUT if real_time else VIRTUAL_TIMEOUT)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bluebench"))
        # The last dongle keeps the test's event loop in the world while none of its hosts is there.
        self._air = Air(
            count + 1, seed=seed, virtual_time=self.virtual_time, quirks=[quirks] if isinstance(quirks, str) else list(quirks), folder=self.folder,
            **options)
        try:
            self._air.start()
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        self._free = self._air.dongles[:count]
        self._anchor = self._air.dongles[count]
        self._loop: virtualtime.VirtualTimeLoop | None = None
        self._clients = 1
        self._accessories: list[Accessory] = []
        self._is_finished = False

    def dongle(self) -> Dongle:
        """A virtual controller that nobody has yet."""
        __tracebackhide__ = True
        if not self._free:
            raise BluebenchError("no dongle is left: give the test more of them by @pytest.mark.bluebench(count=8)")
        return self._free.pop(0)

    def dongles(self, count: int) -> list[Dongle]:
        """Some virtual controllers that nobody has yet."""
        __tracebackhide__ = True
        if len(self._free) < count:
            raise BluebenchError(f"{len(self._free)} dongles are left, not {count}: give the test more of them by @pytest.mark.bluebench(count=8)")
        return [self.dongle() for _ in range(count)]

    def accessory(self, model: str = "heart-rate", *options: object) -> Accessory:
        """A simulated product on a controller of its own: heart-rate, keyboard, thermometer, serial or reference. It advertises, and again after each connection."""
        __tracebackhide__ = True
        if self.virtual_time:
            if self._loop is None:
                raise BluebenchError("in virtual time, a test with an accessory is a coroutine: async def test_...")
            self._clients += 1
            self._loop.expect(self._clients)
        dongle = self.dongle()
        accessory = Accessory(model, dongle, Process(find_program(), "advertise", dongle.selector, "--as", model, *LONG, *options))
        self._accessories.append(accessory)
        return accessory

    async def run(self, command: str, dongle: Dongle, *arguments: object, expected: int | None = 0) -> str:
        """Runs a command of Bluebench on a dongle, such as `gatt`, while the hosts of the test go on. Returns its output; `expected` is its exit code, or None for any."""
        if self._loop is not None:
            self._loop.expect(self._clients + 1)
        words = [command, dongle.selector, *map(str, arguments)]
        process = await asyncio.create_subprocess_exec(
            find_program(), *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
        try:
            output = (await process.communicate())[0].decode()
        finally:
            if process.returncode is None:
                process.kill()
        if self._loop is not None:
            self._loop.expect(self._clients)
        if expected not in (None, process.returncode):
            raise BluebenchError(f"bluebench {' '.join(words)} ended with exit code {process.returncode}:\n{output}")
        return output

    # The life of the test

    def play(self, test: Any) -> None:
        """Runs a coroutine to its end, on the air's clock."""
        __tracebackhide__ = True
        if not self.virtual_time:
            asyncio.run(self._limited(test))
            return
        with virtualtime.seeded(self.seed):
            virtualtime.run(self._in_world(test))

    async def _limited(self, test: Any) -> None:
        __tracebackhide__ = True
        running = asyncio.ensure_future(test)
        if not (await asyncio.wait([running], timeout=self.timeout))[0]:
            running.cancel()
            await asyncio.wait([running])
            pytest.fail(f"the test did not end within {self.timeout:g} s of {'virtual' if self.virtual_time else 'real'} time", pytrace=False)
        await running

    async def _in_world(self, test: Any) -> None:
        __tracebackhide__ = True
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtualtime.VirtualTimeLoop)
        loop.open_connection_to(self._anchor.where, lambda packet: None)
        self._loop = loop
        try:
            await self._limited(test)
        finally:
            self._loop = None

    def finish(self) -> None:
        """Ends everything on the air; the capture and the air log are complete afterwards."""
        if self._is_finished:
            return
        self._is_finished = True
        try:
            self._air.stop()
        finally:
            # Without the air an accessory ends at once; before, its farewell would wait for time, which stands still.
            for accessory in self._accessories:
                accessory.process.stop()

    def last_packets(self) -> str:
        """The end of the capture; the reason if there is nothing in it."""
        try:
            return show(self._air.capture, last=LAST_PACKETS)
        except BluebenchError as error:
            return str(error).splitlines()[-1]

    def said(self) -> str:
        """Text of the server and the accessories."""
        complaints = [line for line in self._air.output.splitlines() if not line.startswith("tcp:")]
        parts = [*complaints, *(f"{one.model}: {one.output}" for one in self._accessories)]
        return "\n".join(part for part in parts if part)

    def keep(self, folder: pathlib.Path) -> None:
        """Copies the capture, the air log and the output to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in (self._air.capture, self._air.air_log):
            if path.exists():
                shutil.copy(path, folder)
        (folder / "output.txt").write_text(self.said() + "\n", encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bluebench", "simulated Bluetooth devices")
    group.addoption("--bluebench-seed", type=int, default=1, metavar="N", help="seed of everything that is random in tests with an air (1)")
    group.addoption(
        "--bluebench-folder", default="bluebench-failures", metavar="DIR", help="folder for captures and air logs of failed tests (bluebench-failures)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def air(request: pytest.FixtureRequest) -> Generator[TestAir, None, None]:
    """The simulated air of the test; `@pytest.mark.bluebench` sets it up."""
    options: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("bluebench"))):
        options.update(mark.kwargs)
    options.setdefault("seed", request.config.getoption("--bluebench-seed"))
    made, problem = None, ""
    try:
        made = TestAir(**options)
    except TypeError as error:
        problem = f"@pytest.mark.bluebench {str(error).partition('() ')[2] or error}; it takes {MARKER.partition(': ')[0]}"
    except BluebenchError as error:
        problem = str(error)
    if made is None:
        pytest.fail(problem, pytrace=False)
    request.node.stash[_AIR] = made
    try:
        yield made
        made.finish()
    finally:
        made.finish()
        shutil.rmtree(made.folder)


@pytest.fixture
def dongle(air: TestAir) -> Dongle:
    """A virtual controller on the test's air."""
    return air.dongle()


@pytest.fixture
def dongles(air: TestAir) -> Callable[[int], list[Dongle]]:
    """Virtual controllers on the test's air: `first, second = dongles(2)`."""
    return air.dongles


@pytest.fixture
def accessory(air: TestAir) -> Callable[..., Accessory]:
    """Simulated products on the test's air: `accessory("heart-rate")`."""
    return air.accessory


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    __tracebackhide__ = True
    made = pyfuncitem.stash.get(_AIR, None)
    if made is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    made.play(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def _clean(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    made = item.stash.get(_AIR, None)
    if made is None or call.when != "call" or not report.failed:
        return report
    try:
        made.finish()
    except BluebenchError as error:
        report.sections.append(("the simulation ended with an error", str(error)))
    folder = pathlib.Path(item.config.getoption("--bluebench-folder"), _clean(item.nodeid))
    made.keep(folder)
    report.sections.append((f"last {LAST_PACKETS} packets", made.last_packets()))
    if made.said():
        report.sections.append(("output of bluebench", made.said()))
    report.sections.append(
        ("capture", f"{folder}/hci.pcapng has all packets, {folder}/air.pcapng all transmissions; seed {made.seed}\n"
                    f"bluebench show {folder}/hci.pcapng --tree"))
    return report
