#!/usr/bin/env python3
"""Compiles the sources of open-source apps and libraries against the module CoreBluetooth, unchanged, and prints the errors.

A folder has the checkouts, as OWNER/NAME; `--clone` makes those that are missing. The module is that of .build/debug: build it with
`swift build --product CoreBluetooth`. What the sources need of Apple's other frameworks is declared in `declarations`, without bodies: the
sources are type-checked, not linked.

usage: compile.py FOLDER [--clone] [OWNER/NAME ...]; exit code 1 if one does not compile.
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODULES = ROOT / ".build/debug/Modules"
DECLARATIONS = HERE / "declarations"


@dataclasses.dataclass
class App:
    module: str
    commit: str
    sources: list
    """Files and folders."""
    without: tuple = ()
    """Files that need what Linux does not have: parts of their names."""
    packages: dict = dataclasses.field(default_factory=dict)
    """Modules of other repositories: the repository and the folder of the sources."""
    flags: tuple = ()



APPLE = ("-Xfrontend", "-import-module", "-Xfrontend", "AppleFoundation")
PATIENT = ("-Xfrontend", "-solver-scope-threshold=100000000", "-Xfrontend", "-solver-memory-threshold=4000000000")
SENSOR = "Herald/Herald/Sensor"
APPS = {
    "paulw11/L2Cap": App("L2Cap", "ff9e793", ["Sources/L2Cap"]),
    "exPHAT/SwiftBluetooth": App("SwiftBluetooth", "82395b9", ["Sources/SwiftBluetooth"]),
    "NordicSemiconductor/IOS-nRF-Connect-Device-Manager": App(
        "iOSMcuManagerLibrary", "54e9b8a", ["iOSMcuManagerLibrary/Source"], without=("Suit", "McuMgrPackage", "UTI.", "UpgradeManager"),
        packages={"SwiftCBOR": ("unrelentingtech/SwiftCBOR", "Sources")}, flags=APPLE),
    "theheraldproject/herald-for-ios": App(
        "Herald", "584d037", [
            f"{SENSOR}/BLE", f"{SENSOR}/Extensions", f"{SENSOR}/Sensor.swift", f"{SENSOR}/SensorDelegate.swift", f"{SENSOR}/Device.swift",
            f"{SENSOR}/PayloadDataSupplier.swift", f"{SENSOR}/Data/SensorLogger.swift", f"{SENSOR}/Data/Resettable.swift",
            f"{SENSOR}/Analysis/SampleStatistics.swift", f"{SENSOR}/Engine/Activities.swift", f"{SENSOR}/Location/MobilitySensor.swift", f"{SENSOR}/Datatype", f"{SENSOR}/Data/Security/PseudoRandomFunction.swift",
            f"{SENSOR}/Data/TextFile.swift"], flags=(*PATIENT, *APPLE)),
    "NordicSemiconductor/IOS-nRF-Mesh-Library": App(
        "NordicMesh", "9eacb78", [
            *(f"Library/Bearer/{name}" for name in ("Bearer.swift", "BearerDelegate.swift", "BearerError.swift", "GATT")),
            "Library/Type Extensions", *(f"Library/Utils/{name}.swift" for name in ("BigUInt", "MeshConstants", "MeshLoggerDelegate")),
            *(f"Library/Provisioning/{name}.swift" for name in (
                "Algorithm", "Oob", "ProvisioningCapabilities", "ProvisioningPdu", "ProvisioningState", "PublicKey"))],
        without=("Data+Keys", "UserDefaults")),
}


def run(*command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def checkout(folder, name, commit, clones):
    path = folder / name
    if not path.exists() and clones:
        run("git", "clone", "--filter=blob:none", f"https://github.com/{name}", path)
        run("git", "-C", path, "checkout", commit)
    if not path.exists():
        sys.exit(f"missing {path}: clone https://github.com/{name} there, or give --clone")
    return path


def swift_files(folder, sources, without=()):
    found = [file for source in sources for file in (sorted((folder / source).rglob("*.swift")) or [folder / source])]
    return [file for file in found if not any(part in str(file.relative_to(folder)) for part in without)]


def compile_app(folder, name, clones):
    app, build = APPS[name], folder / "modules"
    build.mkdir(exist_ok=True)
    searched = [option for path in (build, MODULES, DECLARATIONS, DECLARATIONS / "os") for option in ("-I", path)]
    rooms = [ROOT / "Sources" / room for room in ("CProgramTime/include", "CSystemCalls", "CLibCrypto", "CLibUSB")] + [ROOT / ".build/checkouts/Yams/Sources/CYaml/include"]
    searched += [option for room in rooms for option in ("-I", room)]
    for flag in run("pkg-config", "--cflags", "libusb-1.0").stdout.split():
        searched += ["-Xcc", flag]
    common = ["swiftc", "-swift-version", "5", "-suppress-warnings", "-parse-as-library", "-module-cache-path", build / "cache", *searched]
    for module, (repository, sources) in app.packages.items():
        files = swift_files(checkout(folder, repository, "HEAD", clones), [sources])
        made = run(*common, "-emit-module", "-module-name", module, "-emit-module-path", build / f"{module}.swiftmodule", *files)
        if made.returncode:
            return [f"the module {module} is not made", made.stderr], 0
    files = swift_files(checkout(folder, name, app.commit, clones), app.sources, app.without)
    result = run(*common, *app.flags, "-typecheck", "-module-name", app.module, *files)
    errors = sorted({line for line in result.stderr.splitlines() if line.startswith(str(folder)) and " error: " in line})
    return errors or ([result.stderr] if result.returncode else []), len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--clone", action="store_true")
    parser.add_argument("apps", nargs="*", default=[], choices=[[], *APPS])
    options = parser.parse_args()
    failed = 0
    for name in options.apps or APPS:
        errors, files = compile_app(options.folder.resolve(), name, options.clone)
        print(f"{name} {APPS[name].commit}: {files} files, {f'{len(errors)} errors' if errors else 'compiles'}", flush=True)
        print("".join(f"    {error}\n" for error in errors), end="", flush=True)
        failed += bool(errors)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
