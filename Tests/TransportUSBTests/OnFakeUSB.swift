#if os(Linux)
    import Foundation
    import Testing

    /// The program under test, from the same build.
    let programUnderTest = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("bluebench").path
    let preload = "libumockdev-preload.so.0"

    extension Trait where Self == ConditionTrait {
        /// Runs `bluebench` in a separate process whose libusb uses a fake usbfs. If a requirement is missing, the tests are skipped; in CI
        /// they fail.
        static var onFakeUSB: Self {
            let missing = MissingForFakeUSB.all
            return .enabled(Comment(rawValue: missing.map(\.description).joined(separator: "; "))) {
                guard let first = missing.first else { return true }
                guard ProcessInfo.processInfo.environment["CI"]?.isEmpty ?? true else { throw first }
                return false
            }
        }
    }

    /// Requirements of programs on the fake usbfs that this machine does not fulfil.
    struct MissingForFakeUSB: Error, CustomStringConvertible {
        var description: String

        static var all: [Self] {
            let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
            let hasPreload = folders.contains { FileManager.default.fileExists(atPath: "\($0)/\(preload)") }
            let hasProgram = FileManager.default.isExecutableFile(atPath: programUnderTest)
            return (hasPreload ? [] : [Self(description: "umockdev is not installed: \(preload) is in none of \(folders)")])
                + (hasProgram ? [] : [Self(description: "bluebench was not built beside the tests: \(programUnderTest)")])
        }
    }
#endif
