import Foundation
import Synchronization
import Testing

@testable import CoreBluetooth

/// The streams of a channel, used as Apple's Stream Programming Guide uses streams: one read or one write for each event.
@Suite struct StreamTests {
    /// Reads once for each event, at most `most` octets.
    private final class Reader: NSObject, StreamDelegate {
        var most: Int
        var octets: [UInt8] = []
        var events: [Stream.Event] = []
        init(most: Int) { self.most = most }

        func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
            events.append(eventCode)
            guard eventCode == .hasBytesAvailable, most > 0, let input = aStream as? InputStream else { return }
            var buffer = [UInt8](repeating: 0, count: most)
            let count = input.read(&buffer, maxLength: most)
            octets += buffer.prefix(max(0, count))
        }
    }

    /// Writes once for each event, at most `most` octets.
    private final class Writer: NSObject, StreamDelegate {
        let most: Int
        var rest: [UInt8]
        var events: [Stream.Event] = []
        init(_ octets: [UInt8], most: Int) { (rest, self.most) = (octets, most) }

        func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
            events.append(eventCode)
            guard eventCode == .hasSpaceAvailable, !rest.isEmpty, let output = aStream as? OutputStream else { return }
            rest.removeFirst(max(0, output.write(rest, maxLength: min(most, rest.count))))
        }
    }

    /// Both ends of an open channel.
    private func channels() throws -> (Pair, central: CBL2CAPChannel, accessory: CBL2CAPChannel) {
        let pair = Pair()
        pair.accessory.manager.publishL2CAPChannel(withEncryption: false)
        #expect(pair.run { pair.accessory.psm != nil })
        #expect(pair.connect())
        pair.central.peripheral?.openL2CAPChannel(try #require(pair.accessory.psm))
        #expect(pair.run { pair.central.channel != nil && pair.accessory.channel != nil })
        return (pair, try #require(pair.central.channel), try #require(pair.accessory.channel))
    }

    private static func octets(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    /// 16,384 octets fill the queue exactly.
    @Test(arguments: [100, 1_024, 16_384, 20_000, 50_000], [64, 700, 20_000])
    func oneWriteAndOneReadForEachEvent(writing: Int, reading: Int) throws {
        let (pair, here, there) = try channels()
        let octets = Self.octets(50_000)
        let (reader, writer) = (Reader(most: reading), Writer(octets, most: writing))
        there.inputStream.delegate = reader
        there.inputStream.schedule(in: .current, forMode: .default)
        here.outputStream.delegate = writer
        here.outputStream.schedule(in: .current, forMode: .default)
        there.inputStream.open()
        here.outputStream.open()
        #expect(pair.run { reader.octets.count == octets.count })
        #expect(reader.octets == octets)
        #expect(writer.events.first == .openCompleted && reader.events.first == .openCompleted)
    }

    /// An event that the program does not answer is not repeated until it reads or writes.
    @Test func anEventIsRepeatedOnlyAfterAnAnswer() throws {
        let (pair, here, there) = try channels()
        let (reader, writer) = (Reader(most: 0), Writer([], most: 1))
        there.inputStream.delegate = reader
        there.inputStream.schedule(in: .current, forMode: .default)
        here.outputStream.delegate = writer
        here.outputStream.schedule(in: .current, forMode: .default)
        there.inputStream.open()
        here.outputStream.open()
        for part in [300, 700] {
            pair.bench.run(for: 1)
            #expect(here.outputStream.write(Self.octets(part), maxLength: part) == part)
        }
        pair.bench.run(for: 5)
        // At the opening, and after each write.
        #expect(writer.events.count { $0 == .hasSpaceAvailable } == 3)
        #expect(reader.events == [.openCompleted, .hasBytesAvailable])
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(there.inputStream.read(&buffer, maxLength: 10) == 10)
        #expect(reader.events.count == 2)
        pair.bench.run(for: 1)
        #expect(reader.events == [.openCompleted, .hasBytesAvailable, .hasBytesAvailable])
    }

    /// A delegate that is set later learns what waits for it, and one without octets or room nothing.
    @Test func aLateDelegateIsCalled() throws {
        let (pair, here, there) = try channels()
        there.inputStream.open()
        here.outputStream.open()
        #expect(here.outputStream.write([1, 2, 3], maxLength: 3) == 3)
        pair.bench.run(for: 5)
        let (reader, writer) = (Reader(most: 2), Writer([], most: 1))
        there.inputStream.delegate = reader
        there.inputStream.schedule(in: .current, forMode: .default)
        here.outputStream.delegate = writer
        here.outputStream.schedule(in: .current, forMode: .default)
        pair.bench.run(for: 1)
        #expect(reader.events == [.openCompleted, .hasBytesAvailable, .hasBytesAvailable] && reader.octets == [1, 2, 3])
        #expect(writer.events == [.openCompleted, .hasSpaceAvailable])
    }

    /// The delegate is called in the run loop in which the stream is scheduled, and not after its removal; without one a phone calls nobody.
    @Test(arguments: ["none", "this thread", "main", "removed"]) func eventsComeInTheRunLoop(place: String) throws {
        final class Place: NSObject, StreamDelegate {
            static let key = DispatchSpecificKey<Bool>()
            let threads = Mutex<[String]>([])
            func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
                let name = DispatchQueue.getSpecific(key: Self.key) == true ? "main" : "another"
                threads.withLock { $0.append(name) }
            }
        }
        DispatchQueue.main.setSpecific(key: Place.key, value: true)
        let (pair, here, there) = try channels()
        let (lines, delegate, input) = (Lines(pair.accessoryPhone), Place(), try #require(there.inputStream))
        input.delegate = delegate
        if place != "none" { input.schedule(in: place == "main" ? .main : .current, forMode: .default) }
        if place == "removed" { input.remove(from: .current, forMode: .default) }
        input.open()
        here.outputStream.open()
        #expect(here.outputStream.write([1, 2, 3], maxLength: 3) == 3)
        pair.bench.run(for: 2)
        let threads = delegate.threads.withLock { $0 }
        #expect(threads.count == (place == "removed" ? 0 : 2))
        if place == "main" { #expect(Set(threads) == ["main"]) }
        if place == "this thread" { #expect(Set(threads) == ["another"]) }
        #expect(lines.all.count == (place == "none" ? 1 : 0))
        #expect(lines.all.allSatisfy { $0.hasPrefix("API MISUSE: a stream of a channel has a delegate and is in no run loop") })
    }

    /// The end follows the last octet, and only then `read` returns 0.
    @Test(arguments: [true, false]) func theEndComesAfterTheLastOctet(isLost: Bool) throws {
        let (pair, here, there) = try channels()
        let reader = Reader(most: 0)
        there.inputStream.delegate = reader
        there.inputStream.schedule(in: .current, forMode: .default)
        there.inputStream.open()
        here.outputStream.open()
        #expect(here.outputStream.write(Self.octets(100), maxLength: 100) == 100)
        pair.bench.run(for: 2)
        if isLost { pair.bench.setPacketErrorRate(1) } else { pair.central.channel = nil }
        here.outputStream.close()
        here.inputStream.close()
        pair.bench.run(for: 30)
        #expect(reader.events == [.openCompleted, .hasBytesAvailable])
        reader.most = 64
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(there.inputStream.read(&buffer, maxLength: 10) == 10)
        pair.bench.run(for: 1)
        #expect(reader.octets == [UInt8](Self.octets(100).dropFirst(10)))
        #expect(reader.events.suffix(3) == [.hasBytesAvailable, .hasBytesAvailable, .endEncountered])
        #expect(there.inputStream.read(&buffer, maxLength: 10) == 0 && there.inputStream.streamStatus == .atEnd)
        #expect(there.inputStream.streamError == nil)
    }

    /// On a phone these calls wait. On the thread of the bench no time would pass, so they fail with a line that says so.
    @Test func whatWouldWaitForEverFails() throws {
        let (pair, here, there) = try channels()
        let lines = [Lines(pair.phone), Lines(pair.accessoryPhone)]
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(there.inputStream.read(&buffer, maxLength: 10) == -1 && here.outputStream.write(buffer, maxLength: 10) == -1)
        there.inputStream.open()
        here.outputStream.open()
        #expect(there.inputStream.read(&buffer, maxLength: 10) == -1)
        #expect((there.inputStream.streamError as? POSIXError)?.code == .EAGAIN)
        #expect(here.outputStream.write(Self.octets(20_000), maxLength: 20_000) == 16_384)
        #expect(!here.outputStream.hasSpaceAvailable)
        #expect(here.outputStream.write(buffer, maxLength: 10) == -1)
        #expect((here.outputStream.streamError as? POSIXError)?.code == .EAGAIN)
        #expect(lines.map { $0.all.count { $0.hasPrefix("API MISUSE: ") } } == [1, 1])
        pair.bench.setPacketErrorRate(1)
        #expect(pair.run { pair.central.peripheral?.state == .disconnected })
        pair.bench.run(for: 1)
        #expect(here.outputStream.write(buffer, maxLength: 10) == -1)
        #expect((here.outputStream.streamError as? POSIXError)?.code == .EPIPE)
    }

    /// A thread of the program waits in `read` for octets, and in `write` for room.
    @Test func aThreadOfTheProgramWaits() throws {
        let (pair, here, there) = try channels()
        there.inputStream.open()
        here.outputStream.open()
        let octets = Self.octets(50_000)
        let streams = Carried((there.inputStream, here.outputStream))
        let received = Mutex<[UInt8]>([])
        let isDone = Mutex(0)
        DispatchQueue.global().async {
            var rest = octets[...]
            while !rest.isEmpty {
                let count = streams.value.1?.write([UInt8](rest), maxLength: rest.count) ?? -1
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
            isDone.withLock { $0 += 1 }
        }
        DispatchQueue.global().async {
            var buffer = [UInt8](repeating: 0, count: 3_000)
            while received.withLock({ $0.count }) < octets.count {
                let count = streams.value.0?.read(&buffer, maxLength: buffer.count) ?? -1
                guard count > 0 else { break }
                received.withLock { $0 += buffer.prefix(count) }
            }
            isDone.withLock { $0 += 1 }
        }
        // The threads run in wall time.
        let end = Date() + 300
        while isDone.withLock({ $0 }) < 2, Date() < end { pair.bench.run(for: 0.1) }
        #expect(received.withLock { $0 } == octets)
    }
}
