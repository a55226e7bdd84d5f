// swift-tools-version: 6.2
import PackageDescription

// A package as an app's author would make it, with targets of fifteen usual names, on every product of Bluebench.
let usual = [
    "History", "Transport", "Host", "HTTP", "Timing", "Cases", "Bench", "Report", "Traffic", "Capture", "Products", "Sessions", "Packets",
    "Throughput", "L2CAP",
]
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
let products = ["Bluebench", "BBPackets", "CoreBluetooth", "CoreBluetoothAccessories"].map {
    Target.Dependency.product(name: $0, package: "bluebench")
}

let package = Package(
    name: "stranger",
    platforms: [.macOS(.v26)],
    dependencies: [.package(url: "REPOSITORY", from: "0.1.0")],
    targets: usual.map { .target(name: $0, swiftSettings: strict) } + [
        .target(name: "App", dependencies: usual.map { .byName(name: $0) } + products, swiftSettings: strict),
        .testTarget(name: "AppTests", dependencies: ["App"] + products, swiftSettings: strict),
        // As a package of an older time: Swift 5, XCTest, no upcoming feature.
        .testTarget(name: "LegacyTests", dependencies: products, swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]),
    ]
)
