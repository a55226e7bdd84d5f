import BBCases
import BBHCI
import BBHost
import BBPackets
import BBTiming

/// Surveys a device over the air. It only reads, apart from negotiations of the attribute protocol; facts that it cannot determine are
/// remarks.
public final class Surveyor {
    private let host: Host
    private var loop: RunLoop { host.loop }
    private var description = DeviceDescription()

    /// The time to search for the device, and for it to advertise again.
    public static let timeout = Microseconds.seconds(10)
    private static let mostCharacteristics = 256
    /// A peripheral waits five seconds before it requests connection parameters. Core Vol 3, Part C, 9.3.12.2 and Appendix A.
    private static let unaskedLimit = Microseconds.seconds(6)
    private let lingers: Bool
    private let asksToPair: Bool
    private let choice: PairingChoice?
    private var isStrict = false
    private var firstError: (any Error)?
    /// The reason why a device that takes connections could not be connected to; nil if it could.
    public private(set) var failureToConnect: String?

    /// - Parameters:
    ///   - lingers: true to wait on the connection for requests of the device.
    ///   - asksToPair: true to begin a pairing and end it after the device's answer.
    ///   - pairing: the pairing after which protected values are read; nil to stay unencrypted.
    public init(_ host: Host, lingers: Bool = false, asksToPair: Bool = false, pairing: PairingChoice? = nil) {
        choice = pairing
        self.host = host
        self.lingers = lingers
        self.asksToPair = asksToPair
    }

    /// Finds the device, connects, reads its facts and disconnects.
    ///
    /// - Throws: `SurveyFailure` if it was not found; `HostError` of the environment.
    public func survey(_ peer: PeerSelector) async throws -> DeviceDescription {
        let finder = DeviceFinder(host: host)
        let sighting: Sighting
        do {
            sighting = try await finder.find(peer, until: loop.now + Self.timeout, connectable: false, more: .seconds(2))
        } catch let error as DeviceFinder.NotFound {
            throw SurveyFailure(description: error.description, brief: error.brief)
        }
        note(sighting)
        guard sighting.isConnectable else {
            description.remarks.append("it cannot be connected to")
            return description
        }
        let asked = Asked()
        do {
            // Monitors the connection from its start: some devices send requests immediately.
            let listener = host.newConnections.add { [self] link in
                asked.isConnected = true
                watch(link, asked)
            }
            defer { host.newConnections.remove(listener) }
            let (link, _) = try await finder.connect(peer, until: loop.now + Self.timeout)
            let connected = loop.now
            // A device that asks for security at once may end an unencrypted connection.
            if asked.names.contains(Self.security) { await pair(link) }
            await look(at: link)
            if link.isConnected, link.security == .none { await pair(link) }
            // The host pairs by itself if the device asks for security while it is read.
            if description.pairing == nil, choice != nil {
                description.pairing = asked.pairing.response.map(DeviceDescription.Pairing.init)
            }
            if link.security > .none { await readProtected(link) }
            if lingers { try await linger(until: connected + Self.unaskedLimit, asked) }
            description.link.asks = asked.names
            noteUnsubscribed(asked)
            if choice == nil, asked.names.contains(Self.security), !link.isConnected { description.remarks.append(Self.refusedSecurity) }
            if asksToPair, choice == nil {
                // A device that does not answer has not declined.
                description.pairing = DeviceDescription.Pairing()
                await attempt("pairing") { description.pairing = try await pairing(on: link) }
            }
            try Task.checkCancellation()
            await loop.cleanUp(within: Host.procedureTimeOut) { try await link.disconnect() }
            try await waitForAdvertising(peer)
        } catch let error as DeviceFinder.NotFound {
            description.remarks.append("it does not advertise any more: \(error.brief)")
            if !asked.isConnected { failureToConnect = error.brief }
        } catch HostError.peer(let fault) {
            let why =
                choice == nil && asked.names.contains(Self.security) ? Self.refusedSecurity : "no connection: \(HostError.peer(fault))"
            description.remarks.append(why)
            if !asked.isConnected { failureToConnect = "no connection to \(peer): \(HostError.peer(fault))" }
        }
        return description
    }

    private func linger(until deadline: Microseconds, _ asked: Asked) async throws {
        while loop.now < deadline, !asked.names.contains(Self.parameters) {
            try await loop.sleep(for: .milliseconds(100))
        }
    }

    private func note(_ sighting: Sighting) {
        description.device.name = sighting.name
        description.device.address = sighting.identity ?? sighting.address ?? DeviceAddress(value: 0)
        description.advertising = DeviceDescription.Advertising(
            isConnectable: sighting.isConnectable, isLegacy: sighting.isLegacy, data: sighting.advertising, response: sighting.response,
            period: sighting.period)
    }

    private func waitForAdvertising(_ peer: PeerSelector) async throws {
        let began = loop.now
        do {
            let again = try await DeviceFinder(host: host).find(peer, until: began + Self.timeout, isActive: true)
            description.link.readvertises = again.times.first.map { $0 - began }
        } catch let error where !(error is CancellationError) {
            description.remarks.append("it did not advertise within \(Self.timeout.text) of the end of the connection")
        }
    }

    // MARK: The link

    /// The procedures that the device has started.
    private final class Asked {
        var names: [String] = []
        /// True if there was a connection, even if it has ended since.
        var isConnected = false
        /// The handles of values that it sent without a subscription, on a link without a bond.
        var unsubscribed: Set<UInt16> = []
        /// The PDUs of the first pairing.
        let pairing = PairingRecord()
        func add(_ name: String) { if !names.contains(name), names.count < 16 { names.append(name) } }
    }

    private static let parameters = "parameters"
    private static let security = "security"
    private static let refusedSecurity = "it asked for security, was refused, and left: --pair pairs with it"

    private func watch(_ link: Connection, _ asked: Asked) {
        let policy = host.parameterPolicy
        // A request of the link layer is reported only to the policy.
        host.parameterPolicy = { link, request in
            asked.add(Self.parameters)
            return policy(link, request)
        }
        let words = [
            SMP.SecurityRequest.name: Self.security, L2CAPSignaling.ConnectionParameterUpdateReq.name: Self.parameters,
            ATT.ExchangeMTUReq.name: "mtu", ATT.ReadByGroupTypeReq.name: "services", ATT.FindByTypeValueReq.name: "services",
        ]
        link.pduObservers.add { [unowned link] direction, channel, payload in
            if channel == CID.smp { asked.pairing.add(direction, payload.octets) }
            guard direction == .received else { return }
            guard let name = PDUCatalog.name(of: payload.octets, on: channel) else { return }
            if let word = words[name] { asked.add(word) }
            // With a bond, the device may remember a subscription.
            guard Self.values.contains(name), link.bond == nil, asked.unsubscribed.count < Self.mostCharacteristics else { return }
            let handle = payload.octets.dropFirst().prefix(2).reversed().reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
            asked.unsubscribed.insert(handle)
        }
    }

    /// The PDUs that only a subscribed client receives. Core Vol 3, Part G, 3.3.3.3.
    private static let values: Set<String> = [ATT.HandleValueNtf.name, ATT.HandleValueInd.name]

    private func noteUnsubscribed(_ asked: Asked) {
        let known = description.services.flatMap(\.characteristics)
        for handle in asked.unsubscribed.sorted() {
            let name = known.first { $0.handle == handle }.map { "\($0.uuid.digits) (handle \(handle))" } ?? "handle \(handle)"
            description.remarks.append("it sent values of \(name) without a subscription (Core Vol 3, Part G, 3.3.3.3)")
        }
    }

    private func look(at link: Connection) async {
        await attempt("features") {
            let features = try await link.readRemoteFeatures()
            description.link.features = Features.names(in: features.rawValue)
        }
        await attempt("version") {
            let version = try await link.readRemoteVersion()
            description.link.version = Int(version.version)
            description.link.company = Int(version.companyIdentifier)
        }
        await attempt("data length") {
            guard description.link.features.contains("LE_Data_Packet_Length_Extension") else { return }
            description.link.dataLength = Int(try await link.updateDataLength(txOctets: 251).rxOctets)
        }
        await attempt("ATT_MTU") { description.link.mtu = try await link.gatt.exchangeMTU(517) }
        for (name, feature, asked, wanted) in [("Coded", "LE_Coded_PHY", PHYs.leCoded, PHY.leCoded), ("2M", "LE_2M_PHY", .le2M, .le2M)] {
            guard description.link.features.contains(feature) else { continue }
            await attempt("\(name) PHY") {
                let phys = try await link.updatePHY(tx: asked, rx: asked)
                if phys.tx == wanted || phys.rx == wanted { description.link.phys.append(name) }
            }
        }
        await discover(link)
    }

    private func attempt(_ what: String, isDiscovery: Bool = false, _ body: () async throws -> Void) async {
        guard firstError == nil || !isStrict else { return }
        do { try await body() } catch {
            description.remarks.append("\(what): \(error)")
            if isDiscovery, case HostError.peer(.malformed) = error, description.malformed == nil {
                description.malformed = "\(what): \(error)"
            }
            firstError = firstError ?? error
        }
    }

    /// Discovers and reads everything as the survey does, up to the first error.
    package func discoverAll(on link: Connection) async throws {
        isStrict = true
        await discover(link)
        if let firstError { throw firstError }
    }

    // MARK: Attributes

    private func discover(_ link: Connection) async {
        for isPrimary in [true, false] {
            await attempt(isPrimary ? "services" : "secondary services", isDiscovery: true) {
                for found in try await link.gatt.discoverServices(isPrimary: isPrimary) {
                    description.services.append(
                        .init(uuid: found.uuid, start: found.handle, end: found.endHandle, isPrimary: found.isPrimary))
                }
            }
        }
        description.services.sort { $0.start < $1.start }
        for index in description.services.indices {
            let service = description.services[index]
            await attempt("characteristics of \(service.uuid)", isDiscovery: true) {
                let remote = RemoteService(uuid: service.uuid, handle: service.start, endHandle: service.end, isPrimary: service.isPrimary)
                for found in try await link.gatt.discoverCharacteristics(in: remote).prefix(Self.mostCharacteristics) {
                    description.services[index].characteristics.append(try await look(at: found, link))
                }
            }
        }
        if description.device.name == nil { description.device.name = gapName }
    }

    private var gapName: String? {
        let value = description.services.lazy.flatMap(\.characteristics).first { $0.uuid == .deviceName }?.value
        return value.flatMap { String(validating: $0, as: UTF8.self) }
    }

    private func look(at found: RemoteCharacteristic, _ link: Connection) async throws -> DeviceDescription.Characteristic {
        var entry = DeviceDescription.Characteristic(
            uuid: found.uuid, declaration: found.declaration, handle: found.value, end: found.endHandle,
            properties: Int(found.properties.rawValue))
        if found.properties.contains(.read) { (entry.value, entry.error) = try await read(found.value, link) }
        for descriptor in try await link.gatt.discoverDescriptors(of: found) {
            var row = DeviceDescription.Descriptor(uuid: descriptor.uuid, handle: descriptor.handle)
            (row.value, row.error) = try await read(descriptor.handle, link)
            entry.descriptors.append(row)
        }
        return entry
    }

    // MARK: Pairing

    private func pair(_ link: Connection) async {
        guard let choice, description.pairing == nil else { return }
        description.pairing = DeviceDescription.Pairing()
        await attempt("pairing") { description.pairing = try await pairing(on: link, choice.settings, isComplete: true) }
    }

    /// Reads the values that were refused for lack of security.
    private func readProtected(_ link: Connection) async {
        for service in description.services.indices {
            for index in description.services[service].characteristics.indices {
                let found = description.services[service].characteristics[index]
                guard let error = found.error, DeviceFacts.protections.contains(error) else { continue }
                await attempt("\(found.uuid) after pairing") {
                    let (value, refusal) = try await read(found.handle, link)
                    description.services[service].characteristics[index].value = value
                    description.services[service].characteristics[index].error = refusal
                    description.services[service].characteristics[index].protection = error
                }
            }
        }
    }

    private func read(_ handle: UInt16, _ link: Connection) async throws -> (value: [UInt8]?, error: UInt8?) {
        do {
            return (try await link.gatt.readLong(handle), nil)
        } catch HostError.peer(.att(_, _, let code)) {
            return (nil, code.rawValue)
        }
    }
}

/// The reason why there is no description.
public struct SurveyFailure: Error, Sendable, CustomStringConvertible {
    public var description: String
    /// The description without names and addresses of other devices.
    public var brief: String

    package init(description: String, brief: String? = nil) { (self.description, self.brief) = (description, brief ?? description) }
}
