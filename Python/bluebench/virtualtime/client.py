"""The client's side of the protocol: connections of one client, which become idle and awake together."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

VERSION = 1
INDICATOR = 0x54
HELLO, IDLE, WAKE, BYE, EXPECT = 0x01, 0x02, 0x03, 0x04, 0x05
WELCOME, TIME, FAULT = 0x81, 0x82, 0x83
FOR_EVER = 0xFFFF_FFFF_FFFF_FFFF
# The header length of a packet after its indicator, and the position of its length.
PACKETS = {0x01: (3, "<2xB"), 0x02: (4, "<2xH"), 0x03: (3, "<2xB"), 0x04: (2, "<xB"), 0x05: (4, "<2xH")}
Item = tuple[int | None, bytes]
"""(code, payload) of a message, or (None, octets) of a packet with its indicator."""
# Protects against a server that hangs; not a requirement.
GUARD = 120


class VirtualTimeError(Exception):
    """The server has ended the run or closed the connection."""


def message(code: int, payload: bytes = b"") -> bytes:
    return struct.pack("<BBH", INDICATOR, code, len(payload)) + payload


class Framer:
    """Splits a stream into (code, payload) of messages and (None, octets) of packets with their indicator."""

    def __init__(self) -> None:
        self._octets = bytearray()

    def feed(self, octets: bytes) -> None:
        self._octets += octets

    def next(self) -> Item | None:
        """The next item, or None while it is incomplete."""
        have = self._octets
        if not have:
            return None
        if have[0] == INDICATOR:
            if len(have) < 4:
                return None
            _, code, length = struct.unpack_from("<BBH", have)
            return self._cut(4 + length, lambda item: (code, item[4:]))
        if have[0] not in PACKETS:
            raise VirtualTimeError(f"the server sent the indicator 0x{have[0]:02X}")
        header, form = PACKETS[have[0]]
        if len(have) < 1 + header:
            return None
        # The length of an isochronous packet has 14 bits.
        [length] = struct.unpack_from(form, have, 1)
        return self._cut(1 + header + (length & 0x3FFF if have[0] == 0x05 else length), lambda item: (None, item))

    def _cut(self, count: int, item: Callable[[bytes], Item]) -> Item | None:
        if len(self._octets) < count:
            return None
        octets = bytes(self._octets[:count])
        del self._octets[:count]
        return item(octets)


class Connection:
    """The connection to one controller, used without an event loop."""

    def __init__(self, where: str, name: str, clients: int) -> None:
        if "/" in where:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(GUARD)
            self.socket.connect(where)
        else:
            host, port = where.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)), GUARD)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.where = where
        self.unsent = bytearray()
        self.fault = ""
        """The server's reason for the end of the run."""
        self._framer = Framer()
        try:
            self.socket.sendall(message(HELLO, bytes([VERSION, clients]) + name.encode()))
            code, payload = self.receive()
            if code != WELCOME:
                raise VirtualTimeError(f"{where} did not answer to hello")
            [self.now] = struct.unpack_from("<Q", payload, 1)
        except BaseException:
            self.close()
            raise

    def send(self, packet: bytes) -> None:
        """Stores a packet until the client is idle."""
        self.unsent += packet

    def flush(self, more: bytes = b"") -> None:
        try:
            self.socket.sendall(self.unsent + more)
        except OSError:
            self._fail_with_fault()
        self.unsent.clear()

    def receive(self) -> Item:
        """The next item: (code, payload) or (None, packet)."""
        while (item := self._framer.next()) is None:
            try:
                octets = self.socket.recv(1 << 16)
            except TimeoutError:
                raise VirtualTimeError(f"{self.where} has said nothing for {GUARD} s") from None
            except OSError:
                octets = b""
            if not octets:
                raise VirtualTimeError(f"{self.where} went away")
            self._framer.feed(octets)
        code, payload = item
        if code == FAULT:
            self.fault = payload.decode(errors="replace")
            raise VirtualTimeError(self.fault)
        return item

    def _fail_with_fault(self) -> None:
        """The server has closed the connection; its last message contains the reason."""
        while True:
            self.receive()

    def close(self) -> None:
        """Ends the connection, and waits until the port is available again."""
        try:
            self.flush(message(BYE))
            while self.socket.recv(1 << 16):
                pass
        except (OSError, VirtualTimeError):
            pass
        self.socket.close()


class Client:
    """All connections of one program. Times are nanoseconds of the simulation."""

    def __init__(self, name: str, clients: int = 1) -> None:
        self.name, self.clients = name, clients
        self.connections: list[Connection] = []
        self.now = 0
        # True from `idle` until `receive`, with the time of `idle`.
        self.is_idle, self._has_asked = False, False
        self.until: int | None = None
        self.is_interrupted = False
        """True if a call ended with an exception, such as that of a signal handler: it is not known then who has sent what."""

    def connect(self, where: str) -> Connection:
        connection = Connection(where, self.name, self.clients)
        self.connections.append(connection)
        self.now = max(self.now, connection.now)
        return connection

    def disconnect(self, connection: Connection) -> None:
        if self.is_interrupted:
            connection.unsent.clear()
        connection.close()
        self.connections.remove(connection)

    def idle(self, until: int | None = None) -> None:
        """Sends stored packets and reports that there is nothing to do before a time; `receive` returns the received packets."""
        self.is_interrupted = True
        self.is_idle, self.until, self._has_asked = True, until, False
        saying = message(IDLE, struct.pack("<Q", FOR_EVER if until is None else until))
        for connection in self.connections:
            connection.flush(saying)
        self.is_interrupted = False

    def wake(self) -> None:
        """Requests, once, the early end of the idle time."""
        if not self._has_asked:
            self.is_interrupted = True
            self._has_asked = True
            self.connections[0].socket.sendall(message(WAKE))
            self.is_interrupted = False

    def expect(self, clients: int) -> None:
        """Stops time while there are fewer clients."""
        self.is_interrupted = True
        self.connections[0].flush(message(EXPECT, bytes([clients])))
        self.is_interrupted = False

    def receive(self) -> list[tuple[Connection, bytes]]:
        """Waits until the client is awake again. Returns pairs of a connection and a packet, in an order that does not depend on speed."""
        self.is_interrupted = True
        packets = []
        for connection in self.connections:
            while True:
                code, payload = connection.receive()
                if code is None:
                    packets.append((connection, payload))
                elif code == TIME:
                    [self.now] = struct.unpack("<Q", payload)
                    break
        self.is_idle = self.is_interrupted = False
        return packets
