#if os(Linux)
    import Foundation
    import BBPackets
    import Testing
    import BBTiming

    @testable import BBTransport
    @testable import BBVirtualDongle

    /// A program at the fake usbfs, with its memory by messages.
    private final class Program {
        private let loop = BBTiming.RunLoop(mode: .virtual, watchesDescriptors: true)
        private let node: UsbfsNode
        private let connection: UsbfsConnection
        private let stream: ByteStream
        private let other: Int32
        private let folder: String

        init() throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("usbfs-\(UInt64.random(in: 0 ... .max))").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try #require(mkfifo(folder + "/node", 0o600) == 0)
            let dongle = try USBDongle(
                descriptors: DongleDescriptors(serialNumber: "1"), pipe: InProcessTransport.pair(on: loop).host, loop: loop)
            node = try UsbfsNode(dongle, node: folder + "/node", socket: folder + "/socket", on: loop)
            node.accessesMemory = false
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, streamSocket, 0, &ends) == 0)
            other = ends[1]
            setNonBlocking(other)
            stream = ByteStream(name: "program", descriptor: ends[0], on: loop)
            connection = node.accept(stream)
        }

        deinit {
            close(other)
            try? FileManager.default.removeItem(atPath: folder)
        }

        /// Makes a system call, whose memory follows, and returns the results of all calls that have ended.
        func call(_ request: UsbfsRequest, _ argument: UInt64, memory: [UInt8] = []) throws -> [Int64] {
            let octets = .little(1, 8) + .little(UInt64(request.rawValue), 8) + .little(argument, 8) + memory
            octets.withUnsafeBytes { connection.received($0) }
            try loop.run { [loop] in try await loop.sleep(for: .milliseconds(1)) }
            var output = [UInt8](repeating: 0, count: 1 << 16)
            output.removeLast(output.count - max(0, read(other, &output, output.count)))
            var (place, results) = (0, [Int64]())
            while place + 24 <= output.count {
                let (kind, first, length) = (output.little(place, 8), output.little(place + 8, 8), output.little(place + 16, 8))
                place += 24 + (kind == 6 ? Int(clamping: length) : 0)
                if kind == 3 { results.append(Int64(bitPattern: first)) }
            }
            return results
        }

        func end() {
            connection.ended(.lost("program"))
            node.retire()
            stream.close()
            loop.end()
        }
    }

    @Suite struct UsbfsConnectionTests {
        /// Addresses of a request and of its buffer.
        @Test(
            arguments: [
                (0x1000, 0x2000), (.max, 0x2000), (.max - 3, 0x2000), (.max - 55, 0x2000), (0x1000, .max), (0x1000, .max - 7), (0, 0),
            ] as [(UInt64, UInt64)])
        func addressesOfAProgramMayWrapAround(_ pointer: UInt64, _ buffer: UInt64) throws {
            let program = try Program()
            defer { program.end() }
            let setup: [UInt8] = [0x80, 6, 0, 1, 0, 0, 18, 0] + [UInt8](repeating: 0, count: 18)
            let urb: [UInt8] =
                [UsbfsURB.Kind.control.rawValue] + [UInt8](repeating: 0, count: 15) + .little(buffer, 8) + .little(UInt64(setup.count), 4)
                + [UInt8](repeating: 0, count: 28)
            #expect(try program.call(.submitURB, pointer, memory: urb + setup) == [0])
            #expect(try program.call(.reapURBNoDelay, 0x3000) == [0])
        }

        /// Lengths of isochronous packets, whose places in the buffer are added up.
        @Test(arguments: [0, 1, 9, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt64])
        func packetsOfAnyLengthAreTakenOrRefused(_ length: UInt64) throws {
            let program = try Program()
            defer { program.end() }
            #expect(try program.call(.setInterface, 0x1000, memory: [1, 0, 0, 0, 2, 0, 0, 0]).count == 1)
            for endpoint in [0x83, 0x03] as [UInt8] {
                let urb: [UInt8] =
                    [UsbfsURB.Kind.isochronous.rawValue, endpoint] + [UInt8](repeating: 0, count: 14) + .little(.max, 8) + .little(9, 4)
                    + [UInt8](repeating: 0, count: 8) + .little(2, 4) + [UInt8](repeating: 0, count: 16)
                let packets = [[UInt8]](repeating: .little(length, 4) + [UInt8](repeating: 0, count: 8), count: 2).flatMap(\.self)
                let data = endpoint & 0x80 == 0 ? [UInt8](repeating: 7, count: 9) : []
                #expect(try program.call(.submitURB, 0x1000, memory: urb + packets + data).count == 1)
            }
            #expect(try program.call(.reapURBNoDelay, 0x3000).count == 1)
        }
    }
#endif
