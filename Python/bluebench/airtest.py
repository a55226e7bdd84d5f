"""The air of one test, and what the test places on it: accessories, a phone, other programs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import queue
import shutil
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from . import virtualtime
from .air import Air, Dongle
from .captures import ladder, show
from .process import FAREWELL, Process
from .program import BluebenchError, find_program
from .results_types import Results

if TYPE_CHECKING:
    from bumble.device import Connection, Device, Peer

LAST_PACKETS = 25
VIRTUAL_TIMEOUT, REAL_TIMEOUT = 1800.0, 60.0
ATTEMPTS, CONNECTION_FAILED_TO_BE_ESTABLISHED = 5, 0x3E


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


class Phone:
    """A Bumble host on a dongle of its own. It opens with its first use, and closes at the end of the test."""

    def __init__(self, air: TestAir, dongle: Dongle) -> None:
        self.dongle, self.address = dongle, f"F0:BB:00:00:00:{dongle.number + 1:02X}"
        self._air = air
        self._device: Device | None = None

    async def host(self) -> Device:
        """The Bumble device, powered on."""
        if self._device is None:
            self._device = await self._air.hosts.enter_async_context(self.dongle.host("phone", self.address))
        return self._device

    async def connect(self, to: Accessory | str) -> Connection:
        """A connection to an accessory, or to an address: `F0:F1:F2:F3:F4:F5`, with `/P` at its end if it is public.

        Like a phone, it tries again if the air lost the connection request (reason 0x3E). Core Vol 6, Part B, 4.5.
        """
        host = await self.host()
        for attempt in range(ATTEMPTS):
            connection = await host.connect(to if isinstance(to, str) else to.address + "/P")
            ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            connection.once("disconnection", ended.set_result)
            # Without a packet from the peer it ends after six intervals.
            await asyncio.wait([ended], timeout=connection.parameters.connection_interval * 7 / 1000)
            if not ended.done() or ended.result() != CONNECTION_FAILED_TO_BE_ESTABLISHED:
                return connection
        raise BluebenchError(f"{ATTEMPTS} connections could not be established: the peer heard none of the requests")

    async def peer(self, to: Accessory | str) -> Peer:
        """The GATT client of a new connection, after the discovery of all services and characteristics."""
        from bumble.device import Peer
        peer = Peer(await self.connect(to))
        await peer.discover_all()  # type: ignore[no-untyped-call]
        return peer


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
        # Programs that share the air from their start to their end, commands that do so now, and files of results.
        self._clients, self._commands, self._runs = 1, 0, 0
        self._started: list[tuple[str, Process]] = []
        self._failures: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._failure: asyncio.Future[str] | None = None
        self._accessories: list[Accessory] = []
        self._programs: list[Process] = []
        self._names: dict[str, str] = {}
        self.hosts = contextlib.AsyncExitStack()
        """Closed at the end of the test, before the air."""
        self._is_finished = False
        self._said: str | None = None

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

    def accessory(self, model: str | os.PathLike[str] = "heart-rate", *options: object) -> Accessory:
        """A simulated product on a controller of its own, which advertises, and again after each connection.

        model: heart-rate, keyboard, thermometer, serial or reference, or a device description, a path that ends in `.yaml`.
        options: of `bluebench advertise`, such as `"--fault", "battery-above-hundred"`.
        """
        __tracebackhide__ = True
        self._expect_one_more()
        dongle = self.dongle()
        kind = "--device" if str(model).endswith((".yaml", ".yml")) else "--as"
        self._name(dongle, pathlib.Path(model).name)
        made = Accessory(str(model), dongle, Process(find_program(), "advertise", dongle.selector, kind, model, *options))
        self._accessories.append(made)
        self._watch(f"the accessory '{pathlib.Path(model).name}'", made.process)
        return made

    def program(self, *command: object) -> Process:
        """Starts another program that shares the air, such as a firmware in C: an argument that is a dongle becomes `Dongle.where`. It ends with the test."""
        __tracebackhide__ = True
        self._expect_one_more()
        for part in command:
            if isinstance(part, Dongle):
                self._name(part, pathlib.Path(str(command[0])).name)
        process = Process(*(part.where if isinstance(part, Dongle) else part for part in command))
        self._programs.append(process)
        self._watch(f"the program '{pathlib.Path(str(command[0])).name}'", process)
        return process

    def phone(self) -> Phone:
        """A Bumble host on a dongle of its own."""
        made = Phone(self, self.dongle())
        self._name(made.dongle, "phone")
        return made

    def _name(self, dongle: Dongle, name: str) -> None:
        """The name of an interface of the capture in charts."""
        self._names[f"controller {dongle.number}"] = f"{name} ({dongle.number})"

    def _expect_one_more(self) -> None:
        """Time stands still until the next program is there."""
        __tracebackhide__ = True
        if not self.virtual_time:
            return
        if self._loop is None:
            raise BluebenchError("in virtual time, a test with an accessory is a coroutine: async def test_...")
        self._clients += 1
        self._expect()

    def _expect(self) -> None:
        """Time stands still while fewer programs than these share the air."""
        if self._loop is not None:
            self._loop.expect(self._clients + self._commands)

    # Programs that end

    def _watch(self, name: str, process: Process) -> None:
        """Fails the test as soon as a program that it has started ends with an error."""
        self._started.append((name, process))
        if self._failure is not None:
            self._watch_on(asyncio.get_running_loop(), name, process)

    def _watch_on(self, loop: asyncio.AbstractEventLoop, name: str, process: Process) -> None:
        def tell() -> None:
            failure = f"{name} has ended, {process.last_words}" if process.returncode != 0 and not process.is_stopped else None
            if failure is not None and process is not self._air.process:
                self._failures.put(failure)
            # The loop is closed after the test.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._departed, process, failure)
        process.when_ended(tell)

    def _departed(self, process: Process, failure: str | None) -> None:
        if self._failure is None:
            return
        if failure is not None and not self._failure.done():
            self._failure.set_result(failure)
        if process is not self._air.process:
            # Time goes on without it.
            self._clients -= 1
            with contextlib.suppress(virtualtime.VirtualTimeError):
                self._expect()

    def _first_failure(self) -> str | None:
        """The first program that has ended with an error. One that has just left the air may still be about to end."""
        try:
            return self._failures.get(timeout=FAREWELL) if self._started else None
        except queue.Empty:
            return None

    async def run(self, command: str, dongle: Dongle, *arguments: object, expected: int | None = 0) -> str:
        """Runs a command of Bluebench on a dongle, such as `gatt`, while the hosts of the test go on. Returns its output; `expected` is its exit code, or None for any."""
        code, output = await self._run(command, dongle.selector, *arguments)
        if expected not in (None, code):
            raise BluebenchError(f"bluebench {command} {dongle.selector} {' '.join(map(str, arguments))} ended with exit code {code}:\n{output}")
        return output

    async def run_cases(self, *cases: str, tester: Dongle, peer: str, options: Sequence[object] = ()) -> Results:
        """Runs cases, suites or patterns against a device on the air, which has the address `peer`, and returns the results, whatever their verdicts.

        tester: the dongle of the cases. options: of `bluebench run`, such as `"--device", "product.yaml"`.
        """
        path = self.folder / f"results-{self._runs}.json"
        self._runs += 1
        code, output = await self._run("run", *cases, "--tester", tester.selector, "--peer", peer, "--quiet", "--json", path, *options)
        if not path.exists() or code not in (0, 1, 3):
            raise BluebenchError(f"bluebench run {' '.join(cases)} ended with exit code {code}:\n{output}")
        return Results.load(path)

    async def _run(self, *words: object) -> tuple[int | None, str]:
        """Exit code and output of a command of Bluebench that shares the air."""
        self._commands += 1
        process = None
        try:
            self._expect()
            process = await asyncio.create_subprocess_exec(
                find_program(), *map(str, words), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
            output = (await process.communicate())[0].decode()
        finally:
            if process is not None and process.returncode is None:
                process.kill()
            self._commands -= 1
        self._expect()
        return process.returncode, output

    # The life of the test

    def play(self, test: Any) -> None:
        """Runs a coroutine to its end, on the air's clock."""
        __tracebackhide__ = True
        if not self.virtual_time:
            asyncio.run(self._with_hosts(test))
            return
        try:
            with virtualtime.seeded(self.seed):
                virtualtime.run(self._in_world(test))
        except virtualtime.VirtualTimeError as fault:
            # The end of a program that shares the air is the cause, the end of time its consequence.
            failure = self._first_failure()
            if failure is None:
                raise
            pytest.fail(f"{failure}\n{fault}", pytrace=False)

    async def _with_hosts(self, test: Any) -> None:
        __tracebackhide__ = True
        async with self.hosts:
            await self._limited(test)

    async def _limited(self, test: Any) -> None:
        __tracebackhide__ = True
        running = asyncio.ensure_future(test)
        loop = asyncio.get_running_loop()
        self._failure = failure = loop.create_future()
        assert self._air.process is not None
        for name, process in [("the simulation", self._air.process), *self._started]:
            self._watch_on(loop, name, process)
        await asyncio.wait([running, failure], timeout=self.timeout, return_when=asyncio.FIRST_COMPLETED)
        if running.done() and not failure.done():
            self._failure = None
            await running
            return
        running.cancel()
        await asyncio.wait([running])
        self._failure = None
        if failure.done():
            pytest.fail(failure.result(), pytrace=False)
        pytest.fail(f"the test did not end within {self.timeout:g} s of {'virtual' if self.virtual_time else 'real'} time", pytrace=False)

    async def _in_world(self, test: Any) -> None:
        __tracebackhide__ = True
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtualtime.VirtualTimeLoop)
        loop.open_connection_to(self._anchor.where, lambda packet: None)
        self._loop = loop
        try:
            await self._with_hosts(test)
        finally:
            self._loop = None

    def finish(self) -> None:
        """Ends everything on the air; the capture and the air log are complete afterwards."""
        if self._is_finished:
            return
        self._is_finished = True
        # What they say of the end of the air is no news.
        self._said = self.said()
        try:
            self._air.stop()
        finally:
            # Without the air an accessory ends at once; before, its farewell would wait for time, which stands still.
            for process in [*(accessory.process for accessory in self._accessories), *self._programs]:
                process.stop()

    def last_packets(self) -> str:
        """The end of the capture; the reason if there is nothing in it."""
        try:
            return show(self._air.capture, last=LAST_PACKETS)
        except BluebenchError as error:
            return str(error).splitlines()[-1]

    def last_exchange(self) -> str:
        """The same end as a chart: a column for each dongle."""
        try:
            return ladder(self._air.capture, last=LAST_PACKETS, names=self._names)
        except BluebenchError:
            return ""

    def said(self) -> str:
        """Text of the server, the accessories and other programs during the test."""
        if self._said is not None:
            return self._said
        complaints = [line for line in self._air.output.splitlines() if not line.startswith("tcp:")]
        programs = (f"{pathlib.Path(one.command[0]).name}: {one.text}" for one in self._programs if one.text)
        parts = [*complaints, *(f"{one.model}: {one.output}" for one in self._accessories), *programs]
        return "\n".join(part for part in parts if part)

    def keep(self, folder: pathlib.Path) -> None:
        """Copies the capture, the air log and the output to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in (self._air.capture, self._air.air_log):
            if path.exists():
                shutil.copy(path, folder)
        (folder / "output.txt").write_text(self.said() + "\n", encoding="utf-8")
