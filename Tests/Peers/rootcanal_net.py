"""Runs a command beside RootCanal inside a private network: `rootcanal_net.py COMMAND...`.

RootCanal listens on every interface, so it gets a network namespace of its own in which only the loopback interface exists; there its
port 6402 is always free. The command runs in the same namespace with ROOTCANAL set to 127.0.0.1:6402. The exit code is the command's.
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


def main(command):
    enter_private_network()
    server = subprocess.Popen(
        [get_package_binary_resource_path("rootcanal"), "-configuration", CONFIGURATION],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, SIGKILL))
    try:
        log = []
        for line in server.stdout:
            log.append(line)
            if f"Listening on: {PORT}".encode() in line:
                break
        else:
            sys.stderr.buffer.write(b"".join(log))
            return 3
        drain = subprocess.Popen(["cat"], stdin=server.stdout, stdout=subprocess.DEVNULL)
        code = subprocess.call(command, env={**os.environ, "ROOTCANAL": f"127.0.0.1:{PORT}"})
        if server.poll() is not None:
            print(f"RootCanal ended by itself with {server.returncode}", file=sys.stderr)
        return code
    finally:
        server.kill()
        server.wait()
        drain.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
