#!/usr/bin/env python3
"""Boots a Debian kernel under QEMU and lets it use our virtual dongles over USB/IP.

The guest's root is this machine's root, read-only under a memory overlay; results come back through a second share.
A script of the guest may say which dongles it needs, as arguments of `bluebench dongle`, in a line "# dongles: ARGUMENTS"; scripts that say the
same share the dongles. USBIP_PORT is the port on 10.0.2.2 where they are exported. A line "# read by: PROGRAM FILE" names a program of this folder
that checks on this machine what the script has left in /share. A script that judges the guest's Bluetooth host has a line
"# judged by: ARGUMENTS" instead, the arguments of a `bluebench run` on this machine: /share/SCRIPT.controller and /share/SCRIPT.btp hold the ports on
10.0.2.2 of its virtual controller and of its end of BTP, /share/SCRIPT.json the results after /share/SCRIPT.ended has appeared. The variable
HOST_CASES has other arguments: HOST_CASES="host-gap host-l2cap host-sm" judges by every case, which takes ten minutes.

Exit code 0 when every script passed, 1 when one did not, 77 when the packages or the kernel cannot be had, or no guest could be judged.
usage: vm.py [--work DIR] [--bluebench PATH] [--timeout SECONDS] [SCRIPT ...]
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ["qemu-system-x86", "busybox-static", "cpio", "kmod", "usbip", "bluez", "bluez-test-tools", "dbus-daemon", "python3-dbus", "python3-gi", "tshark"]
DONGLES = "--count 2 --profile dual"
UNAVAILABLE = 77
"""The exit code if packages or the kernel are not available: nothing was tested."""
MODULES = """
virtio_pci virtio_net 9pnet_virtio 9p overlay
sha256_generic sha512_generic hmac ctr jitterentropy_rng ansi_cprng drbg aes_generic cmac ecb ccm algif_hash algif_skcipher ecdh_generic
bluetooth rfcomm btusb hci_vhci vhci-hcd usbmon
""".split()


def say(text):
    print(f"vm: {text}", flush=True)


def apt_get(*arguments):
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.run([*sudo, "apt-get", *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)


def missing_packages():
    return [p for p in PACKAGES if subprocess.run(["dpkg", "-s", p], capture_output=True).returncode != 0]


def install_packages():
    missing = missing_packages()
    if not missing:
        return
    say("installing " + " ".join(missing))
    apt_get("update", "-q")
    apt_get("install", "-yq", "--no-install-recommends", *missing)


def kernel_package():
    """The image to which Debian's linux-image-amd64 refers; None if the package lists do not contain it."""
    depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True).stdout
    return next((line.split()[-1] for line in depends.splitlines() if "Depends: linux-image-" in line), None)


def fetch_kernel(work):
    """The kernel's files, unpacked in work; nothing is installed."""
    root = os.path.join(work, "kernel")
    if not glob.glob(os.path.join(root, "boot/vmlinuz-*")):
        if kernel_package() is None:
            apt_get("update", "-q")
        package = kernel_package()
        if package is None:
            raise FileNotFoundError("no package linux-image-amd64")
        say(f"downloading {package}")
        subprocess.run(["apt-get", "download", "-q", package], check=True, cwd=work, capture_output=True)
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["dpkg", "-x", glob.glob(os.path.join(work, package + "_*.deb"))[0], root], check=True)
    image = glob.glob(os.path.join(root, "boot/vmlinuz-*"))[0]
    version = os.path.basename(image).removeprefix("vmlinuz-")
    modules = os.path.join(root, "lib/modules", version)
    if not os.path.exists(os.path.join(modules, "modules.dep")):
        subprocess.run(["depmod", "-b", root, version], check=True)
    return image, version, modules


def closure(modules):
    """The files of MODULES and of their dependencies, in loading order."""
    needs = {}
    for line in open(os.path.join(modules, "modules.dep")):
        file, _, rest = line.partition(":")
        needs[file] = rest.split()
    by_name = {os.path.basename(f).split(".ko")[0].replace("-", "_"): f for f in needs}
    ordered = []
    for name in MODULES:
        file = by_name.get(name.replace("-", "_"))
        if file is None:
            continue  # built in
        for each in [*reversed(needs[file]), file]:
            if each not in ordered:
                ordered.append(each)
    return ordered


def make_initramfs(work, modules):
    root = os.path.join(work, "initramfs")
    shutil.rmtree(root, ignore_errors=True)
    for folder in ["bin", "modules", "proc", "sys", "dev", "host", "share", "over", "root", "whole"]:
        os.makedirs(os.path.join(root, folder))
    shutil.copy("/bin/busybox", os.path.join(root, "bin/busybox"))
    shutil.copy(os.path.join(HERE, "init"), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    with open(os.path.join(root, "modules/order"), "w") as order:
        for file in closure(modules):
            shutil.copy(os.path.join(modules, file), os.path.join(root, "modules"))
            order.write(os.path.basename(file) + "\n")
    archive = os.path.join(work, "initramfs.gz")
    listing = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=listing, capture_output=True, check=True).stdout
    subprocess.run(["gzip", "-1"], input=packed, stdout=open(archive, "wb"), check=True)
    return archive


def argument(script, name):
    """The rest of a script's line "# NAME: REST", or None."""
    with open(script) as lines:
        return next((found[1].strip() for line in lines if (found := re.match(f"# {name}: (.*)", line))), None)


def dongles_for(script):
    """The arguments of a script's dongles; None for one that needs no dongles."""
    return None if argument(script, "judged by") else argument(script, "dongles") or DONGLES


def with_attachment(scripts):
    """The scripts to run after the one that attaches the dongles, which is used by scripts without their own and is added if missing."""
    attach = os.path.join(HERE, "guest", "10-attach.sh")
    needs = [script for script in scripts if dongles_for(script) == DONGLES]
    if not needs or any(os.path.basename(script) == os.path.basename(attach) for script in scripts):
        return scripts
    say(f"{os.path.basename(needs[0])} needs {os.path.basename(attach)}, which runs first")
    return [attach, *scripts]


def read_results(share, scripts):
    """Runs the programs that check what the scripts have left; one that finds a fault fails its script."""
    for script in scripts:
        words = argument(script, "read by")
        if not words or not has_passed(share, script):
            continue
        program, file = words.split()
        path = os.path.join(share, os.path.basename(script))
        result = subprocess.run([sys.executable, os.path.join(HERE, program), os.path.join(share, file)], capture_output=True, text=True)
        with open(path + ".txt", "a") as output:
            output.write(result.stdout + result.stderr)
        write(path + ".status", str(result.returncode))


def start_dongles(bluebench, arguments, log):
    """The process that exports dongles, and its port."""
    process = subprocess.Popen([bluebench, "dongle", "--usbip", "0", *arguments.split()], stdout=subprocess.PIPE, stderr=log, text=True)
    for line in process.stdout:
        found = re.match(r"usbip:tcp:[^ ]*:(\d+) ", line)
        if found:
            threading.Thread(target=lambda: [log.write(rest) for rest in process.stdout], daemon=True).start()
            return process, int(found[1])
    raise SystemExit("vm: bluebench dongle did not start")


def start_run(bluebench, script, share, timeout, log):
    """A run that judges the guest's Bluetooth host, and waits for it."""
    path = os.path.join(share, os.path.basename(script))
    process = subprocess.Popen(
        [bluebench, "run", *(os.environ.get("HOST_CASES") or argument(script, "judged by")).split(), "--cases", os.path.join(share, "Conformance"), "--subject-port", "tcp-listen:0",
         "--btp", "tcp-listen:0", "--wait-for-host", f"{timeout:.0f}", "--json", path + ".json"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def follow():
        for line in process.stdout:
            log.write(line)
            for name, place in ("controller", "an accessory's host"), ("btp", "the upper tester of the host"):
                if found := re.match(rf"waiting for {place} on tcp:[^ ]*:(\d+)", line):
                    write(f"{path}.{name}", found[1])
        write(path + ".ended", str(process.wait()))

    threading.Thread(target=follow, daemon=True).start()
    return process


def write(path, text):
    """A file that is there only with its text."""
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def use_folders(share, *folders):
    """Names folders of this machine that the guest uses, for those below /run and /tmp: the guest has its own. One folder in another is named once."""
    real = sorted({os.path.realpath(folder) for folder in folders})
    outer = [folder for folder in real if not any(folder.startswith(other + "/") for other in real)]
    with open(os.path.join(share, "folders"), "w") as file:
        file.write("".join(folder + "\n" for folder in outer))


def boot(image, initramfs, share, timeout, folder=None, processors=2):
    """Runs the guest to its end. It may write to `share`, and to `folder` if there is one. A second processor makes the boot dearer by half."""
    console = os.path.join(share, "console.txt")
    # On a busy machine the kernel's test of its timer fails, and the self-tests of its ciphers take long.
    kernel = "console=ttyS0 quiet panic=-1 no_timer_check cryptomgr.notests=1"
    command = [
        "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-m", "768", "-smp", str(processors), "-nodefaults", "-display", "none", "-no-reboot",
        "-kernel", image, "-initrd", initramfs, "-serial", f"file:{console}",
        "-append", kernel,
        "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile=",
        "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
        "-virtfs", f"local,path={share},mount_tag=share,security_model=none",
    ]
    if folder:
        command += ["-virtfs", f"local,path={folder},mount_tag=user,security_model=none"]
    began = time.monotonic()
    process = subprocess.Popen(command)
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        say(f"the guest did not finish within {timeout:.0f} s; see {console}")
        return False
    say(f"the guest ran for {time.monotonic() - began:.0f} s")
    return True


def summarise(share, scripts):
    failed = 0
    for script in scripts:
        name = os.path.basename(script)
        path = os.path.join(share, name + ".status")
        status = open(path).read().strip() if os.path.exists(path) else "did not run"
        if status != "0":
            failed += 1
        say(f"{name}: {'passed' if status == '0' else 'FAILED (' + status + ')'}")
        output = os.path.join(share, name + ".txt")
        if os.path.exists(output):
            for line in open(output, errors="replace"):
                if line.startswith("= ") or status != "0":
                    print("    " + line.rstrip())
    print(f"{len(scripts) - failed} passed, {failed} failed", flush=True)
    return failed


BREAKS = re.compile(r"kernel BUG at .*|BUG: .*|general protection fault.*|Oops: .*")
GUESTS = 5
"""Boots, at most: kernels break by themselves (docs/design/peers.md), and what a broken one says of a dongle is nothing."""


def kernel_break(share):
    """What the guest's kernel said of its own first failure, and the function of its Bluetooth host in which it was; None if it did not fail."""
    console = os.path.join(share, "console.txt")
    text = open(console, errors="replace").read() if os.path.exists(console) else ""
    if not (found := BREAKS.search(text)):
        return None
    places = re.findall(r"\] +(\w+)\+0x[0-9a-f]+/0x[0-9a-f]+ \[bluetooth\]", text[found.start() :])
    return found[0] + (f", in {places[0]}" if places else "")


LOST = 0.05
"""The part of its time that a guest may lose to other programs of this machine: beyond it, its kernel's timers decide."""


def lost(share):
    """Seconds that the guest lost, where it lost half a second and more of one."""
    path = os.path.join(share, "late.txt")
    return sum(int(line.split()[-1]) for line in open(path)) / 1e6 if os.path.exists(path) else 0


def has_passed(share, script):
    path = os.path.join(share, os.path.basename(script) + ".status")
    return os.path.exists(path) and open(path).read().strip() == "0"


class Guests:
    """The guests in which the scripts run, with their dongles and runs."""

    def __init__(self, options, scripts, share, log):
        self.options, self.scripts, self.share, self.log = options, scripts, share, log
        self.servers, self.runs = {}, []
        self.was_slow = False

    def prepare(self, scripts):
        """Puts scripts before the guest, each with its port, in place of those of the guest before."""
        folder = os.path.join(self.share, "scripts")
        for path in [*glob.glob(os.path.join(folder, "*.sh")), *(self.result(script, kind) for script in scripts for kind in ("status", "broken"))]:
            if os.path.exists(path):
                os.remove(path)
        for script in scripts:
            shutil.copy(script, folder)
            wanted = dongles_for(script)
            if wanted is None:
                for kind in ("controller", "btp", "ended"):
                    if os.path.exists(self.result(script, kind)):
                        os.remove(self.result(script, kind))
                self.runs.append(start_run(self.options.bluebench, script, self.share, self.options.timeout, self.log))
                continue
            self.servers[wanted] = self.servers.get(wanted) or start_dongles(self.options.bluebench, wanted, self.log)
            write(os.path.join(folder, os.path.basename(script) + ".port"), str(self.servers[wanted][1]))

    def result(self, script, kind):
        return os.path.join(self.share, f"{os.path.basename(script)}.{kind}")

    def run(self, boot):
        """Runs every script. Those that a broken kernel or a slow machine has failed, or has kept from running, run in another guest.

        False after the time limit.
        """
        left = self.scripts
        end = time.monotonic() + self.options.timeout
        for guest in range(1, GUESTS + 1):
            self.prepare(left)
            began = time.monotonic()
            finished = boot(max(1, end - began))
            self.tell(time.monotonic() - began)
            left = [script for script in self.scripts if self.is_unjudged(script)]
            if not left or guest == GUESTS or time.monotonic() >= end:
                return finished
            for name in ("console", "late"):
                if os.path.exists(os.path.join(self.share, name + ".txt")):
                    os.rename(os.path.join(self.share, name + ".txt"), os.path.join(self.share, f"{name}-{guest}.txt"))
            say("runs again, in another guest: " + " ".join(os.path.basename(script) for script in left))
            left = with_attachment(left)
            self.stop(servers=False)
        return finished

    def tell(self, seconds):
        """Says what in the last guest was at fault besides the dongles."""
        broken, late = kernel_break(self.share), lost(self.share)
        self.was_slow = late > LOST * seconds
        if broken:
            say(f"the guest's kernel broke by itself: {broken}")
        if self.was_slow:
            say(f"this machine is busy: the guest lost {late:.0f} s of {seconds:.0f} s")

    def is_unjudged(self, script):
        """True if what became of a script says nothing of a dongle: its kernel was broken, its guest had no time, or a kernel that broke kept it from running."""
        if has_passed(self.share, script):
            return False
        is_broken = any(os.path.exists(self.result(other, "broken")) for other in self.scripts)
        return self.was_slow or os.path.exists(self.result(script, "broken")) or is_broken and not os.path.exists(self.result(script, "status"))

    def stop(self, servers=True):
        stopped = [*self.runs, *(process for process, _ in self.servers.values() if servers)]
        for process in stopped:
            process.terminate()
            process.wait(10)
        self.runs = []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", default="build/vm")
    parser.add_argument("--bluebench", default=".build/release/bluebench")
    parser.add_argument("--timeout", type=float, default=2100, help="seconds of all guests together")
    parser.add_argument("scripts", nargs="*")
    options = parser.parse_args()
    scripts = with_attachment(options.scripts or sorted(glob.glob(os.path.join(HERE, "guest", "*.sh"))))
    work = os.path.abspath(options.work)
    share = os.path.join(work, "share")
    shutil.rmtree(share, ignore_errors=True)
    os.makedirs(os.path.join(share, "scripts"))
    for file in [path for kind in ("*.py", "*.bash") for path in glob.glob(os.path.join(HERE, "guest", kind))]:
        shutil.copy(file, os.path.join(share, "scripts"))
    shutil.copy(options.bluebench, os.path.join(share, "bluebench"))
    shutil.copytree(os.path.join(HERE, "..", "..", "Conformance"), os.path.join(share, "Conformance"))
    if os.environ.get("HOST_CASES"):
        with open(os.path.join(share, "limit"), "w") as limit:
            limit.write(str(options.timeout))
    # The guest has this machine's root: the examples are where they are.
    root = os.path.realpath(os.path.join(HERE, "..", ".."))
    with open(os.path.join(share, "checkout"), "w") as checkout:
        checkout.write(root)
    use_folders(share, root)
    try:
        install_packages()
        image, version, modules = fetch_kernel(work)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        say(f"not run: what it needs cannot be had here ({error})")
        sys.exit(UNAVAILABLE)
    say(f"kernel {version}")
    initramfs = make_initramfs(work, modules)
    with open(os.path.join(share, "dongles.txt"), "w") as log:
        guests = Guests(options, scripts, share, log)
        try:
            finished = guests.run(lambda limit: boot(image, initramfs, share, limit))
        finally:
            guests.stop()
    read_results(share, scripts)
    failed = summarise(share, scripts)
    if failed and all(has_passed(share, script) or guests.is_unjudged(script) for script in scripts):
        say("not run: in the last guest, too, the kernel broke or had no time; what failed says nothing of a dongle")
        sys.exit(UNAVAILABLE)
    sys.exit(0 if finished and failed == 0 else 1)


if __name__ == "__main__":
    main()
