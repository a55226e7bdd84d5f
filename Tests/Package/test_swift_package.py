"""A stranger's package that depends on Bluebench by version: from nothing to its tests, without a network."""

import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).parent.parent.parent
TEMPLATE = pathlib.Path(__file__).parent / "stranger"
TARGETS = [
    "History", "Transport", "Host", "HTTP", "Timing", "Cases", "Bench", "Report", "Traffic", "Capture", "Products", "Sessions", "Packets",
    "Throughput", "L2CAP",
]
# What a build of this package sets for itself has no meaning in another one. Git reaches files only.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("BLUEBENCH")} | {"GIT_ALLOW_PROTOCOL": "file"}
LIMIT = 1_500
"""Machine seconds for one command, of which the longest takes a tenth of that on two idle cores."""


def run(*command, cwd, quiet=False):
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, " ".join(map(str, command)) + "\n" + done.stdout + done.stderr
    return done.stdout if quiet else done.stdout + done.stderr


def repository(folder):
    """A bare repository with the files of this checkout as they are, and the tag 0.1.0."""
    work, bare = folder / "work" / "bluebench", folder / "bluebench.git"
    for name in run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0"):
        if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, work / name)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.com"]
    run(*git, "init", "-q", "-b", "main", cwd=work)
    run(*git, "add", "-A", cwd=work)
    run(*git, "commit", "-q", "-m", "0.1.0", cwd=work)
    run(*git, "tag", "0.1.0", cwd=work)
    run(*git, "clone", "-q", "--bare", work, bare, cwd=folder)
    return f"file://{bare}"


def mirrors(folder, package):
    """Points the package to the copies of the dependencies that the build of this checkout has left."""
    pins = json.loads((ROOT / "Package.resolved").read_text())["pins"]
    for pin in pins:
        copies = list((ROOT / ".build/repositories").glob(f"{pin['location'].rsplit('/')[-1]}-*"))
        assert copies, f"no copy of {pin['location']}: build this checkout first"
        mirror = folder / "mirrors" / pin["location"].rsplit("/")[-1]
        mirror.parent.mkdir(exist_ok=True)
        mirror.symlink_to(copies[0])
        run("swift", "package", "config", "set-mirror", "--original", pin["location"], "--mirror", f"file://{mirror}", cwd=package)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stranger")
    package = folder / "package"
    shutil.copytree(TEMPLATE, package)
    shutil.copy(ROOT / "Examples/core-bluetooth/device.yaml", package)
    for name in TARGETS:
        source = package / "Sources" / name / f"{name}.swift"
        source.parent.mkdir()
        source.write_text(f'public let own{name} = "{name}"\n')
    manifest = package / "Package.swift"
    manifest.write_text(manifest.read_text().replace("REPOSITORY", repository(folder)))
    mirrors(folder, package)
    return package


def swift(package, *arguments, **options):
    """A command of SwiftPM with caches of its own, so that nothing is there before."""
    own = ["--cache-path", package.parent / "cache", "--disable-sandbox"]
    return run("swift", *arguments[:1], *own, *arguments[1:], cwd=package, **options)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_package_by_version_builds_and_its_tests_pass(stranger, capsys):
    began, used = time.monotonic(), processor_seconds()
    shown = swift(stranger, "package", "show-dependencies", quiet=True)
    assert "bluebench" in shown and "0.1.0" in shown, shown
    built = swift(stranger, "build", "--build-tests")
    ready, used = time.monotonic(), processor_seconds() - used
    tested = swift(stranger, "test", "--skip-build")
    done = time.monotonic()
    with capsys.disabled():
        print(f"\n{shown.replace(str(stranger.parent), '').strip()}\npackage: from nothing to built tests in {ready - began:.0f} s ({used:.0f} CPU s), tests {done - ready:.0f} s")
    assert "warning:" not in built, re.findall(r".*warning:.*", built)
    assert re.search(r"Test run with 4 tests .*passed", tested) and "Executed 2 tests, with 0 failures" in tested, tested


def test_no_unsafe_flag_reaches_another_package(stranger):
    checkout = stranger / ".build" / "checkouts" / "bluebench"
    if not checkout.is_dir():
        swift(stranger, "package", "resolve")
    manifest = run("swift", "package", "dump-package", cwd=checkout)
    assert "unsafeFlags" not in manifest and "unsafeFlags" in run("swift", "package", "dump-package", cwd=ROOT)
    targets = {target["name"] for target in json.loads(manifest[manifest.index("{"):])["targets"]}
    assert not targets & set(TARGETS) and {"Bluebench", "CoreBluetooth"} <= targets
    assert all(name.startswith("BB") or name in {
        "Bluebench", "CoreBluetooth", "CoreBluetoothAccessories", "GeneratePDUs", "PDUGenerator"} for name in targets), targets


def test_the_library_shows_no_room_below():
    """The modules that a public declaration of the library may name: the compiler refuses all others."""
    sources = list((ROOT / "Sources/HostLibrary").rglob("*.swift"))
    imports = {line for path in sources for line in path.read_text().splitlines() if re.match(r"(@\w+ )*public import", line)}
    types = {"ATTErrorCode", "BluetoothUUID", "DeviceAddress", "ErrorCode"}
    assert imports == {"public import BBPackets"} | {f"@_exported public import struct BBPackets.{name}" for name in types}
