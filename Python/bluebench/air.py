"""Virtual dongles on one simulated air, served by `bluebench dongle`."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .process import Process
from .program import BluebenchError, find_program

if TYPE_CHECKING:
    from bumble.device import Device

CLIENT_TIMEOUT = 60
"""Seconds of real time after which a silent client ends the run."""


@dataclasses.dataclass(frozen=True)
class Dongle:
    """A virtual controller that one host at a time may use."""

    number: int
    port: int
    address: str
    """The public device address."""
    virtual_time: bool

    @property
    def where(self) -> str:
        """HOST:PORT, for `virtualtime.open_transport` and other programs that take H4 over TCP."""
        return f"127.0.0.1:{self.port}"

    @property
    def selector(self) -> str:
        """The device for a command of Bluebench."""
        return f"tcp:{self.where}" + (",virtual-time" if self.virtual_time else "")

    @property
    def bumble(self) -> str:
        """The transport's name for Bumble's own programs; in real time only."""
        if self.virtual_time:
            raise BluebenchError("in virtual time, open the transport by Dongle.transport()")
        return f"tcp-client:{self.where}"

    async def transport(self) -> Any:
        """An open Bumble transport to this controller, in virtual or real time."""
        if self.virtual_time:
            from .virtualtime import open_transport
            return await open_transport(self.where)
        from bumble.transport import open_transport as open_by_name
        return await open_by_name(self.bumble)

    @contextlib.asynccontextmanager
    async def host(self, name: str, address: str, power_on: bool = True, **configuration: Any) -> AsyncIterator[Device]:
        """A Bumble host on this controller, with a random device address; `configuration` is for Bumble's DeviceConfiguration."""
        from bumble.device import Device, DeviceConfiguration
        from bumble.hci import Address
        transport = await self.transport()
        try:
            chosen = DeviceConfiguration(name=name, address=Address(address), **configuration)
            device = Device.from_config_with_hci(chosen, transport.source, transport.sink)
            if power_on:
                await device.power_on()
            yield device
        finally:
            await transport.close()


class Air:
    """A process `bluebench dongle` in a context: `dongles` are its controllers.

    - seed: of every random choice on the air; in virtual time also of the controllers' keys.
    - virtual_time: all hosts share the simulation's clock, and time passes only while they wait.
    - loss: packet error rate, 0 to 1. neighbours: other devices on the air. distance: of any two devices in metres.
    - chip, quirks: a chip, and unusual behaviour by name, of all dongles; `bluebench dongle --list-quirks` lists them.
    - dual: controllers with BR/EDR.
    - folder: where `hci.pcapng` (packets of all dongles, link keys included) and `air.pcapng` (every transmission) are written.
    """

    def __init__(
        self, count: int = 2, *, seed: int = 1, virtual_time: bool = True, loss: float | None = None, neighbours: int | None = None,
        distance: float | None = None, chip: str | None = None, quirks: Sequence[str] = (), dual: bool = False, folder: str | os.PathLike[str] | None = None,
        options: Sequence[object] = (), program: str | None = None,
    ) -> None:
        self.count, self.seed, self.virtual_time = count, seed, virtual_time
        self.folder = None if folder is None else pathlib.Path(folder)
        self._arguments: list[object] = ["--tcp", 0, "--count", count, "--seed", seed]
        if virtual_time:
            self._arguments += ["--virtual-time", "--client-timeout", CLIENT_TIMEOUT]
        for option, value in (("--packet-error-rate", loss), ("--neighbours", neighbours), ("--distance", distance), ("--chip", chip)):
            if value is not None:
                self._arguments += [option, value]
        for quirk in quirks:
            self._arguments += ["--quirk", quirk]
        if dual:
            self._arguments += ["--profile", "dual"]
        if self.folder is not None:
            self._arguments += ["--capture", self.capture, "--air", self.air_log]
        self._arguments += options
        self._program = program
        self.process: Process | None = None
        self.dongles: list[Dongle] = []

    @property
    def capture(self) -> pathlib.Path:
        """The HCI packets of all dongles."""
        if self.folder is None:
            raise BluebenchError("this air has no folder, so nothing is captured")
        return self.folder / "hci.pcapng"

    @property
    def air_log(self) -> pathlib.Path:
        """Every transmission on the air."""
        if self.folder is None:
            raise BluebenchError("this air has no folder, so nothing is captured")
        return self.folder / "air.pcapng"

    @property
    def output(self) -> str:
        """Text that the server has printed so far."""
        return "" if self.process is None else self.process.text

    def start(self) -> Air:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
        self.process = Process(self._program or find_program(), "dongle", *self._arguments)
        try:
            found = self.process.wait_for(r"\btcp\D*127\.0\.0\.1:(\d+) ([0-9A-F:]{17})", self.count)
        except BaseException:
            self.process.stop()
            raise
        self.dongles = [Dongle(number, int(match[1]), match[2], self.virtual_time) for number, match in enumerate(found)]
        return self

    def stop(self) -> None:
        """Ends the server; captures are complete afterwards. Raises if it had ended with an error before."""
        if self.process is None:
            return
        was_running = self.process.running()
        self.process.stop()
        if not was_running and self.process.returncode != 0:
            raise BluebenchError(f"bluebench dongle ended with exit code {self.process.returncode}:\n{self.output}")

    def __enter__(self) -> Air:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.stop()
        except BluebenchError:
            # The error of the block is the better message.
            if value is None:
                raise
