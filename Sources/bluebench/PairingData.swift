import Foundation
import Packets
import Report

import struct Host.OutOfBandData

/// What goes from one device to another by a file in place of NFC or a printed code. Core Vol 3, Part H, 2.3.5.4 and 2.3.5.6.4.
///
/// JSON with `tk` for LE legacy pairing, `confirm` and `random` for LE Secure Connections: 16 octets each, hexadecimal, most significant first.
struct PairingData: Codable {
    var tk: String?
    var confirm: String?
    var random: String?

    init(_ data: OutOfBandData) {
        tk = data.temporaryKey.map { Hex.octets($0.reversed()) }
        confirm = data.confirm.map { Hex.octets($0.reversed()) }
        random = data.random.map { Hex.octets($0.reversed()) }
    }

    /// - Throws: a usage error that says what is wrong with the file.
    init(file: String) throws {
        guard let data = FileManager.default.contents(atPath: file) else { throw CommandFailure(.usage, "cannot read \(file)") }
        do { self = try JSONDecoder().decode(Self.self, from: data) } catch {
            throw CommandFailure(.usage, "\(file): no data out of band: JSON with tk, or with confirm and random")
        }
        guard tk != nil || (confirm != nil && random != nil) else {
            throw CommandFailure(.usage, "\(file): tk is needed, or confirm and random")
        }
        for text in [tk, confirm, random].compactMap({ $0 }) where Hex.parse(text)?.count != 16 {
            throw CommandFailure(.usage, "\(file): '\(text.prefix(40))': 16 octets in hexadecimal are needed")
        }
    }

    var data: OutOfBandData {
        OutOfBandData(temporaryKey: Self.octets(tk), confirm: Self.octets(confirm), random: Self.octets(random))
    }

    var text: String { get throws { try ResultsJSON.encode(self) } }

    private static func octets(_ text: String?) -> [UInt8]? { text.flatMap(Hex.parse)?.reversed() }
}
