"""A transport for Bumble, on a loop of this package."""

from __future__ import annotations

import asyncio

from bumble.transport.common import BaseSource, Transport

from .client import Connection, VirtualTimeError
from .loop import VirtualTimeLoop


class _Source(BaseSource):
    def received(self, packet: bytes) -> None:
        if self.sink is not None:
            self.sink.on_packet(packet)


class _Sink:
    def __init__(self, loop: VirtualTimeLoop, connection: Connection) -> None:
        self._loop, self._connection = loop, connection

    def on_packet(self, packet: bytes) -> None:
        self._connection.send(packet)

    def close(self) -> None:
        self._loop.close_connection(self._connection)


async def open_transport(where: str) -> Transport:
    """A transport to a controller of `bluebench dongle --virtual-time`: HOST:PORT or the path of a Unix socket."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        raise VirtualTimeError("virtual time needs a loop of its own: virtualtime.run(main())")
    source = _Source()
    connection = loop.open_connection_to(where, source.received)
    return Transport(source, _Sink(loop, connection))
