import Foundation

/// Fuzzing seeds for other stacks: raw ACL packets that are not part of the package.
let foreignSeeds: [[UInt8]] = {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let told = ProcessInfo.processInfo.environment["BLUEBENCH_CAPTURES"].map { URL(fileURLWithPath: $0) }
    let folder = (told ?? package.deletingLastPathComponent().appendingPathComponent("shared/captures")).appendingPathComponent("known-bad")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().compactMap { (try? Data(contentsOf: folder.appendingPathComponent($0))).map { [UInt8]($0) } }
}()
