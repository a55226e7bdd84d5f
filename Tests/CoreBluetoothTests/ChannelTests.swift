import BBHost
import BBPackets
import Foundation
import Testing

@testable import CoreBluetooth

/// L2CAP channels as streams.
@Suite struct ChannelTests {
    private final class Reader: NSObject, StreamDelegate {
        var octets: [UInt8] = []
        var events: [Stream.Event] = []

        func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
            events.append(eventCode)
            guard eventCode == .hasBytesAvailable, let input = aStream as? InputStream else { return }
            var buffer = [UInt8](repeating: 0, count: 700)
            while input.hasBytesAvailable {
                let count = input.read(&buffer, maxLength: buffer.count)
                guard count > 0 else { return }
                octets += buffer.prefix(count)
            }
        }
    }

    private final class Writer: NSObject, StreamDelegate {
        var rest: [UInt8]
        init(_ octets: [UInt8]) { rest = octets }

        func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
            guard eventCode == .hasSpaceAvailable, let output = aStream as? OutputStream else { return }
            while !rest.isEmpty, output.hasSpaceAvailable {
                let count = output.write(rest, maxLength: min(rest.count, 3_000))
                guard count > 0 else { return }
                rest.removeFirst(count)
            }
        }
    }

    private func opened(_ pair: Pair, isEncrypted: Bool) throws {
        pair.accessory.manager.publishL2CAPChannel(withEncryption: isEncrypted)
        #expect(pair.run { pair.accessory.psm != nil })
        #expect(pair.connect())
        pair.central.peripheral?.openL2CAPChannel(try #require(pair.accessory.psm))
        #expect(pair.run { pair.central.channel != nil && pair.accessory.channel != nil })
    }

    @Test(arguments: [false, true]) func octetsGoThroughInOddPieces(isEncrypted: Bool) throws {
        let pair = Pair()
        try opened(pair, isEncrypted: isEncrypted)
        let (here, there) = (try #require(pair.central.channel), try #require(pair.accessory.channel))
        #expect(here.psm == there.psm && (0x80...0xFF).contains(here.psm))
        #expect(there.peer is CBCentral && here.peer is CBPeripheral)
        let octets = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let (reader, writer) = (Reader(), Writer(octets))
        there.inputStream.delegate = reader
        there.inputStream.schedule(in: .current, forMode: .default)
        here.outputStream.delegate = writer
        here.outputStream.schedule(in: .current, forMode: .default)
        there.inputStream.open()
        here.outputStream.open()
        #expect(pair.run { reader.octets.count == octets.count })
        #expect(reader.octets == octets)
    }

    /// Octets wait with the writer as long as the reader takes none, and all arrive afterwards.
    @Test func aReaderThatStopsHoldsUpTheWriter() throws {
        let pair = Pair()
        try opened(pair, isEncrypted: false)
        let (here, there) = (try #require(pair.central.channel), try #require(pair.accessory.channel))
        let octets = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let (reader, writer) = (Reader(), Writer(octets))
        here.outputStream.delegate = writer
        here.outputStream.schedule(in: .current, forMode: .default)
        here.outputStream.open()
        #expect(!pair.run { writer.rest.isEmpty })
        #expect(writer.rest.count > 100_000 && writer.rest.count < 200_000)
        there.inputStream.delegate = reader
        there.inputStream.schedule(in: .current, forMode: .default)
        there.inputStream.open()
        #expect(pair.run { reader.octets.count == octets.count })
        #expect(reader.octets == octets)
    }

    /// Services that refuse a channel on a plain link, and the one that only wants the link encrypted.
    static let services: [(name: String, admission: ChannelAdmission?, security: LinkSecurity, isPaired: Bool)] = [
        ("unknown", nil, .none, false), ("no resources", .accept(first: 0), .none, false),
        ("not authorized", .notAuthorized, .none, false), ("encrypted", .accept(first: 1), .encrypted, true),
    ]

    /// Only a refusal for lack of security starts a pairing. Core Vol 3, Part A, 4.23.
    @Test(arguments: services.indices) func onlyALackOfSecurityPairs(index: Int) throws {
        let (row, pair) = (Self.services[index], Pair())
        if let admission = row.admission {
            var settings = CreditBasedChannelSettings.phone
            settings.minimumSecurity = row.security
            pair.accessoryPhone.host.listen(0x99, settings, over: .le, admits: { _, _ in admission }, openedBy: { _, _ in })
        }
        #expect(pair.connect())
        pair.central.peripheral?.openL2CAPChannel(0x99)
        #expect(pair.run { pair.central.log.contains { $0.hasPrefix("opened") } })
        #expect(pair.central.log.last == (row.isPaired ? "opened" : "opened failed"), "\(row.name)")
        #expect(pair.phone.host.keys.all.isEmpty == !row.isPaired, "\(row.name)")
        #expect(pair.phone.host.connections.first?.security == (row.isPaired ? .encrypted : LinkSecurity.none), "\(row.name)")
        guard !row.isPaired else { return }
        let error = try #require(pair.central.errors.first)
        #expect(CBError.unknown ~= error && error.localizedDescription.contains("refused"), "\(row.name)")
    }

    @Test func closingAndUnpublishingEndTheOtherSide() throws {
        let pair = Pair()
        try opened(pair, isEncrypted: false)
        let reader = Reader()
        pair.accessory.channel?.inputStream.delegate = reader
        pair.accessory.channel?.inputStream.schedule(in: .current, forMode: .default)
        pair.accessory.channel?.inputStream.open()
        pair.central.channel = nil
        #expect(pair.run { reader.events.contains(.endEncountered) })
        pair.central.peripheral?.openL2CAPChannel(try #require(pair.accessory.psm))
        #expect(pair.run { pair.central.channel != nil })
        let mine = Reader()
        pair.central.channel?.inputStream.delegate = mine
        pair.central.channel?.inputStream.schedule(in: .current, forMode: .default)
        pair.central.channel?.inputStream.open()
        pair.accessory.manager.unpublishL2CAPChannel(try #require(pair.accessory.psm))
        #expect(pair.run { mine.events.contains(.endEncountered) })
        pair.central.log.removeAll()
        pair.central.peripheral?.openL2CAPChannel(try #require(pair.accessory.psm))
        #expect(pair.run { pair.central.log.contains("opened failed") })
    }
}
