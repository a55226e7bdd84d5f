"""Extended advertising reports per second that a host handles: ours and Bumble's, fed by the same proxy over TCP.

The proxy stands before a virtual dongle. Once the host has enabled scanning it adds a flood of reports of 31 octets each. The clock runs from the first
octet of the flood until the host says that it has handled all of them. Ends with 1 when our host is not at least 20 times as fast.
"""

import asyncio
import pathlib
import select
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bumble.device import Device  # noqa: E402

from support import TIMEOUT, bluebench, dongles, host  # noqa: E402

REPORTS = {"our host": 400_000, "Bumble's host": 30_000}
AT_LEAST = 20
SET_EXTENDED_SCAN_ENABLE = bytes.fromhex("42 20")


def report(number):
    address = struct.pack("<I", number % 50) + b"\x00\xc0"
    data = bytes([30, 0xFF, 0xFF, 0xFF]) + struct.pack("<I", number) + bytes(23)
    body = b"\x0d\x01" + struct.pack("<HB", 0x0010, 1) + address + struct.pack("<BBBbbHB", 1, 0, 0xFF, 127, -40, 0, 0) + bytes(6)
    body += bytes([len(data)]) + data
    return bytes([0x04, 0x3E, len(body)]) + body


class Flood:
    """A proxy that adds `count` reports after the answer to LE_Set_Extended_Scan_Enable."""

    def __init__(self, port, count):
        self.target = port
        self.flood = b"".join(report(number) for number in range(count))
        self.start = None
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        near, _ = self.server.accept()
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with near, socket.create_connection(("127.0.0.1", self.target)) as far:
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                for ready in select.select([near, far], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (far if ready is near else near).sendall(data)
                    if ready is far and self.start is None and SET_EXTENDED_SCAN_ENABLE in data:
                        self.start = time.monotonic()
                        near.sendall(self.flood)


def ours(port, count):
    flood = Flood(port, count)
    line = [bluebench(), "scan", f"tcp:127.0.0.1:{flood.port}", "--passive", "--duplicates", "--summary", "--count", str(count), "--seconds", str(TIMEOUT)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as scan:
        assert scan.stdout.readline().startswith(f"{count} reports from 50")
        return count / (time.monotonic() - flood.start)


def bumble(port, count):
    async def scan():
        flood = Flood(port, count)
        async with host(flood.port, "scanner", "F0:F1:F2:F3:F4:F5") as device:
            seen, done = 0, asyncio.get_running_loop().create_future()

            def on_advertisement(_):
                nonlocal seen
                seen += 1
                if seen == count:
                    done.set_result(time.monotonic())

            device.on(Device.EVENT_ADVERTISEMENT, on_advertisement)
            await device.start_scanning(active=False)
            return count / (await done - flood.start)

    return asyncio.run(scan())


def main():
    best = dict.fromkeys(REPORTS, 0)
    for _ in range(3):
        for name, side in zip(REPORTS, (ours, bumble)):
            with dongles(1) as [port]:
                best[name] = max(best[name], side(port, REPORTS[name]))
    for name, figure in best.items():
        print(f"{figure:>10.0f} reports/s  {name}")
    ratio = best["our host"] / best["Bumble's host"]
    print(f"{ratio:>10.1f} times Bumble's host (wanted: {AT_LEAST})")
    return 0 if ratio >= AT_LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
