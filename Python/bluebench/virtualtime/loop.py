"""An asyncio event loop that uses the simulation's time."""

from __future__ import annotations

import asyncio
import itertools
import os
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

from .client import FOR_EVER, GUARD, Client, Connection, VirtualTimeError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Events = list[tuple[selectors.SelectorKey, int]]

NANOSECONDS = 1_000_000_000
_numbers = itertools.count(1)


class _Selector(selectors.DefaultSelector):
    """The client is idle whenever the loop would sleep."""

    loop: VirtualTimeLoop

    def select(self, timeout: float | None = None) -> Events:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if self.loop.threads_at_work:
            # A thread works for the loop: time does not advance until it is done.
            return super().select(None)
        return self.loop.pass_time(timeout, super().select)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop that is one client, with as many connections as are opened on it.

    - While a callback runs, time stands still; when there is nothing left to run, the client is idle until the next timer.
    - Work in threads (`run_in_executor`, `asyncio.to_thread`) takes no virtual time.
    - Events from elsewhere, other sockets or `call_soon_threadsafe`, are served while the loop is idle. If their callbacks send packets or set earlier timers, the loop asks the server for time.
    - Without a connection, a sleep ends at once, with the loop's time where it should be, when nothing but time can end it.
    """

    def __init__(self, clients: int = 1) -> None:
        """clients: the number of clients of the world, including this one."""
        self._own_selector = _Selector()
        super().__init__(self._own_selector)
        self._own_selector.loop = self
        # Timers that are due within this time run together, because it is the resolution of the protocol.
        self._clock_resolution = 1 / NANOSECONDS
        self.client = Client(f"asyncio {os.getpid()}.{next(_numbers)}", clients)
        self.threads_at_work = 0
        # The loop's time never decreases, whatever the time of the world that it joins.
        self._offset = 0
        self._receivers: dict[Connection, Callable[[bytes], object]] = {}

    def time(self) -> float:
        return (self.client.now + self._offset) / NANOSECONDS

    # Connections

    def open_connection_to(self, where: str, receive: Callable[[bytes], object]) -> Connection:
        """A connection to a controller: an object with `send(packet)`; `receive(packet)` is called for each received packet."""
        self._stay_awake()
        before = self.client.now
        connection = self.client.connect(where)
        self._offset -= self.client.now - before
        self._receivers[connection] = receive
        return connection

    def close_connection(self, connection: Connection) -> None:
        if connection in self.client.connections:
            # After an interruption it only leaves: what it would wait for may have come already.
            if not self.client.is_interrupted:
                self._stay_awake()
            self.client.disconnect(connection)
        self._receivers.pop(connection, None)

    def close(self) -> None:
        for connection in list(self.client.connections):
            self.close_connection(connection)
        super().close()

    # Time

    def pass_time(self, timeout: float | None, select: Callable[[float | None], Events]) -> Events:
        """Called when there are no ready callbacks: waits for `timeout` of virtual time, packets, or the result of `select`."""
        client = self.client
        if not client.connections:
            if timeout is None:
                return select(None)
            self._offset += round(timeout * NANOSECONDS)
            return []
        if client.is_interrupted:
            faults = [connection.fault for connection in client.connections if connection.fault]
            raise VirtualTimeError(*faults or ["this program was interrupted while it exchanged packets, and can only leave the simulation"])
        until = None if timeout is None else client.now + max(1, round(timeout * NANOSECONDS))
        if not client.is_idle:
            client.idle(until)
        elif any(connection.unsent for connection in client.connections) or (until or FOR_EVER) < (client.until or FOR_EVER):
            client.wake()
        server = client.connections[0].socket
        key = self._own_selector.register(server, selectors.EVENT_READ)
        try:
            found = select(GUARD)
        finally:
            self._own_selector.unregister(server)
        if not found:
            raise VirtualTimeError(f"the server has said nothing for {GUARD} s")
        others = [event for event in found if event[0].fd != key.fd]
        if len(others) < len(found):
            self._wake_up()
        return others

    def _wake_up(self) -> None:
        for connection, packet in self.client.receive():
            self.call_soon(self._deliver, connection, packet)

    def _stay_awake(self) -> None:
        """Ends an idle time that was interrupted from outside the world."""
        if self.client.is_idle:
            self.client.wake()
            self._wake_up()

    def expect(self, clients: int) -> None:
        """Stops time while the world has fewer clients: before a program starts, and after its end."""
        self._stay_awake()
        self.client.expect(clients)

    def _deliver(self, connection: Connection, packet: bytes) -> None:
        if (receive := self._receivers.get(connection)) is not None:
            receive(packet)

    # Threads

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self.threads_at_work += 1

        def done(_: asyncio.Future[T]) -> None:
            self.threads_at_work -= 1
        future.add_done_callback(done)
        return future


async def sleep(seconds: float) -> None:
    """Waits for virtual time. Refused in real time, in which tests must not wait."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualTimeLoop):
        raise VirtualTimeError("this loop is in real time")
    await asyncio.wait([loop.create_future()], timeout=seconds)


def run(main: Coroutine[Any, Any, T], clients: int = 1, debug: bool | None = None) -> T:
    """Like `asyncio.run`, in virtual time."""
    with asyncio.Runner(debug=debug, loop_factory=lambda: VirtualTimeLoop(clients)) as runner:
        return runner.run(main)
