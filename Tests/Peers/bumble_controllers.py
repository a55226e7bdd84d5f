"""Serves Bumble's own controllers on one simulated link: `bumble_controllers.py COUNT`. Prints a line with the address of each."""

import asyncio
import sys

from bumble.controller import Controller
from bumble.link import LocalLink
from bumble.transport.common import StreamPacketSource


class Port(asyncio.Protocol):
    """The host's side of a controller: H4 over one TCP connection."""

    def __init__(self, make_controller):
        self.make_controller = make_controller
        self.source = StreamPacketSource()
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport
        self.make_controller(self.source, self)

    def data_received(self, data):
        self.source.data_received(data)

    def on_packet(self, packet):
        if not self.transport.is_closing():
            self.transport.write(packet)


async def serve(count):
    link = LocalLink()
    loop = asyncio.get_running_loop()
    for index in range(count):
        address = f"B0:0B:1E:00:00:{index:02X}"

        def make_controller(source, sink, index=index, address=address):
            for old in [one for one in link.controllers if one.name == f"C{index}"]:
                link.remove_controller(old)
            Controller(f"C{index}", host_source=source, host_sink=sink, link=link, public_address=address)

        server = await loop.create_server(lambda make=make_controller: Port(make), "127.0.0.1", 0)
        print(f"tcp 127.0.0.1:{server.sockets[0].getsockname()[1]} {address}", flush=True)
    await loop.create_future()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
