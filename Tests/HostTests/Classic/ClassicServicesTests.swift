import BBPackets
import BBTiming
import Testing

@testable import BBHost

/// Service discovery, serial ports and attributes between two hosts on two virtual controllers.
@Suite struct ClassicServicesTests {
    static let uuid: BluetoothUUID = 0xFFF0
    static let characteristic: BluetoothUUID = 0xFFF1

    static func run(_ body: @escaping (Host, Host, ClassicConnection, ClassicConnection) async throws -> Void) throws {
        try ClassicHosts.run(seed: 5, [PairingSettings(), PairingSettings()]) { hosts in
            try await hosts.far.setScan(isDiscoverable: false, isConnectable: true)
            let (near, far) = try await hosts.link()
            try await body(hosts.near, hosts.far, near, far)
        }
    }

    // MARK: SDP

    /// Queries and the names of the records found.
    @Test func recordsAreFound() throws {
        try Self.run { near, far, link, _ in
            #expect(try await link.services() == [])
            for number in 1...12 as ClosedRange<UInt8> { far.addServiceRecord(.serialPort(channel: number, name: "port \(number)")) }
            let sink = far.addServiceRecord(.audio(isSink: true))
            // More than fits into one response.
            #expect(try await link.services().count == 13)
            let rows: [([BluetoothUUID], [Int?])] = [
                ([.audioSink], [nil]), ([.audioSource], []), ([.rfcommProtocol, .serialPort], (1...12).map { $0 }), ([.avctpProtocol], []),
            ]
            for (pattern, channels) in rows {
                #expect(try await link.services(with: pattern).map { $0.rfcommChannel.map { Int($0) } } == channels, "\(pattern)")
            }
            let brief = try await link.services(with: [.audioSink], attributes: [SDPAttributeRange(.supportedFeatures)])
            #expect(brief.map(\.attributes.count) == [1] && brief.first?.supportedFeatures == 1)
            #expect(try await link.discover(.search([.audioSink])) == .handles([sink]))
            far.removeServiceRecord(sink)
            #expect(try await link.services(with: [.audioSink]) == [])
            await #expect(throws: HostError.peer(.serviceDiscovery(.refused(.invalidRecordHandle)))) {
                _ = try await link.discover(.attributes(sink, [.all]))
            }
            // In the opposite direction.
            near.addServiceRecord(.audio(isSink: false))
            let other = try #require(far.classicConnections.first)
            #expect(try await other.services().map(\.serviceClasses) == [[.audioSource]])
        }
    }

    @Test func aServerThatSaysNothingIsGivenUp() throws {
        try Self.run { _, far, link, _ in
            far.listen(psm: PSM.sdp) { _, _ in }
            await #expect(throws: HostError.peer(.serviceDiscovery(.timedOut))) { _ = try await link.services() }
            far.context.classicServices[PSM.sdp] = nil
            await #expect(throws: HostError.peer(.channel(.refused(.refusedPSMNotSupported)))) { _ = try await link.services() }
        }
    }

    // MARK: RFCOMM

    /// Ports in both directions on one session, with more data than credits and queues allow.
    @Test func portsCarryOctetsBothWays() throws {
        try Self.run { near, far, link, other in
            var arrived: [SerialPort] = []
            #expect(try far.listen { port, _ in arrived.append(port) } == 1)
            #expect(try far.listen { port, _ in arrived.append(port) } == 2)
            #expect(try near.listen(rfcomm: 1) { port, _ in arrived.append(port) } == 1)
            let ports = [
                try await link.openSerialPort(channel: 1), try await link.openSerialPort(channel: 2),
                try await other.openSerialPort(channel: 1),
            ]
            #expect(link.layers.multiplexers.count == 1 && other.layers.multiplexers.count == 1)
            try await near.loop.sleep(for: .seconds(1))
            #expect(arrived.map(\.channel) == [1, 2, 1])
            for (one, two) in zip(ports, arrived) {
                for (sender, receiver) in [(one, two), (two, one)] {
                    let octets = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                    try await sender.send(octets)
                    var received: [UInt8] = []
                    while received.count < octets.count { received += try await receiver.receive(within: .seconds(5)) }
                    #expect(received == octets)
                    await #expect(throws: HostError.environment(.timedOut(.serialData))) {
                        _ = try await receiver.receive(within: .seconds(1))
                    }
                }
            }
        }
    }

    /// There is one session between two devices, whichever opens it and however close in time. RFCOMM 1.2, 5.2.
    @Test func bothBeginASession() throws {
        try Self.run { near, far, link, other in
            var arrived = 0
            for host in [near, far] {
                for channel in 1...2 as ClosedRange<UInt8> { try host.listen(rfcomm: channel) { _, _ in arrived += 1 } }
            }
            try await link.secure(to: .unauthenticated)
            try await near.loop.sleep(for: .seconds(1))
            // Delay of the other device's opening in milliseconds.
            for delay in [-60, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20, 60] {
                let begin = { (link: ClassicConnection, channel: UInt8, isLate: Bool) in
                    near.loop.start {
                        if isLate { try await near.loop.sleep(for: .milliseconds(abs(delay))) }
                        return try await link.openSerialPort(channel: channel)
                    }
                }
                let opening = [begin(link, 1, delay < 0), begin(link, 2, delay < 0), begin(other, 1, delay > 0)]
                var ports: [SerialPort] = []
                for each in opening { ports.append(try await each.value()) }
                try await near.loop.sleep(for: .seconds(1))
                #expect(link.layers.multiplexers.count == 1 && other.layers.multiplexers.count == 1, "after \(delay) ms")
                #expect(arrived == 3, "after \(delay) ms")
                for port in ports { port.close() }
                try await near.loop.sleep(for: .seconds(1))
                #expect(link.layers.multiplexers.isEmpty && other.layers.multiplexers.isEmpty, "after \(delay) ms")
                arrived = 0
            }
        }
    }

    /// A receiver that does not read stops the sender.
    @Test func aPortIsHeldUp() throws {
        try Self.run { near, far, link, _ in
            var arrived: SerialPort?
            try far.listen(rfcomm: 9) { port, _ in arrived = port }
            let sender = try await link.openSerialPort(channel: 9)
            let octets = [UInt8](repeating: 5, count: 200_000)
            let sending = near.loop.start { try await sender.send(octets) }
            try await near.loop.sleep(for: .seconds(10))
            #expect(!sending.isOver)
            let receiver = try #require(arrived)
            var count = 0
            while count < octets.count { count += try await receiver.receive(within: .seconds(5)).count }
            try await sending.value()
            #expect(count == octets.count)
        }
    }

    @Test func portsEnd() throws {
        try Self.run { near, far, link, other in
            var arrived: [SerialPort] = []
            try far.listen(rfcomm: 5) { port, _ in arrived.append(port) }
            for channel in [0, 31] as [UInt8] {
                await #expect(throws: HostError.misuse(.noServerChannel(channel))) { _ = try await link.openSerialPort(channel: channel) }
            }
            await #expect(throws: HostError.peer(.serialPort(.refused))) { _ = try await link.openSerialPort(channel: 6) }
            let first = try await link.openSerialPort(channel: 5)
            await #expect(throws: HostError.misuse(.busy(.serialPort(5)))) { _ = try await link.openSerialPort(channel: 5) }
            try await near.loop.sleep(for: .seconds(1))
            try await arrived[0].send([1, 2, 3])
            try await near.loop.sleep(for: .seconds(1))
            arrived[0].close()
            #expect(try await first.receive() == [1, 2, 3])
            await #expect(throws: HostError.peer(.serialPort(.remote))) { _ = try await first.receive() }
            #expect(!first.isOpen && !first.trySend([1]))
            try await near.loop.sleep(for: .seconds(1))
            // The session ends with the last port, and a new one is created.
            #expect(link.layers.multiplexers.isEmpty && other.layers.multiplexers.isEmpty)
            let second = try await link.openSerialPort(channel: 5)
            try far.listen(rfcomm: 6) { port, _ in arrived.append(port) }
            let third = try await link.openSerialPort(channel: 6)
            far.stopListening(rfcomm: 6)
            var end: HostError?
            third.onEnd = { end = $0 }
            try await other.disconnect()
            _ = try await link.ended()
            let gone = HostError.peer(.disconnected(.remoteUserTerminatedConnection))
            #expect(end == gone)
            await #expect(throws: gone) { try await second.send([1]) }
        }
    }

    // MARK: GATT on PSM 31

    private static var service: ServiceDefinition {
        ServiceDefinition(
            uuid,
            characteristics: [
                CharacteristicDefinition(
                    characteristic, properties: [.read, .write, .notify, .indicate], value: [UInt8](repeating: 7, count: 400)),
                CharacteristicDefinition(0xFFF2, properties: .read, permissions: [.read, .readAuthenticated], value: [1]),
            ])
    }

    @Test func attributesAreReachedOverBREDR() throws {
        try Self.run { near, far, link, other in
            let published = far.database.add(Self.service)
            let handle = try #require(published[Self.characteristic]?.value)
            await #expect(throws: HostError.peer(.channel(.refused(.refusedPSMNotSupported)))) { _ = try await link.openAttributes() }
            far.offerAttributesOverClassic()
            let record = try #require(try await link.services(with: [Self.uuid]).first)
            #expect(record.psm == PSM.att && record.parameter(of: .attProtocol) == published.handle)

            let gatt = try await link.openAttributes()
            // The L2CAP configuration alone determines ATT_MTU.
            #expect(try await gatt.exchangeMTU() == 672 && link.values?.mtu == 672)
            await #expect(throws: HostError.peer(.att(request: .attExchangeMTUReq, handle: 0, .requestNotSupported))) {
                _ = try await gatt.request(ATT.ExchangeMTUReq(clientRxMTU: 100).bytes)
            }
            let found = try await gatt.discoverDatabase()
            #expect(found.services.map(\.service.uuid) == [.genericAccess, .genericAttribute, Self.uuid])
            #expect(try await gatt.read(handle) == [UInt8](repeating: 7, count: 400))
            try await gatt.write(handle, [1, 2, 3])
            #expect(far.database[handle] == [1, 2, 3])
            let secret = try #require(published[0xFFF2]?.value)
            await #expect(throws: HostError.peer(.att(request: .attReadReq, handle: secret, .insufficientAuthentication))) {
                _ = try await gatt.read(secret)
            }
            // One bearer serves both devices as clients.
            let back = try await other.openAttributes()
            #expect(link.layers.bearers.count == 1 && other.layers.bearers.count == 1)
            #expect(try await back.discoverServices().map(\.uuid) == [.genericAccess, .genericAttribute])

            var values: [AttributeValueKind] = []
            let remote = try #require(found[Self.characteristic])
            #expect(other.values?.tryNotify(handle, [9]) == .notSubscribed)
            try await gatt.subscribe(remote) { kind, _, _ in values.append(kind) }
            try await other.values?.notify(handle, [9])
            try await gatt.subscribe(remote, .indication) { _, _, _ in }
            try await other.values?.indicate(handle, [9])
            #expect(values == [.notification, .indication])
            _ = near
        }
    }

    /// Both sides ask for the bearer and refuse the other's request: the central comes first, and both use its bearer. Core Vol 3, Part G, 5.4.
    @Test func requestsForTheBearerCollide() throws {
        try Self.run { near, far, link, other in
            for host in [near, far] { host.offerAttributesOverClassic() }
            for connection in [link, other] { try await connection.secure(to: .unauthenticated) }
            var counts: [Int] = []
            let tasks = [link, other].map { connection in
                far.loop.start { counts.append(try await connection.openAttributes().discoverServices().count) }
            }
            for task in tasks { await task.ended() }
            #expect(counts == [2, 2] && link.layers.bearers.count == 1 && other.layers.bearers.count == 1)
        }
    }

    /// A closed bearer accepts no requests, and another one can be opened.
    @Test func bearersEnd() throws {
        try Self.run { _, far, link, other in
            far.database.add(Self.service)
            far.offerAttributesOverClassic()
            let first = try await link.openAttributes()
            let channel = try #require(first.bearer.basic)
            #expect(channel.isOpen)
            let values = try #require(link.values)
            link.channels.disconnect(channel.cid)
            await #expect(throws: HostError.peer(.channel(.byThisSide))) { _ = try await first.read(1) }
            #expect(values.tryNotify(3, [1]) == .disconnected)
            #expect(link.values.map(\.mtu) == nil)
            try await far.loop.sleep(for: .seconds(1))
            #expect(other.values.map(\.mtu) == nil)
            #expect(try await link.openAttributes().discoverServices().count == 3)
            // Service records follow the database.
            let published = far.database.add(ServiceDefinition(0xFFF8))
            #expect(try await link.services(with: [0xFFF8]).count == 1)
            far.database.remove(published)
            #expect(try await link.services(with: [0xFFF8]).isEmpty)
        }
    }
}
