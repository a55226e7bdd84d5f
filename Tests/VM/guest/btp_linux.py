#!/usr/bin/python3
"""An upper tester for the Bluetooth host of the Linux kernel, which BlueZ's daemon only manages: GAP and pairing over the management interface, channels
over L2CAP sockets. Speaks the Bluetooth Test Protocol on a TCP connection.

Written from the protocol and from BlueZ's description of the management interface. What the kernel cannot be asked for is an unknown command, or failed.
usage: btp_linux.py ADAPTER HOST PORT
"""

import ctypes
import errno
import os
import select
import socket
import struct
import sys

CORE, GAP, _, L2CAP = range(4)
FAIL, UNKNOWN_COMMAND = 1, 2
POWERED, CONNECTABLE, DISCOVERABLE, BONDABLE, LE, ADVERTISING, SECURE_CONNECTIONS, SECURE_CONNECTIONS_ONLY = (
    1 << bit for bit in (0, 1, 3, 4, 9, 10, 11, 16))
ATT_CHANNEL = 4
SOL_BLUETOOTH, BT_SECURITY, BT_SNDMTU, BT_RCVMTU = 274, 4, 12, 13
LIBC = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """The kernel does not do what the command asks for."""


def call(name, opened, address):
    """bind or connect, whose addresses Python's module does not know in full."""
    if getattr(LIBC, name)(opened.fileno(), address, len(address)) != 0 and ctypes.get_errno() != errno.EINPROGRESS:
        raise Failed(f"{name}: {os.strerror(ctypes.get_errno())}")


def management():
    opened = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
    call("bind", opened, struct.pack("<HHH", socket.AF_BLUETOOTH, 0xFFFF, 3))
    return opened


def hci_events(index):
    opened = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
    opened.setsockopt(0, 2, struct.pack("<IIIHxx", 1 << 4, 0xFFFFFFFF, 0xFFFFFFFF, 0))
    opened.bind((index,))
    return opened


def at(peer, psm=0, cid=0):
    """An L2CAP address; the peer is a type of the management interface after an address."""
    return struct.pack("<HH6sHBx", socket.AF_BLUETOOTH, psm, peer[:6], cid, peer[6])


def managed(data):
    """Address and type of the management interface, of those in a command: 1 is LE public, 2 LE random."""
    return data[1:7] + bytes([data[0] + 1])


def spelled(peer):
    return bytes([peer[6] - 1]) + peer[:6]


class UpperTester:
    def __init__(self, adapter, host, port):
        self.index = int(adapter.removeprefix("hci"))
        self.control, self.events = management(), hci_events(self.index)
        self.sources = {self.control: self.managed_event, self.events: self.hci_event}
        self.later = []
        self.settings = POWERED | LE | BONDABLE | SECURE_CONNECTIONS
        self.io, self.limited, self.scan = 3, False, None
        self.parameters, self.connecting, self.channels, self.listeners = {}, {}, {}, {}
        self.octets, self.ended, self.unsent = b"", [], []
        # Powered off first: the settings are then those of a start.
        for opcode, data in ((0x05, b"\0"), (0x0D, b"\1"), (0x2A, b"\0"), (0x2D, b"\1"), (0x09, b"\1"), (0x05, b"\1")):
            self.ask(opcode, data)
        self.own = self.ask(0x04)[:6] + b"\1"
        self.listen_at(self.own, 0, ATT_CHANNEL)
        self.tester = socket.create_connection((host, port))
        self.sources[self.tester] = self.received
        self.send(CORE, 0x80, 0xFF, b"")

    def serve(self):
        while True:
            waiting = {*self.connecting, *(opened for opened, _ in self.unsent)}
            readable, writable, _ = select.select(list(self.sources), waiting, [])
            for opened in writable:
                if opened in self.connecting:
                    self.opened(opened)
                else:
                    self.send_unsent()
            for opened in readable:
                if opened in self.sources and self.sources[opened](opened) is False:
                    return
            while self.later:
                self.happened(*self.later.pop(0))

    # The kernel

    def ask(self, opcode, data=b"", mayfail=False):
        """A command of the management interface and the data of its answer; events meanwhile are kept."""
        self.control.send(struct.pack("<HHH", opcode, self.index, len(data)) + data)
        while True:
            packet = self.control.recv(2048)
            event, index, length = struct.unpack_from("<HHH", packet)
            if event in (1, 2) and struct.unpack_from("<H", packet, 6)[0] == opcode:
                if packet[8] != 0 and not mayfail:
                    raise Failed(f"command {opcode:#x}: status {packet[8]}")
                return packet[9:]
            if index == self.index:
                self.later.append((event, packet[6:]))

    def managed_event(self, control):
        packet = control.recv(2048)
        event, index, length = struct.unpack_from("<HHH", packet)
        if index == self.index:
            self.happened(event, packet[6:])

    def happened(self, event, data):
        peer = data[:7]
        if event == 0x0B:
            # The controller's event comes before the kernel's own.
            while select.select([self.events], [], [], 0)[0]:
                self.hci_event(self.events)
            self.event(GAP, 0x82, spelled(peer) + struct.pack("<HHH", *self.parameters.get(peer[:6], (0, 0, 0))))
        elif event == 0x0C:
            self.event(GAP, 0x83, spelled(peer))
        elif event == 0x0A:
            # New LTK: kinds are legacy and P-256, each unauthenticated and authenticated.
            self.event(GAP, 0x89, spelled(data[1:8]) + bytes([{0: 1, 1: 2, 2: 1, 3: 3}.get(data[8], 1)]))
        elif event == 0x0F and data[7]:
            self.ask(0x1C, peer)
        elif event == 0x0F:
            self.event(GAP, 0x86, spelled(peer) + data[8:12])
        elif event == 0x10:
            self.event(GAP, 0x85, spelled(peer))
        elif event == 0x17 and data[11] == 0:
            self.event(GAP, 0x84, spelled(peer) + data[7:11])
        elif event == 0x11:
            self.event(GAP, 0x8C, spelled(peer) + b"\x08")
        elif event == 0x12 and self.scan is not None:
            self.found(peer, data)

    def found(self, peer, data):
        length = struct.unpack_from("<H", data, 12)[0]
        fields = data[14:14 + length]
        flags, rest = 0, fields
        while rest and rest[0]:
            if rest[1] == 1 and len(rest) > 2:
                flags = rest[2]
            rest = rest[1 + rest[0]:]
        if flags & (1 if self.scan & 4 else 3):
            self.event(GAP, 0x81, spelled(peer) + data[7:8] + bytes([3]) + struct.pack("<H", length) + fields)

    def hci_event(self, events):
        """The management interface has no connection parameters: they are read from the controller's events."""
        packet = events.recv(1024)
        if packet[1] == 0x3E and packet[3] in (1, 10) and packet[4] == 0:
            # An enhanced event has two more addresses before the parameters.
            self.parameters[packet[9:15]] = struct.unpack_from("<HHH", packet, 15 if packet[3] == 1 else 27)

    # Messages

    def send(self, service, opcode, index, data):
        self.tester.sendall(struct.pack("<BBBH", service, opcode, index, len(data)) + data)

    def event(self, service, opcode, data):
        self.send(service, opcode, 0, data)

    def received(self, tester):
        try:
            part = tester.recv(4096)
        except ConnectionError:
            part = b""
        if not part:
            return False
        self.octets += part
        while len(self.octets) >= 5:
            service, opcode, index, length = struct.unpack_from("<BBBH", self.octets)
            if len(self.octets) < 5 + length:
                break
            data, self.octets = self.octets[5:5 + length], self.octets[5 + length:]
            self.run(service, opcode, index, data)

    def run(self, service, opcode, index, data):
        command = COMMANDS.get((service, opcode))
        if command is None:
            return self.send(service, 0, index, bytes([UNKNOWN_COMMAND]))
        try:
            answer = command(self, data) or b""
        except (Failed, OSError, struct.error, IndexError, KeyError, ValueError, StopIteration) as error:
            print("refused", service, hex(opcode), repr(error), flush=True)
            return self.send(service, 0, index, bytes([FAIL]))
        self.send(service, opcode, index, answer)

    # GAP

    def switch(self, bit, on):
        self.settings = self.settings | bit if on else self.settings & ~bit
        return struct.pack("<I", self.settings)

    def information(self, data):
        supported = POWERED | CONNECTABLE | DISCOVERABLE | BONDABLE | LE | ADVERTISING | SECURE_CONNECTIONS | SECURE_CONNECTIONS_ONLY
        return self.own[:6] + struct.pack("<II", supported, self.settings) + bytes(3 + 249 + 11)

    def set_discoverable(self, data):
        self.limited = data[0] == 2
        return self.switch(DISCOVERABLE, data[0] != 0)

    def set_bondable(self, data):
        self.ask(0x09, data)
        return self.switch(BONDABLE, data[0])

    def start_advertising(self, data):
        if self.settings & ADVERTISING:
            raise Failed("it advertises already")
        fields = []
        for rest in (data[2:2 + data[0]], data[2 + data[0]:2 + data[0] + data[1]]):
            structures = b""
            while rest:
                structures += bytes([rest[1] + 1, rest[0]]) + rest[2:2 + rest[1]]
                rest = rest[2 + rest[1]:]
            fields.append(structures)
        # 1 connectable, 2 general discoverable, 4 limited discoverable, 8 with Flags.
        flags = (1 if self.settings & CONNECTABLE else 0) | ((4 if self.limited else 2) if self.settings & DISCOVERABLE else 8)
        self.ask(0x3E, struct.pack("<BIHHBB", 1, flags, 0, 0, *map(len, fields)) + b"".join(fields))
        return self.switch(ADVERTISING, True)

    def stop_advertising(self, data):
        self.ask(0x3F, b"\0", mayfail=True)
        return self.switch(ADVERTISING, False)

    def start_discovery(self, data):
        if self.scan is not None or data[0] & 1 == 0 or data[0] & 0x10:
            raise Failed("only discovery over LE")
        self.ask(0x41 if data[0] & 4 else 0x23, b"\x06")
        self.scan = data[0]

    def stop_discovery(self, data):
        if self.scan is not None:
            self.scan = None
            self.ask(0x24, b"\x06", mayfail=True)

    def connect(self, data):
        opened = self.socket()
        call("bind", opened, at(self.own, 0, ATT_CHANNEL))
        call("connect", opened, at(managed(data), 0, ATT_CHANNEL))
        self.connecting[opened] = (None,)

    def disconnect(self, data):
        self.ask(0x14, managed(data))

    def pair(self, data):
        peer = managed(data)
        # Its answer comes at the end of pairing.
        self.control.send(struct.pack("<HHH", 0x19, self.index, 8) + peer + bytes([self.io]))

    def unpair(self, data):
        self.ask(0x1B, managed(data) + b"\1", mayfail=True)

    def set_io(self, data):
        self.io = data[0]
        self.ask(0x18, data)

    def passkey_entry(self, data):
        self.ask(0x1E, managed(data) + data[7:11])

    def passkey_confirm(self, data):
        self.ask(0x1C if data[7] else 0x1D, managed(data))

    def set_secure(self, data):
        self.ask(0x2D, data)
        return self.switch(SECURE_CONNECTIONS, data[0])

    def set_secure_only(self, data):
        self.ask(0x2D, b"\2" if data[0] else b"\1")
        return self.switch(SECURE_CONNECTIONS_ONLY, data[0])

    # L2CAP

    def socket(self):
        opened = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_SEQPACKET, socket.BTPROTO_L2CAP)
        opened.setblocking(False)
        return opened

    def listen_at(self, own, psm, cid=0, mtu=None, level=None):
        opened = self.socket()
        call("bind", opened, at(own, psm, cid))
        if level:
            opened.setsockopt(SOL_BLUETOOTH, BT_SECURITY, struct.pack("<BB", level, 0))
        if mtu:
            opened.setsockopt(SOL_BLUETOOTH, BT_RCVMTU, struct.pack("<H", mtu))
        opened.listen(5)
        self.listeners[psm] = opened
        self.sources[opened] = lambda listening: self.accepted(listening, psm)

    def accepted(self, listening, psm):
        # The address that Python would return is not that of LE.
        descriptor = LIBC.accept4(listening.fileno(), None, None, os.O_NONBLOCK)
        opened = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_SEQPACKET, socket.BTPROTO_L2CAP, fileno=descriptor)
        self.use(opened, psm)

    def peer(self, opened):
        address, length = ctypes.create_string_buffer(14), ctypes.c_uint(14)
        LIBC.getpeername(opened.fileno(), address, ctypes.byref(length))
        return address.raw[4:10] + address.raw[12:13]

    def use(self, opened, psm, number=None):
        """A channel is open. The kernel has no attribute server: ours has the mandatory service, and finds nothing else."""
        if psm == 0:
            self.sources[opened] = self.attributes
            return
        number = next(number for number in range(256) if number not in self.channels) if number is None else number
        self.channels[number] = opened
        peer = spelled(self.peer(opened))
        mtu, own = (struct.unpack("<H", opened.getsockopt(SOL_BLUETOOTH, option, 2))[0] for option in (BT_SNDMTU, BT_RCVMTU))
        self.event(L2CAP, 0x81, struct.pack("<BHHHHH", number, psm, mtu, mtu, own, own) + peer)
        self.sources[opened] = lambda opened: self.channel_received(opened, number, psm, peer)

    def attributes(self, opened):
        request = self.read(opened)
        if not request:
            return self.close(opened)
        # Commands, notifications, confirmations and responses have no answer.
        if request[0] & 0x41 or request[0] == 0x1E:
            return None
        handle = request[1:3].ljust(2, b"\0")
        answer = struct.pack("<BB", 1, request[0]) + handle + b"\x0A"
        if request[0] == 0x02:
            answer = struct.pack("<BH", 3, 23)
        elif request == struct.pack("<BHHH", 0x10, 1, 0xFFFF, 0x2800):
            answer = struct.pack("<BBHHH", 0x11, 6, 1, 1, 0x1800)
        opened.send(answer)
        return None

    def read(self, opened):
        try:
            return opened.recv(65536)
        except OSError:
            return b""

    def close(self, opened):
        """The socket of a link that has ended stays open: Linux 6.1.192 frees it with a channel of the controller that is gone already."""
        self.sources.pop(opened, None)
        self.ended.append(opened)

    def channel_received(self, opened, number, psm, peer):
        data = self.read(opened)
        if data:
            return self.event(L2CAP, 0x83, struct.pack("<BH", number, len(data)) + data)
        self.channels.pop(number, None)
        self.close(opened)
        self.event(L2CAP, 0x82, struct.pack("<HBH", 0, number, psm) + peer)

    def opened(self, opened):
        """A connection attempt has ended."""
        psm, *rest = self.connecting.pop(opened)
        failed = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not failed:
            return self.use(opened, psm or 0, *rest[:1])
        self.ended.append(opened)
        if psm:
            number, peer = rest
            self.channels.pop(number, None)
            self.event(L2CAP, 0x82, struct.pack("<HBH", 1, number, psm) + peer)

    def open_channel(self, data):
        psm, mtu, count, options = struct.unpack("<HHBB", data[7:13])
        if count != 1 or options:
            raise Failed("a socket is one channel with credits of its own")
        opened = self.socket()
        call("bind", opened, at(self.own))
        opened.setsockopt(SOL_BLUETOOTH, BT_RCVMTU, struct.pack("<H", mtu))
        number = next(number for number in range(256) if number not in self.channels)
        self.channels[number] = opened
        call("connect", opened, at(managed(data), psm))
        self.connecting[opened] = (psm, number, data[:7])
        return bytes([1, number])

    def close_channel(self, data):
        self.channels[data[0]].shutdown(socket.SHUT_RDWR)

    def send_data(self, data):
        # Without credits the kernel takes no data.
        self.unsent.append((self.channels[data[0]], data[3:]))
        self.send_unsent()

    def send_unsent(self):
        waiting, self.unsent = self.unsent, []
        for opened, data in waiting:
            if opened not in [each for each, _ in self.unsent]:
                try:
                    opened.send(data)
                    continue
                except BlockingIOError:
                    pass
                except OSError as error:
                    print("not sent", error, flush=True)
                    continue
            self.unsent.append((opened, data))

    def listen(self, data):
        psm, transport, mtu, refusal = struct.unpack("<HBHH", data)
        level = {0: 1, 1: 3, 4: 2, 5: 4}.get(refusal)
        if transport != 1 or level is None:
            raise Failed("no such security")
        # The case before this one may have listened, too.
        if psm in self.listeners:
            listening = self.listeners.pop(psm)
            del self.sources[listening]
            listening.close()
        self.listen_at(self.own, psm, mtu=mtu, level=level)


def bits(numbers):
    return sum(1 << number for number in numbers).to_bytes(max(numbers) // 8 + 1, "little")


def supported(service):
    return lambda tester, data: bits([opcode for each, opcode in COMMANDS if each == service])


COMMANDS = {
    (CORE, 1): supported(CORE), (CORE, 2): lambda tester, data: bits([CORE, GAP, L2CAP]), (CORE, 3): lambda tester, data: b"",
    (CORE, 4): lambda tester, data: b"",
    (GAP, 1): supported(GAP), (GAP, 2): lambda tester, data: b"\1\0", (GAP, 3): UpperTester.information,
    (GAP, 6): lambda tester, data: tester.switch(CONNECTABLE, data[0]), (GAP, 8): UpperTester.set_discoverable, (GAP, 9): UpperTester.set_bondable,
    (GAP, 0x0A): UpperTester.start_advertising, (GAP, 0x0B): UpperTester.stop_advertising, (GAP, 0x0C): UpperTester.start_discovery,
    (GAP, 0x0D): UpperTester.stop_discovery, (GAP, 0x0E): UpperTester.connect, (GAP, 0x0F): UpperTester.disconnect, (GAP, 0x10): UpperTester.set_io,
    (GAP, 0x11): UpperTester.pair, (GAP, 0x12): UpperTester.unpair, (GAP, 0x13): UpperTester.passkey_entry, (GAP, 0x14): UpperTester.passkey_confirm,
    (GAP, 0x1E): UpperTester.set_secure_only, (GAP, 0x1F): UpperTester.set_secure,
    (L2CAP, 1): supported(L2CAP), (L2CAP, 2): UpperTester.open_channel, (L2CAP, 3): UpperTester.close_channel, (L2CAP, 4): UpperTester.send_data,
    (L2CAP, 5): UpperTester.listen,
}


if __name__ == "__main__":
    UpperTester(*sys.argv[1:]).serve()
