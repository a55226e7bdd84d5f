import BBHost
import BBPackets
import BBProducts
import BBTiming

/// A session that uses the GATT server at the other end of a link, with its report.
package struct GATTSession {
    /// A characteristic whose values are displayed, and their number; nil for no limit.
    package struct Subscription: Sendable {
        package var uuid: BluetoothUUID
        package var count: Int?

        package init(uuid: BluetoothUUID, count: Int? = nil) { (self.uuid, self.count) = (uuid, count) }
    }

    private struct Arrival: Sendable {
        var handle: UInt16
        var value: [UInt8]
        var time: Microseconds
    }

    package let link: PeerLink
    package let loop: RunLoop
    /// True to read and display only the wanted values.
    private let isBrief: Bool
    private let display: @Sendable (String) -> Void
    package private(set) var report: GATTReport
    private var characteristics: [RemoteCharacteristic] = []

    /// The maximum number of values that wait to be displayed.
    private static let mostWaiting = 65_536

    /// - Parameter isBrief: true to read and display only the wanted values.
    package init(_ link: PeerLink, loop: RunLoop, isBrief: Bool, display: @escaping @Sendable (String) -> Void) {
        (self.link, self.loop, self.isBrief, self.display) = (link, loop, isBrief, display)
        let peer = link.peer.address
        switch link {
        case .le(let connection):
            let interval = Double(connection.parameters.interval) * 1.25
            report = GATTReport(peer: peer.description, transport: .le)
            report.interval = interval
            say("connected to \(peer), interval \(interval) ms")
        case .classic:
            report = GATTReport(peer: peer.description, transport: .bredr)
            say("connected to \(peer) over BR/EDR")
        }
    }

    /// Displays a line.
    package func say(_ text: String) { if !isBrief { display(text) } }

    /// Displays a wanted value.
    private func sayValue(_ head: String, _ value: String) { display(isBrief ? value : head + value) }

    /// The bearer, which exists from the start on LE and is opened by this side over BR/EDR.
    private var gatt: GATTClient {
        get async throws {
            switch link {
            case .le(let connection): connection.gatt
            case .classic(let connection): try await connection.openAttributes()
            }
        }
    }

    /// Encrypts the link with the key of the bond, if there is one.
    package func encrypt() async throws {
        guard link.bond != nil else { return }
        let size: Int
        do {
            switch link {
            case .le(let connection):
                try await connection.encrypt()
                size = connection.encryptionKeySize
            case .classic(let connection):
                try await connection.secure(to: .unauthenticated)
                size = connection.encryptionKeySize
            }
        } catch { throw PairAdvice.failure(error) }
        say("encrypted with the key of the bond, \(size) octets")
    }

    /// Opens Enhanced ATT bearers, if the peer has them; otherwise requests stay on the fixed channel.
    package mutating func openBearers(_ count: Int) async throws {
        guard case .le(let connection) = link else { return }
        guard connection.security > .none else {
            let peer = link.peer.address
            throw CommandFailure(.usage, "Enhanced ATT bearers need an encrypted link; `bluebench pair` makes a bond with \(peer)")
        }
        var opened: [EnhancedBearer] = []
        var reason = "it does not claim them"
        do {
            opened = try await connection.enableEnhancedBearers(count)
        } catch HostError.peer(.channel(let end)) { reason = "\(end)" }
        report.enhancedBearers = opened.count
        guard let first = opened.first else {
            return say("the peer has no Enhanced ATT bearers (\(reason)): requests stay on the fixed channel")
        }
        say("\(opened.count) Enhanced ATT bearer\(opened.count == 1 ? "" : "s"), mtu \(first.mtu)")
    }

    // MARK: Discovery

    package mutating func discover() async throws {
        let database = try await gatt.discoverDatabase()
        for found in database.services {
            let service = found.service
            say("service \(service.uuid.words), handles \(service.handle)...\(service.endHandle)")
            var entry = GATTReport.Service(uuid: service.uuid.description, handle: service.handle, endHandle: service.endHandle)
            entry.name = Self.name(service.uuid)
            for characteristic in found.characteristics {
                characteristics.append(characteristic.characteristic)
                entry.characteristics.append(try await describe(characteristic.characteristic, characteristic.descriptors))
            }
            report.services.append(entry)
        }
        if link.bond != nil { try await gatt.enableCaching(of: database) }
    }

    private func describe(_ characteristic: RemoteCharacteristic, _ descriptors: [RemoteDescriptor]) async throws
        -> GATTReport.Characteristic
    {
        let isReadable = characteristic.properties.contains(.read) && !isBrief
        let uuid = characteristic.uuid
        let found = isReadable ? try await read(characteristic.value, uuid) : ReadValue()
        // What cannot be read is notified, indicated or written.
        let use = characteristic.properties.names.joined(separator: ", ").replacing("_", with: " ")
        say("  characteristic \(uuid.words), handle \(characteristic.value): \(found.words ?? (use.isEmpty ? "no property" : use))")
        var entry = GATTReport.Characteristic(
            uuid: characteristic.uuid.description, handle: characteristic.value, properties: characteristic.properties.names,
            value: found.value, error: found.error)
        (entry.name, entry.text) = (Self.name(uuid), found.text)
        for descriptor in descriptors {
            let found = isBrief ? ReadValue() : try await read(descriptor.handle, descriptor.uuid)
            say("    descriptor \(descriptor.uuid.words), handle \(descriptor.handle): \(found.words ?? "")")
            entry.descriptors.append(
                .init(
                    uuid: descriptor.uuid.description, handle: descriptor.handle, value: found.value, error: found.error,
                    name: Self.name(descriptor.uuid), text: found.text))
        }
        return entry
    }

    /// A value, or the reason why it was refused.
    private struct ReadValue {
        var value: String?
        var text: String?
        var error: String?

        /// The octets with their meaning, or the reason.
        var words: String? { value.map { octets in octets + (text.map { "  \($0)" } ?? "") } ?? error }
    }

    private static func name(_ uuid: BluetoothUUID) -> String? { uuid.short.flatMap { AssignedNumbers.name(uuid: $0) } }

    private func read(_ handle: UInt16, _ uuid: BluetoothUUID) async throws -> ReadValue {
        do {
            let value = try await gatt.readLong(handle)
            return ReadValue(value: Hex.octets(value), text: ValueWords.text(value, of: uuid))
        } catch HostError.peer(.att(_, _, let code)) {
            return ReadValue(error: "\(code)")
        }
    }

    private func find(_ uuid: BluetoothUUID) throws -> RemoteCharacteristic {
        guard let found = characteristics.first(where: { $0.uuid == uuid }) else {
            throw CommandFailure(.fail, "the peer has no characteristic \(uuid)")
        }
        return found
    }

    // MARK: Values

    package mutating func write(_ value: [UInt8], to uuid: BluetoothUUID) async throws {
        let characteristic = try find(uuid)
        var entry = GATTReport.Write(uuid: uuid.description, octets: value.count)
        do {
            let gatt = try await gatt
            if value.count > gatt.mtu - 3 {
                try await gatt.writeLong(characteristic.value, value)
            } else {
                try await gatt.write(characteristic.value, value)
            }
            say("wrote \(value.count) octets to \(uuid)")
        } catch HostError.peer(.att(_, _, let code)) {
            entry.error = "\(code)"
            say("writing \(uuid): \(code)")
        }
        report.writes.append(entry)
    }

    package mutating func read(_ uuid: BluetoothUUID) async throws {
        let found = try await read(try find(uuid).value, uuid)
        sayValue("read \(uuid): ", found.words ?? "")
        report.reads.append(.init(uuid: uuid.description, value: found.value, error: found.error))
    }

    /// Subscribes, performs `writes`, and displays received values until the requested number or the time limit is reached.
    package mutating func exchange(_ subscriptions: [Subscription], writes: [(BluetoothUUID, [UInt8])], within seconds: Double) async throws
    {
        let (arrivals, continuation) = AsyncStream.makeStream(of: Arrival.self, bufferingPolicy: .bufferingOldest(Self.mostWaiting))
        var open: [UInt16: Subscription] = [:]
        for subscription in subscriptions {
            let characteristic = try find(subscription.uuid)
            guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
                let properties = characteristic.properties.names.joined(separator: ", ")
                throw CommandFailure(
                    .fail, "\(subscription.uuid) cannot be subscribed to: it has \(properties), neither notify nor indicate")
            }
            open[characteristic.value] = subscription
            let kind: AttributeValueKind = characteristic.properties.contains(.notify) ? .notification : .indication
            try await gatt.subscribe(characteristic, kind) { [loop] _, handle, value in
                let arrival = Arrival(handle: handle, value: value.withUnsafeBytes { [UInt8]($0) }, time: loop.now)
                if case .dropped = continuation.yield(arrival) { continuation.finish() }
            }
        }
        let began = loop.now
        for (uuid, value) in writes { try await write(value, to: uuid) }
        guard !open.isEmpty else { return }
        let deadline = loop.now + .seconds(seconds)
        let timer = loop.schedule(at: deadline) { continuation.finish() }
        for await arrival in arrivals {
            guard let left = note(arrival, since: began, open[arrival.handle]) else { continue }
            open[arrival.handle] = left.count == 0 ? nil : left
            if open.isEmpty { break }
        }
        loop.cancel(timer)
        if !open.isEmpty, loop.now < deadline {
            throw CommandFailure(.bench, "more than \(Self.mostWaiting) values came faster than they could be shown")
        }
        if let missed = open.values.first(where: { $0.count != nil }), let count = missed.count {
            throw CommandFailure(.fail, "\(count) more values of \(missed.uuid) were expected within \(seconds) s")
        }
    }

    /// Records a value and returns the remaining subscription; nil if there is none.
    private mutating func note(_ arrival: Arrival, since began: Microseconds, _ subscription: Subscription?) -> Subscription? {
        guard var subscription else { return nil }
        let value = Hex.octets(arrival.value)
        let text = ValueWords.text(arrival.value, of: subscription.uuid).map { "  \($0)" } ?? ""
        sayValue("value of \(subscription.uuid): ", value + text)
        report.values.append(.init(uuid: subscription.uuid.description, value: value, milliseconds: (arrival.time - began).milliseconds))
        subscription.count = subscription.count.map { $0 - 1 }
        return subscription
    }

    // MARK: The link

    /// Exchanges the MTU; over BR/EDR the L2CAP configuration has already determined it.
    package mutating func exchangeMTU(_ mtu: Int = 517) async throws {
        let agreed = try await gatt.exchangeMTU(mtu)
        report.mtu = agreed
        say("mtu \(agreed)")
    }

    package mutating func disconnect() async throws {
        let reason = "\(try await link.disconnect())"
        report.disconnected = reason
        say("disconnected: \(reason)")
    }
}
