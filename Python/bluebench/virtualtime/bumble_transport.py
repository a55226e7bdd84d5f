"""A transport for Bumble, on a loop of this package."""

import asyncio

from bumble.transport.common import BaseSource, Transport

from .client import VirtualTimeError
from .loop import VirtualTimeLoop


class _Source(BaseSource):
    def received(self, packet):
        if self.sink is not None:
            self.sink.on_packet(packet)


class _Sink:
    def __init__(self, loop, connection):
        self._loop, self._connection = loop, connection
        self.on_packet = connection.send

    def close(self):
        self._loop.close_connection(self._connection)


async def open_transport(where):
    """A transport to a controller of `bluebench dongle --virtual-time`: HOST:PORT or the path of a Unix socket."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        raise VirtualTimeError("virtual time needs a loop of its own: virtualtime.run(main())")
    source = _Source()
    connection = loop.open_connection_to(where, source.received)
    return Transport(source, _Sink(loop, connection))
