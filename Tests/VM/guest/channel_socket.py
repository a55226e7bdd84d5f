"""Credit-based channels of the kernel, by its sockets: `channel_socket.py client|server MODE OWN [PEER]` with MODE `le` or `enhanced`.

The client opens a channel to SPSM 0x80 of PEER, a random address, which returns each SDU, and compares. The server returns each SDU of one channel on SPSM 0x85.
"""

import ctypes
import os
import socket
import struct
import sys

SOL_BLUETOOTH, BT_SECURITY, BT_RCVMTU, BT_SNDMTU, BT_MODE = 274, 4, 13, 12, 15
LE_PUBLIC, LE_RANDOM, EXT_FLOWCTL = 1, 2, 4
libc = ctypes.CDLL(None, use_errno=True)


def at(call, channel, address, psm, kind=LE_PUBLIC):
    """bind or connect. The address of Python's socket module has no address type before version 3.14."""
    octets = bytes.fromhex(address.replace(":", ""))[::-1]
    # struct sockaddr_l2: l2_family, l2_psm, l2_bdaddr, l2_cid, l2_bdaddr_type.
    packed = struct.pack("<HH6sHBx", 31, psm, octets, 0, kind)
    if getattr(libc, call)(channel.fileno(), packed, len(packed)) < 0:
        raise OSError(ctypes.get_errno(), f"{call}: {os.strerror(ctypes.get_errno())}")


def opened(mode, own, psm, mtu):
    channel = socket.socket(31, socket.SOCK_SEQPACKET, 0)
    at("bind", channel, own, psm)
    if mode == "enhanced":
        channel.setsockopt(SOL_BLUETOOTH, BT_MODE, bytes([EXT_FLOWCTL]))
    channel.setsockopt(SOL_BLUETOOTH, BT_RCVMTU, struct.pack("<H", mtu))
    return channel


def client(mode, own, peer):
    with opened(mode, own, 0, 400) as channel:
        at("connect", channel, peer, 0x80, LE_RANDOM)
        most = struct.unpack("<H", channel.getsockopt(SOL_BLUETOOTH, BT_SNDMTU, 2))[0]
        lengths = [length for length in (1, 23, 64, 246, 400, 2, 300, 399) if length <= most]
        for number, length in enumerate(lengths):
            sdu = bytes((number + place) % 251 for place in range(length))
            channel.send(sdu)
            echo = channel.recv(2000)
            if echo != sdu:
                raise SystemExit(f"sent {sdu.hex()}, got {echo.hex()}")
        print(f"MTU {most}: {len(lengths)} SDUs, {sum(lengths)} octets came back", flush=True)


def server(mode, own):
    with opened(mode, own, 0x85, 500) as listener:
        listener.listen(1)
        print("listening", flush=True)
        channel, _ = listener.accept()
        count = 0
        while sdu := channel.recv(2000):
            count += len(sdu)
            channel.send(sdu)
        print(f"{count} octets returned", flush=True)


{"client": client, "server": server}[sys.argv[1]](*sys.argv[2:])
