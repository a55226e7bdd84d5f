"""A client of the Bluetooth Test Protocol: octets only, without the program's declarations."""

import socket
import struct

from support import TIMEOUT

CORE, GAP, GATT, L2CAP = range(4)
GATT_CLIENT = 6
NO_INDEX = 0xFF


class Refused(Exception):
    """An error response; `reason` is its octet."""

    def __init__(self, reason):
        super().__init__(f"reason {reason}")
        self.reason = reason


class Listener:
    """A socket at which a server of the protocol arrives."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(TIMEOUT)
        self.address = "tcp:127.0.0.1:%d" % self._socket.getsockname()[1]

    def accept(self):
        connection, _ = self._socket.accept()
        self._socket.close()
        return Client(connection)


class Client:
    def __init__(self, connection):
        self._connection = connection
        connection.settimeout(TIMEOUT)
        self.events = []

    def close(self):
        self._connection.close()

    def _exactly(self, count):
        octets = b""
        while len(octets) < count:
            part = self._connection.recv(count - len(octets))
            if not part:
                raise EOFError("the server has left")
            octets += part
        return octets

    def receive(self):
        service, opcode, index, length = struct.unpack("<BBBH", self._exactly(5))
        return service, opcode, index, self._exactly(length)

    def send(self, octets):
        self._connection.sendall(octets)

    def command(self, service, opcode, data=b"", index=None):
        """Sends a command and returns the data of its response; events meanwhile are kept."""
        index = (NO_INDEX if service == CORE else 0) if index is None else index
        self.send(struct.pack("<BBBH", service, opcode, index, len(data)) + data)
        while True:
            message = self.receive()
            if message[1] >= 0x80:
                self.events.append(message)
                continue
            assert (message[0], message[2]) == (service, index), message
            if message[1] == 0:
                assert len(message[3]) == 1, message
                raise Refused(message[3][0])
            assert message[1] == opcode, message
            return message[3]

    def event(self, service, opcode):
        """The data of the next event of a kind; earlier events of other kinds stay."""
        place = 0
        while True:
            while place < len(self.events):
                if self.events[place][:2] == (service, opcode):
                    return self.events.pop(place)[3]
                place += 1
            message = self.receive()
            assert message[1] >= 0x80, f"no command asked for {message}"
            self.events.append(message)

    def register(self, *services):
        for service in services:
            assert self.command(CORE, 3, bytes([service])) == b""

    def address(self):
        """Own type and address, as commands of the other side name them."""
        information = self.command(GAP, 3)
        assert len(information) == 277
        settings = struct.unpack_from("<I", information, 10)[0]
        return bytes([settings >> 15 & 1]) + information[:6]
