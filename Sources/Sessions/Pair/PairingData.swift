import BBPackets
import BBReport
import Foundation

import struct BBHost.ClassicOutOfBandData
import struct BBHost.OutOfBandData

/// Out-of-band data in a file, instead of NFC or a printed code. Core Vol 3, Part H, 2.3.5.4 and 2.3.5.6.4; Vol 2, Part H, 7.2.2.
///
/// JSON with `tk` for LE legacy pairing, `confirm` and `random` for LE Secure Connections, or `c192`, `r192`, `c256` and `r256` for BR/EDR:
/// 16 octets each, hexadecimal, most significant first.
package struct PairingData: Codable {
    var tk: String?
    package var confirm: String?
    package var random: String?
    var c192: String?
    var r192: String?
    var c256: String?
    var r256: String?

    package init(_ data: OutOfBandData) {
        tk = data.temporaryKey.map { Hex.octets($0.reversed()) }
        confirm = data.confirm.map { Hex.octets($0.reversed()) }
        random = data.random.map { Hex.octets($0.reversed()) }
    }

    package init(_ data: ClassicOutOfBandData) {
        c192 = Hex.octets(data.commitment192.reversed())
        r192 = Hex.octets(data.random192.reversed())
        c256 = Hex.octets(data.commitment256.reversed())
        r256 = Hex.octets(data.random256.reversed())
    }

    /// - Throws: a usage error with the mistake in the file.
    package init(file: String, for transport: SessionTransport) throws {
        guard let data = FileManager.default.contents(atPath: file) else { throw CommandFailure(.usage, "cannot read \(file)") }
        do { self = try JSONDecoder().decode(Self.self, from: data) } catch {
            throw CommandFailure(
                .usage,
                "\(file) has no out-of-band data: it must be JSON with tk, with confirm and random, or with c192, r192, c256 and r256")
        }
        switch transport {
        case .le where tk == nil && (confirm == nil || random == nil):
            throw CommandFailure(.usage, "\(file) lacks what LE needs: tk, or confirm and random")
        case .bredr where [c192, r192, c256, r256].contains(nil):
            throw CommandFailure(.usage, "\(file) lacks what BR/EDR needs: c192, r192, c256 and r256")
        case .le, .bredr: break
        }
        for text in [tk, confirm, random, c192, r192, c256, r256].compactMap({ $0 }) where Hex.parse(text)?.count != 16 {
            throw CommandFailure(.usage, "\(file): '\(text.prefix(40))' is not 16 octets in hexadecimal")
        }
    }

    package var data: OutOfBandData {
        OutOfBandData(temporaryKey: Self.octets(tk), confirm: Self.octets(confirm), random: Self.octets(random))
    }

    package var classicData: ClassicOutOfBandData? {
        guard let c192 = Self.octets(c192), let r192 = Self.octets(r192), let c256 = Self.octets(c256), let r256 = Self.octets(r256) else {
            return nil
        }
        return ClassicOutOfBandData(commitment192: c192, random192: r192, commitment256: c256, random256: r256)
    }

    package var text: String { get throws { try ResultsJSON.encode(self) } }

    private static func octets(_ text: String?) -> [UInt8]? { text.flatMap(Hex.parse)?.reversed() }
}
