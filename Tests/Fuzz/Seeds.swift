import BBPackets
import BBTiming
import Foundation

/// Initial inputs: from the declarations, from the suites, and from inputs known to have broken other stacks.
enum Seeds {
    /// Sequences of random legal PDUs.
    static func declared(_ layer: @escaping FuzzTarget.LayerOfAction, count: Int = 24) -> [[UInt8]] {
        var random = RandomSource(seed: 1)
        return (0..<count).map { _ in
            let frames = (0..<8).map { _ in
                let action = Frames.Action(rawValue: UInt8(truncatingIfNeeded: random.next()))
                let packet = layer(action).flatMap { Mutation.random($0, using: &random) }
                return Frames.Frame(action: action, packet: packet ?? random.octets(6))
            }
            return Frames(settings: UInt8(truncatingIfNeeded: random.next()), frames).octets()
        }
    }

    /// One input for each text of hexadecimal octets; spaces are ignored, and `|` separates frames.
    static func written(_ texts: [String], settings: UInt8 = 0, _ action: Frames.Action) -> [[UInt8]] {
        texts.map { text in
            let frames = text.split(separator: "|").map { Frames.Frame(action: action, packet: Hex.parse(String($0)) ?? []) }
            return Frames(settings: settings, frames).octets()
        }
    }

    static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Files of the package below a folder with a name ending, not longer than `limit`.
    static func files(below folder: String, ending: String, limit: Int = 60_000) -> [[UInt8]] {
        let place = package.appendingPathComponent(folder)
        let names = FileManager.default.enumerator(atPath: place.path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(ending) }.sorted().compactMap { name in
            (try? Data(contentsOf: place.appendingPathComponent(name))).map { [UInt8]($0) }
        }.filter { $0.count <= limit }
    }
}
