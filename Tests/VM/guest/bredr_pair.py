#!/usr/bin/python3
"""The kernel's two adapters over BR/EDR, through its management interface and its sockets: found by an inquiry, paired by numbers that are compared, come back
after a power cycle, and refused with a key that is damaged. Prints "= ok: ..." or "= NOT OK: ..." for each; the code is 1 when there was one of the latter.

usage: bredr_pair.py; the adapters are hci0 and hci1, and bluetoothd does not run.
"""

import ctypes
import os
import socket
import struct
import sys
import threading

NO_INDEX, CONTROL = 0xFFFF, 3
COMPLETE, STATUS, NEW_LINK_KEY, DISCONNECTED, CONFIRM, FOUND = 0x0001, 0x0002, 0x0009, 0x000C, 0x000F, 0x0012
POWERED, DISCOVERABLE, CONNECTABLE, BONDABLE, SSP, LE, BR_EDR, SECURE = 0x05, 0x06, 0x07, 0x09, 0x0B, 0x0D, 0x2A, 0x2D
INFORMATION, LOAD_LINK_KEYS, DISCONNECT, IO_CAPABILITY, PAIR, CONFIRM_REPLY, START, STOP = 0x04, 0x12, 0x14, 0x18, 0x19, 0x1C, 0x23, 0x24
DISPLAY_YES_NO = 1
SOL_L2CAP, L2CAP_OPTIONS, SOL_BLUETOOTH, BT_SECURITY = 6, 1, 274, 4
BASIC, ERTM = 0, 3
TIMEOUT = 20
failed = []


def check(condition, text):
    print("= ok:" if condition else "= NOT OK:", text, flush=True)
    if not condition:
        failed.append(text)


class Management:
    """A socket of the management interface, bound with the C library because Python binds such sockets only to the first channel."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
        self.socket.settimeout(TIMEOUT)
        address = struct.pack("<HHH", socket.AF_BLUETOOTH, NO_INDEX, CONTROL)
        if ctypes.CDLL(None, use_errno=True).bind(self.socket.fileno(), address, len(address)):
            raise OSError(ctypes.get_errno(), "bind")
        self.compared = {}
        self.keys = {}

    def send(self, index, opcode, parameters=b""):
        self.socket.send(struct.pack("<HHH", opcode, index, len(parameters)) + parameters)

    def event(self):
        """The next event; questions are confirmed, and keys are stored."""
        packet = self.socket.recv(4096)
        code, index, _ = struct.unpack_from("<HHH", packet)
        body = packet[6:]
        if code == CONFIRM:
            self.compared[index] = struct.unpack_from("<I", body, 8)[0]
            self.send(index, CONFIRM_REPLY, body[:7])
        elif code == NEW_LINK_KEY:
            self.keys[index] = body[1:26]
        return code, index, body

    def command(self, index, opcode, parameters=b""):
        """The return value of a command; an error contains its status."""
        self.send(index, opcode, parameters)
        while True:
            code, at, body = self.event()
            if code in (COMPLETE, STATUS) and at == index and struct.unpack_from("<H", body)[0] == opcode:
                if body[2]:
                    raise OSError(body[2], f"command {opcode:#06x} of hci{index}: status {body[2]:#04x}")
                return body[3:]

    def until(self, wanted, *indices):
        """Waits for one event of a kind from each of some adapters."""
        found = {}
        while set(indices) - set(found):
            code, index, body = self.event()
            if code == wanted:
                found[index] = body
        return found

    def prepare(self, index, secure):
        self.command(index, POWERED, b"\0")
        for opcode in (LE, BR_EDR, SSP):
            self.command(index, opcode, b"\1")
        self.command(index, SECURE, bytes([secure]))
        self.command(index, IO_CAPABILITY, bytes([DISPLAY_YES_NO]))
        for opcode in (CONNECTABLE, BONDABLE, POWERED):
            self.command(index, opcode, b"\1")

    def power_cycle(self):
        for value in (b"\0", b"\1"):
            for index in (0, 1):
                self.command(index, POWERED, value)

    def pair(self, address):
        """The keys of a pairing of hci0 with the address, on both sides."""
        self.compared, self.keys = {}, {}
        self.command(0, PAIR, address + bytes([0, DISPLAY_YES_NO]))
        while len(self.keys) < 2:
            self.event()
        self.send(0, DISCONNECT, address + b"\0")
        self.until(DISCONNECTED, 0, 1)
        return self.keys


def channel(kind, mode, level, *address):
    """An L2CAP or RFCOMM socket, bound to an adapter and, for a listener, to a number."""
    made = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_STREAM if kind == socket.BTPROTO_RFCOMM else socket.SOCK_SEQPACKET, kind)
    made.settimeout(TIMEOUT)
    made.setsockopt(SOL_BLUETOOTH, BT_SECURITY, bytes([level, 0]))
    if kind == socket.BTPROTO_L2CAP:
        made.setsockopt(SOL_L2CAP, L2CAP_OPTIONS, struct.pack("<HHHBBBxH", 672, 672, 0xFFFF, mode, 1, 3, 63))
    made.bind(address)
    return made


def echo(listener):
    try:
        accepted = listener.accept()[0]
        accepted.settimeout(TIMEOUT)
        while data := accepted.recv(4096):
            accepted.sendall(data)
    except OSError as error:
        print("echo:", error)


def exchange(kind, number, mode, level, near, far, count=20, length=600):
    """Sends octets to hci1 and receives them; an error contains the reason why there was no channel."""
    listener = channel(kind, mode, level, far, number)
    listener.listen(1)
    server = threading.Thread(target=echo, args=(listener,), daemon=True)
    server.start()
    with channel(kind, mode, level, near, 0) as client:
        client.connect((far, number))
        for index in range(count):
            sent = bytes([index]) * length
            client.sendall(sent)
            back = b""
            while len(back) < length:
                back += client.recv(4096)
            if back != sent:
                return False
    server.join(TIMEOUT)
    listener.close()
    return True


def text(octets):
    return ":".join(f"{octet:02X}" for octet in reversed(octets))


def main():
    management = Management()
    addresses = [management.command(index, INFORMATION)[:6] for index in (0, 1)]
    near, far = map(text, addresses)
    for index in (0, 1):
        management.prepare(index, secure=0)
    management.command(1, DISCOVERABLE, struct.pack("<BH", 1, 0))
    management.command(0, START, b"\1")
    while management.until(FOUND, 0)[0][:7] != addresses[1] + b"\0":
        pass
    check(True, "hci0 finds hci1 by an inquiry")
    management.command(0, STOP, b"\1")
    management.command(1, DISCOVERABLE, struct.pack("<BH", 0, 0))
    keys = management.pair(addresses[1])
    check(keys[0][8:24] == keys[1][8:24] and keys[0][7] == keys[1][7] == 5, "without Secure Connections both keep the same authenticated key from P-192")
    check(exchange(socket.BTPROTO_L2CAP, 0x1007, BASIC, 3, near, far), "a channel with E0 echoes")
    for index in (0, 1):
        management.prepare(index, secure=1)
        management.command(index, LOAD_LINK_KEYS, struct.pack("<BH", 0, 0))
    keys = management.pair(addresses[1])
    check(len(set(management.compared.values())) == 1 and len(management.compared) == 2, f"both sides show the same number: {management.compared}")
    check(keys[0][8:24] == keys[1][8:24] and keys[0][7] == keys[1][7] == 8, "both keep the same authenticated key from P-256")
    management.power_cycle()
    management.compared = {}
    for kind, number, mode, level, name in [
        (socket.BTPROTO_L2CAP, 0x1001, BASIC, 4, "a channel in basic mode, secured by AES-CCM alone"),
        (socket.BTPROTO_L2CAP, 0x1003, ERTM, 3, "a channel in Enhanced Retransmission mode"),
        (socket.BTPROTO_RFCOMM, 5, BASIC, 3, "a serial port"),
    ]:
        check(exchange(kind, number, mode, level, near, far), f"after a power cycle {name} echoes")
    check(not management.compared, "and nobody is asked again")
    damaged = bytearray(keys[1])
    damaged[8] ^= 1
    management.power_cycle()
    management.command(1, LOAD_LINK_KEYS, struct.pack("<BH", 0, 1) + bytes(damaged))
    try:
        check(not exchange(socket.BTPROTO_L2CAP, 0x1005, BASIC, 3, near, far), "a damaged key opens no channel")
    except OSError as error:
        check(True, f"a damaged key opens no channel: {error}")
    management.command(1, LOAD_LINK_KEYS, struct.pack("<BH", 0, 1) + keys[1])
    management.power_cycle()
    return 1 if failed else 0


try:
    code = main()
except OSError as error:
    check(False, f"error: {error}")
    code = 1
sys.stdout.flush()
os._exit(code)
