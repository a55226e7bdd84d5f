#!/usr/bin/python3
"""Gives the kernel a controller that waits on a TCP port, over /dev/vhci.

usage: vhci.py HOST PORT; prints the name of the kernel's adapter, and ends when one of the two ends.
"""

import os
import select
import socket
import sys

HEADERS = {2: (4, 2, 0xFFFF), 3: (3, 2, 0xFF), 4: (2, 1, 0xFF), 5: (4, 2, 0x3FFF)}
"""For each kind of packet of a controller: octets of its header, place of its length, and mask of the length."""
CREATE = b"\xff\x00"


def packets(octets):
    """The whole packets at the beginning, and the rest."""
    found = []
    while octets:
        header, place, mask = HEADERS[octets[0]]
        if len(octets) <= header:
            break
        width = 1 if mask == 0xFF else 2
        length = int.from_bytes(octets[1 + place:1 + place + width], "little") & mask
        if len(octets) < 1 + header + length:
            break
        found.append(octets[:1 + header + length])
        octets = octets[1 + header + length:]
    return found, octets


def main(host, port):
    controller = socket.create_connection((host, port))
    controller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    kernel = os.open("/dev/vhci", os.O_RDWR)
    os.write(kernel, CREATE)
    octets = b""
    while True:
        ready = select.select([controller, kernel], [], [])[0]
        if kernel in ready:
            packet = os.read(kernel, 4096)
            if packet.startswith(CREATE):
                print(f"hci{int.from_bytes(packet[2:4], 'little')}", flush=True)
            else:
                controller.sendall(packet)
        if controller in ready:
            part = controller.recv(65536)
            if not part:
                return
            found, octets = packets(octets + part)
            for packet in found:
                os.write(kernel, packet)


if __name__ == "__main__":
    main(*sys.argv[1:])
