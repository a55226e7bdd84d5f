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
// One optimised build serves `make run` and `make test`: testability is enabled for the tests and the fuzzer; debug builds enable it by
// default.
let testing = Context.environment["BLUEBENCH_TESTING"] != nil
let opened: [SwiftSetting] = testing || fuzzing == "released" || fuzzing == "covered" ? [.unsafeFlags(["-enable-testing"])] : []
// That build checks for overlapping accesses, which costs a quarter of the simulation's speed; `make dist` and `make bench` disable the
// check.
let quick: [SwiftSetting] = testing ? [] : [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]
// In it, only the rooms in which a simulation spends its time are optimised: Packets, Timing, BluetoothCrypto, Transport, HCI, L2CAP, Capture
// and Simulation. The others compile in a quarter to a third of the time without optimisation, and their module is written by the same pass.
// The program as it is distributed is optimised everywhere.
let asWritten: [SwiftSetting] = testing ? [.unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"])] : []

func room(
    _ name: String, _ below: [Target.Dependency] = [], settings: [SwiftSetting] = [], embedding files: [String] = [],
    plugins: [Target.PluginUsage] = []
) -> Target {
    .target(
        name: name, dependencies: below, resources: files.map { .embedInCode($0) }, swiftSettings: house + opened + settings,
        plugins: plugins)
}

func tests(_ room: String, _ others: [Target.Dependency] = []) -> Target {
    .testTarget(name: "\(room)Tests", dependencies: [.byName(name: room)] + others, swiftSettings: house + asWritten)
}

let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let mustache = Target.Dependency.product(name: "Mustache", package: "swift-mustache")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

// The fuzzer takes the program as a library, whose entry point gets another name.
let programRooms: [Target.Dependency] = [
    "Report", "History", "Diagnosis", "Conformance", "UpperTester", "Exploration", "Cases", "Throughput", "VirtualDongle", "Host",
    "Simulation", "Capture", "BluetoothCrypto", "HTTP", "HCI", "Dongles", "TransportUSB", "Transport", "Timing", "Misbehaviour",
    "Packets", arguments,
]
let renamed = ["-Xfrontend", "-entry-point-function-name", "-Xfrontend", "bluebench_main"]
let program: Target =
    fuzzing == nil
    ? .executableTarget(name: "bluebench", dependencies: programRooms, swiftSettings: house + quick + asWritten)
    : .target(name: "bluebench", dependencies: programRooms, swiftSettings: house + opened + quick + [.unsafeFlags(renamed)])

let package = Package(
    name: "bluebench",
    platforms: [.macOS(.v26)],
    products: (fuzzing == nil ? [.executable(name: "bluebench", targets: ["bluebench"])] : []) + [
        .library(name: "Packets", targets: ["Packets"]),
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
            "Diagnosis", ["Conformance", "Cases", "Throughput", "Capture", "HCI", "Packets", yams], settings: asWritten,
            embedding: ["Rules/Rules.yaml"]),
        room(
            "Report", ["Conformance", "Cases", "Throughput", "Dongles", "Transport", "Packets", mustache], settings: asWritten,
            embedding: ["Page/Files"]),
        room("History", ["CSQLite", "Throughput", "Packets", mustache], settings: asWritten, embedding: ["Pages/Files"]),
        room("CoreBluetoothAccessories", ["CoreBluetooth", "Conformance", "Host", "Packets"], settings: asWritten),
        room(
            "Conformance",
            [
                "Cases", "UpperTester", "BTP", "Host", "VirtualDongle", "Simulation", "Capture", "BluetoothCrypto", "L2CAP", "HCI",
                "Transport", "Dongles",
                "TransportUSB",
                "Timing", "Misbehaviour", "Packets", yams,
            ], settings: asWritten),
        room("UpperTester", ["BTP", "Host", "Transport", "Timing", "Misbehaviour", "Packets"], settings: asWritten),
        room("Exploration", ["Simulation", "Capture", "Transport", "Timing", "Packets"], settings: asWritten),
        room("CoreBluetooth", ["Host", "Simulation", "Dongles", "TransportUSB", "Transport", "Timing", "Packets"], settings: asWritten),
        room("Cases", ["Misbehaviour", "Packets", yams], settings: asWritten),
        room(
            "Throughput", ["Host", "Simulation", "Capture", "HCI", "Transport", "Timing", "Packets", histogram], settings: asWritten),
        room(
            "VirtualDongle", ["Simulation", "Capture", "Transport", "Timing", "Misbehaviour", "Packets", deque, yams],
            settings: asWritten, embedding: ["Chips/Chips.yaml"]),
        room(
            "Host", ["BluetoothCrypto", "L2CAP", "HCI", "Transport", "Timing", "Misbehaviour", "Packets", deque],
            settings: quick + asWritten),
        room(
            "Simulation", ["BluetoothCrypto", "Capture", "Transport", "Timing", "Misbehaviour", "Packets", deque], settings: quick),
        room("Capture", ["BluetoothCrypto", "L2CAP", "HCI", "Transport", "Timing", "Packets"], settings: quick),
        room(
            "Dongles", ["TransportUSB", "HCI", "Transport", "Timing", "Packets", yams], settings: asWritten,
            embedding: ["KnownDongles.yaml"]),
        room("TransportUSB", ["CLibUSB", "HCI", "Transport", "Timing", "Packets"], settings: asWritten),
        room("BTP", ["Packets"], settings: asWritten),
        room("L2CAP", ["Packets"], settings: quick),
        room("HTTP", ["Transport", "Timing", "Packets"], settings: asWritten),
        room("HCI", ["Transport", "Timing", "Packets", deque], settings: quick),
        room("Transport", ["CSystemCalls", "Timing", "Packets", deque], settings: quick),
        room("BluetoothCrypto", ["CLibCrypto", "Timing", "Packets"]),
        room("Timing", ["CSystemCalls", "Packets", deque], settings: quick),
        room("Misbehaviour", ["Packets"], settings: quick + asWritten),
        room("Packets", settings: [.enableExperimentalFeature("Lifetimes")], plugins: ["GeneratePDUs"]),
        .systemLibrary(name: "CSystemCalls"),
        .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(name: "CLibUSB", pkgConfig: "libusb-1.0", providers: [.apt(["libusb-1.0-0-dev"]), .brew(["libusb"])]),
        .plugin(name: "GeneratePDUs", capability: .buildTool(), dependencies: ["PDUGenerator"]),
        .executableTarget(name: "PDUGenerator", swiftSettings: plain + opened + asWritten),
        .executableTarget(
            name: "PDUTool", dependencies: ["BluetoothCrypto", "Host", "Simulation", "Packets"], path: "Tests/Support/PDUTool",
            swiftSettings: house + asWritten),
        .target(
            name: "BenchTesting", dependencies: ["Simulation", "Transport", "Timing", "Misbehaviour", "Packets"],
            path: "Tests/BenchTesting",
            swiftSettings: house + asWritten),
        tests("BluetoothCrypto", ["BenchTesting", "Packets"]),
        tests("BTP", ["Packets"]),
        tests("L2CAP", ["Packets"]),
        tests("Misbehaviour", ["Packets"]),
        tests(
            "Host", ["BenchTesting", "BluetoothCrypto", "L2CAP", "HCI", "Simulation", "Transport", "Timing", "Misbehaviour", "Packets"]),
        tests("HTTP", ["Transport", "Timing", "Packets"]),
        tests("HCI", ["Timing", "Packets"]),
        tests("VirtualDongle", ["BenchTesting", "Transport", "Timing", "Misbehaviour", "Packets"]),
        tests("Packets", ["PDUGenerator", yams]),
        tests("Timing", ["Transport", "Packets"]),
        tests("Transport", ["BenchTesting", "Capture", "Timing", "Packets"]),
        tests("Dongles", ["BenchTesting", "VirtualDongle", "TransportUSB", "Simulation", "Transport", "Timing", "Packets"]),
        tests(
            "TransportUSB",
            ["BenchTesting", "Misbehaviour", "Dongles", "VirtualDongle", "Simulation", "Transport", "Timing", "Packets"]),
        tests("CoreBluetooth", ["Host", "Packets"]),
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
        tests("Exploration", ["Conformance", "Cases", "Simulation", "Timing", "Packets"]),
        tests("Simulation", ["BenchTesting", "BluetoothCrypto", "Capture", "Transport", "Timing", "Misbehaviour", "Packets"]),
        tests("Capture", ["Transport", "Timing", "Packets"]),
        tests("Cases", ["Timing", "Misbehaviour", "Packets"]),
        tests(
            "Conformance",
            [
                "BenchTesting", "Cases", "UpperTester", "BTP", "VirtualDongle", "HCI", "Host", "Transport", "Timing", "Misbehaviour",
                "Packets",
            ]),
        tests("Diagnosis", ["BenchTesting", "Conformance", "Cases", "Capture", "Transport", "Timing", "Packets"]),
        tests("Report", ["Conformance", "Cases", "Capture", "Packets"]),
        tests("History", ["Throughput", "Timing"]),
        tests("Throughput", ["BenchTesting", "Host", "Simulation", "Transport", "Timing", "Packets"]),
    ]
)

// `make test-room ROOM=Host` builds only one room's tests and their dependencies.
if let room = Context.environment["BLUEBENCH_ROOM"] {
    package.targets.removeAll { $0.type == .test && $0.name != "\(room)Tests" }
}

if fuzzing != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: ["bluebench", "L2CAP", "BTP", yams] + programRooms,
            path: "Tests/Fuzz", swiftSettings: house + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(sanitizers)]))
}
