// swift-tools-version: 6.2
import PackageDescription

// The manifest defines the architecture: a target is a room, and a room depends only on rooms below it. The rooms are listed from the top
// down; `make lint` reads them here.
let plain: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
// `make fuzz` builds the rooms and the fuzzer with coverage counters and the address sanitizer (guided). To count inputs it uses the release
// build of the rooms, without either (released) or with the counters (covered).
let fuzzing = Context.environment["BLUEBENCH_FUZZ"]
let sanitizers = [fuzzing == "guided" ? "-sanitize=fuzzer,address" : "-sanitize=fuzzer"]
let isCounted = fuzzing == "guided" || fuzzing == "covered"
let house = plain + (isCounted ? [.unsafeFlags(sanitizers + ["-O"])] : [])
// Flags, tests and examples are for this package alone. Packages that depend on it do not get them: their copy lies in a folder of SwiftPM.
let isRoot = !Context.packageDirectory.contains("/checkouts/")
// One optimised build serves `make run` and `make test`: testability is enabled for the tests and the fuzzer; debug builds enable it by
// default.
let testing = isRoot && Context.environment["BLUEBENCH_TESTING"] != nil
let opened: [SwiftSetting] = testing || fuzzing == "released" || fuzzing == "covered" ? [.unsafeFlags(["-enable-testing"])] : []
// That build checks for overlapping accesses, which costs a quarter of the simulation's speed; `make dist` and `make bench` disable the
// check.
let quick: [SwiftSetting] = testing || !isRoot ? [] : [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]
// In it, only the rooms in which a run spends its time are optimised: Packets, Timing, BluetoothCrypto, Transport, HCI, L2CAP, Traffic,
// Capture, Simulation, and Cases, which reads a folder of cases three times as fast. The others compile in a quarter to a third of the
// time without optimisation, and their module is written by the same pass.
// The program as it is distributed is optimised everywhere.
let asWritten: [SwiftSetting] = testing ? [.unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"])] : []

// SwiftPM wants names of targets to be unique in everything that an app is built from, so a target has the prefix BB before the name of
// its folder; only the executables and what has Apple's names on purpose have none.
func folder(of target: String) -> Substring { target.hasPrefix("BB") ? target.dropFirst(2) : target[...] }

func room(
    _ name: String, _ below: [Target.Dependency] = [], settings: [SwiftSetting] = [], embedding files: [String] = [],
    plugins: [Target.PluginUsage] = []
) -> Target {
    .target(
        name: name, dependencies: below, path: "Sources/\(folder(of: name))", resources: files.map { .embedInCode($0) },
        swiftSettings: house + opened + settings,
        plugins: plugins)
}

func library(_ name: String, pkgConfig: String? = nil, providers: [SystemPackageProvider]? = nil) -> Target {
    .systemLibrary(name: name, path: "Sources/\(folder(of: name))", pkgConfig: pkgConfig, providers: providers)
}

func tests(_ room: String, _ others: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(room)Tests", dependencies: [.byName(name: room)] + others, path: "Tests/\(folder(of: room))Tests",
        swiftSettings: house + asWritten)
}

let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

// The fuzzer takes the program as a library, whose entry point gets another name.
let programRooms: [Target.Dependency] = [
    "BBSessions", "BBReport", "BBHistory", "BBDiagnosis", "BBConformance", "BBProducts", "BBTraffic", "BBUpperTester", "BBExploration",
    "BBCases", "BBThroughput", "BBVirtualDongle", "BBBench", "BBHost",
    "BBSimulation", "BBCapture", "BBBluetoothCrypto", "BBHTTP", "BBHCI", "BBDongles", "BBTransportUSB", "BBTransport", "BBTiming",
    "BBMisbehaviour",
    "BBPackets", arguments,
]
let renamed = ["-Xfrontend", "-entry-point-function-name", "-Xfrontend", "bluebench_main"]
// A target of its own name: `Bluebench` is the library, and the two would be one file where names differ in more than case only.
let program: Target =
    fuzzing == nil
    ? .executableTarget(
        name: "BBProgram", dependencies: programRooms, path: "Sources/bluebench", swiftSettings: house + quick + asWritten)
    : .target(
        name: "BBProgram", dependencies: programRooms, path: "Sources/bluebench",
        swiftSettings: house + opened + quick + [.unsafeFlags(renamed)])

let package = Package(
    name: "bluebench",
    platforms: [.macOS(.v26)],
    products: (fuzzing == nil ? [.executable(name: "bluebench", targets: ["BBProgram"])] : []) + [
        .library(name: "Bluebench", targets: ["Bluebench"]),
        .library(name: "BBPackets", targets: ["BBPackets"]),
        .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
        .library(name: "CoreBluetoothAccessories", targets: ["CoreBluetoothAccessories"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ],
    targets: [
        program,
        room(
            "BBSessions",
            [
                "BBReport", "BBDiagnosis", "BBConformance", "BBProducts", "BBCases", "BBHost", "BBCapture", "BBTraffic",
                "BBBluetoothCrypto",
                "BBHTTP", "BBHCI", "BBTransport", "BBTiming", "BBPackets",
            ], settings: asWritten),
        room(
            "BBReport",
            ["BBConformance", "BBProducts", "BBCases", "BBThroughput", "BBDongles", "BBTraffic", "BBTransport", "BBPackets", mustache],
            settings: asWritten,
            embedding: ["Page/Files"]),
        room(
            "BBHistory", ["BBCSQLite", "BBThroughput", "BBTraffic", "BBPackets", mustache], settings: asWritten, embedding: ["Pages/Files"]),
        room("CoreBluetoothAccessories", ["CoreBluetooth", "BBProducts", "BBHost", "BBPackets"], settings: asWritten),
        room(
            "BBConformance",
            [
                "BBProducts", "BBCases", "BBUpperTester", "BBBTP", "BBBench", "BBHost", "BBVirtualDongle", "BBSimulation", "BBCapture",
                "BBBluetoothCrypto", "BBTraffic", "BBL2CAP", "BBHCI", "BBTransport", "BBDongles", "BBTransportUSB", "BBTiming",
                "BBMisbehaviour", "BBPackets", yams,
            ], settings: asWritten),
        room(
            "BBProducts",
            ["BBCases", "BBHost", "BBBluetoothCrypto", "BBHCI", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets", yams],
            settings: asWritten),
        room(
            "BBUpperTester", ["BBBTP", "BBHost", "BBBluetoothCrypto", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets"],
            settings: asWritten),
        room("BBExploration", ["BBSimulation", "BBTraffic", "BBTransport", "BBTiming", "BBPackets"], settings: asWritten),
        room(
            "CoreBluetooth",
            [
                "BBRecording", "BBBench", "BBHost", "BBSimulation", "BBDongles", "BBTransportUSB", "BBTransport", "BBTiming",
                "BBPackets", "BBCProgramTime", .target(name: "BBCoreBluetoothParts", condition: .when(platforms: [.linux])), yams,
            ], settings: asWritten, embedding: ["Personas/Files"]),
        // In a folder of another name, which differs from Sources/bluebench in more than case.
        .target(
            name: "Bluebench",
            dependencies: [
                "BBRecording", "BBVirtualDongle", "BBBench", "BBHost", "BBSimulation", "BBCapture", "BBTransport", "BBTiming", "BBPackets",
            ],
            path: "Sources/HostLibrary",
            swiftSettings: house + opened + asWritten + [.enableUpcomingFeature("InternalImportsByDefault")]),
        .target(name: "BBCProgramTime", path: "Sources/CProgramTime"),
        room(
            "BBRecording", ["BBDiagnosis", "BBSimulation", "BBCapture", "BBTransport", "BBTiming", "BBPackets"], settings: asWritten),
        room(
            "BBDiagnosis", ["BBCases", "BBBluetoothCrypto", "BBCapture", "BBTraffic", "BBL2CAP", "BBHCI", "BBPackets", yams],
            settings: asWritten,
            embedding: ["Rules/Rules.yaml", "Codes/Codes.yaml"]),
        room("BBCases", ["BBTiming", "BBMisbehaviour", "BBPackets", yams], settings: quick),
        room(
            "BBThroughput",
            ["BBHost", "BBSimulation", "BBCapture", "BBTraffic", "BBHCI", "BBTransport", "BBTiming", "BBPackets", histogram],
            settings: asWritten),
        room(
            "BBVirtualDongle",
            ["BBSimulation", "BBCapture", "BBTraffic", "BBHCI", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets", deque, yams],
            settings: asWritten, embedding: ["Chips/Chips.yaml"]),
        room("BBBench", ["BBHost", "BBDongles", "BBTransportUSB", "BBHCI", "BBTransport", "BBTiming", "BBPackets"], settings: asWritten),
        room(
            "BBHost",
            ["BBBluetoothCrypto", "BBTraffic", "BBL2CAP", "BBHCI", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets", deque],
            settings: quick + asWritten),
        room(
            "BBSimulation",
            ["BBBluetoothCrypto", "BBCapture", "BBTraffic", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets", deque],
            settings: quick),
        room(
            "BBCapture",
            ["BBCZlib", "BBBluetoothCrypto", "BBTraffic", "BBL2CAP", "BBHCI", "BBTransport", "BBTiming", "BBPackets"], settings: quick),
        room(
            "BBDongles", ["BBTransportUSB", "BBTraffic", "BBHCI", "BBTransport", "BBTiming", "BBPackets", yams], settings: asWritten,
            embedding: ["KnownDongles.yaml"]),
        room("BBTransportUSB", ["BBCLibUSB", "BBTraffic", "BBHCI", "BBTransport", "BBTiming", "BBPackets"], settings: asWritten),
        room("BBTraffic", ["BBL2CAP", "BBHCI", "BBTransport", "BBTiming", "BBPackets", deque], settings: quick),
        room("BBBTP", ["BBPackets"], settings: asWritten),
        room("BBL2CAP", ["BBPackets"], settings: quick),
        room("BBHTTP", ["BBTransport", "BBTiming", "BBPackets"], settings: asWritten),
        room("BBHCI", ["BBTransport", "BBTiming", "BBPackets", deque], settings: quick),
        room("BBTransport", ["BBCSystemCalls", "BBTiming", "BBPackets", deque], settings: quick),
        room("BBBluetoothCrypto", ["BBCLibCrypto", "BBTiming", "BBPackets"]),
        room("BBTiming", ["BBCSystemCalls", "BBPackets", deque], settings: quick),
        room("BBMisbehaviour", ["BBPackets"], settings: quick + asWritten),
        room("BBPackets", settings: [.enableExperimentalFeature("Lifetimes")], plugins: ["GeneratePDUs"]),
        library("BBCoreBluetoothParts"),
        library("BBCSystemCalls"),
        library("BBCLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        library("BBCSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        library("BBCZlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        library("BBCLibUSB", pkgConfig: "libusb-1.0", providers: [.apt(["libusb-1.0-0-dev"]), .brew(["libusb"])]),
        .plugin(name: "GeneratePDUs", capability: .buildTool(), dependencies: ["PDUGenerator"]),
        .executableTarget(name: "PDUGenerator", swiftSettings: plain + opened + asWritten),
        .executableTarget(
            name: "PDUTool", dependencies: ["CoreBluetooth", "BBBluetoothCrypto", "BBHost", "BBSimulation", "BBPackets"],
            path: "Tests/Support/PDUTool", swiftSettings: house + asWritten),
        .target(
            name: "BBBenchTesting", dependencies: ["BBSimulation", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets"],
            path: "Tests/BenchTesting",
            swiftSettings: house + asWritten),
        tests("BBBluetoothCrypto", ["BBBenchTesting", "BBPackets"]),
        tests("BBBTP", ["BBPackets"]),
        tests(
            "BBBench",
            ["BBVirtualDongle", "BBSimulation", "BBHost", "BBDongles", "BBTransportUSB", "BBTransport", "BBTiming", "BBPackets"]),
        tests("BBL2CAP", ["BBPackets"]),
        tests("BBTraffic", ["BBL2CAP", "BBHCI", "BBTransport", "BBTiming", "BBPackets"]),
        tests("BBMisbehaviour", ["BBPackets"]),
        tests(
            "BBHost",
            [
                "BBBenchTesting", "BBBluetoothCrypto", "BBTraffic", "BBL2CAP", "BBHCI", "BBSimulation", "BBTransport", "BBTiming",
                "BBMisbehaviour", "BBPackets",
            ]),
        tests("BBHTTP", ["BBTransport", "BBTiming", "BBPackets"]),
        tests("BBHCI", ["BBTiming", "BBPackets"]),
        tests("BBVirtualDongle", ["BBBenchTesting", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets"]),
        tests("BBPackets", ["PDUGenerator", yams]),
        tests("BBTiming", ["BBTransport", "BBPackets"]),
        tests("BBTransport", ["BBBenchTesting", "BBCapture", "BBTiming", "BBPackets"]),
        tests(
            "BBDongles", ["BBBenchTesting", "BBVirtualDongle", "BBTransportUSB", "BBSimulation", "BBTransport", "BBTiming", "BBPackets"]),
        tests(
            "BBTransportUSB",
            ["BBBenchTesting", "BBMisbehaviour", "BBDongles", "BBVirtualDongle", "BBSimulation", "BBTransport", "BBTiming", "BBPackets"]),
        tests("Bluebench"),
        tests("CoreBluetooth", ["BBHost", "BBPackets"]),
        // The app and the tests of Examples/core-bluetooth.
        .target(name: "Monitor", dependencies: ["CoreBluetooth"], path: "Examples/core-bluetooth/Sources/Monitor", swiftSettings: plain),
        .executableTarget(
            name: "watch-heart-rate", dependencies: ["Monitor", "CoreBluetooth"],
            path: "Examples/core-bluetooth/Sources/watch-heart-rate", swiftSettings: plain),
        .target(name: "Sensor", dependencies: ["CoreBluetooth"], path: "Examples/core-bluetooth/Sources/Sensor", swiftSettings: plain),
        .executableTarget(
            name: "serve-heart-rate", dependencies: ["Sensor", "CoreBluetooth"],
            path: "Examples/core-bluetooth/Sources/serve-heart-rate", swiftSettings: plain),
        .testTarget(
            name: "MonitorTests", dependencies: ["Monitor", "Sensor", "CoreBluetooth", "CoreBluetoothAccessories"],
            path: "Examples/core-bluetooth/Tests/MonitorTests", swiftSettings: plain),
        // The programs and the tests of Examples/host-library.
        .target(name: "Lamp", dependencies: ["Bluebench"], path: "Examples/host-library/Sources/Lamp", swiftSettings: plain),
        .executableTarget(
            name: "serve-lamp", dependencies: ["Lamp", "Bluebench"], path: "Examples/host-library/Sources/serve-lamp", swiftSettings: plain),
        .executableTarget(
            name: "switch-lamp", dependencies: ["Lamp", "Bluebench"], path: "Examples/host-library/Sources/switch-lamp",
            swiftSettings: plain),
        .testTarget(
            name: "LampTests", dependencies: ["Lamp", "Bluebench"], path: "Examples/host-library/Tests/LampTests", swiftSettings: plain),
        tests("BBExploration", ["BBConformance", "BBCases", "BBSimulation", "BBTiming", "BBPackets"]),
        tests(
            "BBSimulation",
            ["BBBenchTesting", "BBBluetoothCrypto", "BBCapture", "BBTraffic", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets"]),
        tests("BBCapture", ["BBTraffic", "BBTransport", "BBTiming", "BBPackets"]),
        tests("BBCases", ["BBTiming", "BBMisbehaviour", "BBPackets"]),
        tests(
            "BBConformance",
            [
                "BBBenchTesting", "BBDiagnosis", "BBProducts", "BBCases", "BBUpperTester", "BBBTP", "BBVirtualDongle", "BBCapture",
                "BBTraffic",
                "BBHCI", "BBHost", "BBTransport", "BBTiming", "BBMisbehaviour", "BBPackets",
            ]),
        tests(
            "BBProducts",
            [
                "BBBenchTesting", "BBCases", "BBBluetoothCrypto", "BBHost", "BBSimulation", "BBTransport", "BBTiming", "BBMisbehaviour",
                "BBPackets",
            ]),
        tests("BBDiagnosis", ["BBBluetoothCrypto", "BBCases", "BBCapture", "BBTraffic", "BBL2CAP", "BBPackets"]),
        tests("BBReport", ["BBConformance", "BBCases", "BBCapture", "BBTraffic", "BBPackets"]),
        tests(
            "BBSessions",
            [
                "BBBenchTesting", "BBDiagnosis", "BBConformance", "BBProducts", "BBCases", "BBHost", "BBSimulation", "BBCapture",
                "BBTraffic",
                "BBHTTP", "BBHCI", "BBTransport", "BBTiming", "BBPackets",
            ]),
        tests("BBHistory", ["BBThroughput", "BBTraffic", "BBTiming"]),
        tests("BBThroughput", ["BBBenchTesting", "BBHost", "BBSimulation", "BBTraffic", "BBTransport", "BBTiming", "BBPackets"]),
    ]
)

// `make test-room ROOM=Host` builds only one room's tests and their dependencies.
if let room = Context.environment["BLUEBENCH_ROOM"] {
    package.targets.removeAll { $0.type == .test && folder(of: $0.name) != "\(room)Tests" }
}

if !isRoot {
    package.targets.removeAll { ["Tests", "Examples"].contains($0.path?.split(separator: "/").first) }
}

if fuzzing != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: ["BBProgram", "BBL2CAP", "BBBTP", yams] + programRooms,
            path: "Tests/Fuzz", swiftSettings: house + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(sanitizers)]))
}
