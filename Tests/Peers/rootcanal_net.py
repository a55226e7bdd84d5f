"""Serves RootCanal inside a private network, until it is ended: `rootcanal_net.py`.

RootCanal listens on every interface, so it gets a network namespace of its own in which only the loopback interface exists; there its
port 6402 is always free. A line says whose namespace that is; `nsenter` takes other programs there.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys

from rootcanal.binaries import get_package_binary_resource_path

PORT = 6402
CONFIGURATION = f"tcp_server {{ tcp_port: {PORT} configuration {{ strict: false }} }}"
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
PR_SET_PDEATHSIG, SIGKILL = 1, 9

libc = ctypes.CDLL(None, use_errno=True)


def enter_private_network():
    flags = CLONE_NEWNET if os.geteuid() == 0 else CLONE_NEWNET | CLONE_NEWUSER
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "cannot make a private network namespace")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        (up,) = struct.unpack_from("h", fcntl.ioctl(control, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", up | IFF_UP))


def main():
    enter_private_network()
    server = subprocess.Popen(
        [get_package_binary_resource_path("rootcanal"), "-configuration", CONFIGURATION],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, SIGKILL))
    for line in server.stdout:
        if b"Listening on: %d" % PORT in line:
            print(f"rootcanal 127.0.0.1:{PORT} network {os.getpid()}", flush=True)
        elif b" F " in line[:16] or b"panicked" in line:
            print(line.decode(errors="replace").rstrip(), flush=True)
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
