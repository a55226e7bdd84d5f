"""A pipe between a host and the controller on a port with legal delays."""

import asyncio
import contextlib
import threading

LENGTH_OCTETS = {1: 3, 2: 4, 3: 3, 4: 2, 5: 4}
"""The header length of each H4 packet type."""
READ_REMOTE_FEATURES_COMPLETE = b"\x04\x3e"


async def packet(reader):
    kind = (await reader.readexactly(1))[0]
    header = await reader.readexactly(LENGTH_OCTETS[kind])
    length = header[-1] if kind in (1, 3, 4) else int.from_bytes(header[2:4], "little") & 0x3FFF
    return bytes([kind]) + header + await reader.readexactly(length)


class SlowPipe:
    """Delays LE_Read_Remote_Features_Complete, or with `batch` delivers all packets of such a period together."""

    def __init__(self, port, late=0.0, batch=0.0):
        self.target, self.late, self.batch = port, late, batch

    async def up(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                writer.write(await packet(reader))
        writer.close()

    async def down(self, reader, writer):
        loop, waiting = asyncio.get_running_loop(), bytearray()

        def flush():
            writer.write(bytes(waiting))
            waiting.clear()
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                event = await packet(reader)
                if self.batch:
                    if not waiting:
                        loop.call_later(self.batch, flush)
                    waiting += event
                elif event[:2] == READ_REMOTE_FEATURES_COMPLETE and event[3] == 4:
                    loop.call_later(self.late, writer.write, event)
                else:
                    writer.write(event)
        writer.close()

    async def client(self, reader, writer):
        near, far = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self.up(reader, far), self.down(near, writer))

    async def run(self, ready):
        self.loop, self.done = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self.client, "127.0.0.1", 0)
        ready(server.sockets[0].getsockname()[1])
        await self.done.wait()
        server.close()


@contextlib.contextmanager
def slow_pipe(port, **conduct):
    """The port to use instead of `port`."""
    pipe, started, ports = SlowPipe(port, **conduct), threading.Event(), []

    def ready(own):
        ports.append(own)
        started.set()
    thread = threading.Thread(target=lambda: asyncio.run(pipe.run(ready)), daemon=True)
    thread.start()
    started.wait()
    try:
        yield ports[0]
    finally:
        pipe.loop.call_soon_threadsafe(pipe.done.set)
        thread.join()
