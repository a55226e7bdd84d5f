import BBCases
import BBHost
import BBPackets
import BBProducts
import BBTiming

/// Finds the device under test, whichever it is, and connects to it.
enum MeetDevice: NamedAction {
    static let name = "meet device"
    static let about = "the host finds the device under test and connects to it; repeated if CONNECT_IND is lost"
    static let interval = TypedArgument.number(
        "interval", HCICommands.LEConnectionUpdate.connectionIntervalMinRange.integers, default: 12, "N x 1.25 ms")
    static let handlesSMP = TypedArgument.flag("handlesSMP", default: true, "0 to leave SMP to the steps of the case")
    static let pairs = TypedArgument.flag("pairs", default: true, "0 to stay unencrypted in a run with --pair")
    static let mtu = TypedArgument.number("mtu", 23...517, default: 517, "what a device that asks for an ATT_MTU is answered")
    static var arguments: [ActionArgument] { [interval.declaration, handlesSMP.declaration, pairs.declaration, mtu.declaration] }
    static let results = ["handle", "address", "type", "resolvable"]
    static let needsHost = true

    /// The actions that find any device under test.
    static let ofAnyDevice: Set<String> = [name, ListenToDevice.name, TimeAdvertising.name, WatchFastAdvertising.name]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.driver().host.setOfferedMTU(try context(mtu))
        if !(try context(pairs)) { try context.driver().host.pairingSettings = nil }
        let link = try await meet(
            context, interval: UInt16(clamping: try context(interval)), handlesSMP: try context(handlesSMP), pairs: try context(pairs))
        let address = link.addresses.peer
        return CaseRecord([
            ("handle", .number(Int(link.handle.rawValue))), ("address", .text(address.digits)),
            ("type", .number(Int(address.kind.rawValue))), ("resolvable", .number(address.isResolvable ? 1 : 0)),
        ])
    }

    /// Finds the device under test and connects to it; pairs in a run that pairs on each connection.
    static func meet(
        _ context: ActionContext, interval: UInt16 = 12, handlesSMP: Bool = true, pairs: Bool
    ) async throws -> Connection {
        let driver = try context.driver()
        let deadline = context.deadline - .seconds(1)
        // A Security Request waits until the case pairs.
        let handles = handlesSMP && !context.bench.product.isPairedByCase
        let listener = driver.host.newConnections.add { $0.handlesSMP = handles }
        defer { driver.host.newConnections.remove(listener) }
        do {
            let finder = DeviceFinder(host: driver.host)
            let (link, _) = try await finder.connect(context.bench.product.peer, interval: interval, until: deadline)
            driver.links[link.handle.rawValue] = link
            context.bench.memory.mayRestart = false
            if handles, context.bench.product.pairsWhenMet, pairs, let pairing = context.bench.product.pairing {
                try await pair(link, pairing.settings, context.bench)
            }
            return link
        } catch let error as DeviceFinder.NotFound {
            var failure = StepFailure(.subject, error.description)
            failure.isOfMissingDevice = true
            throw failure
        } catch HostError.peer(.timedOut(.connection)) {
            throw StepFailure(.subject, "the device did not accept a connection in time")
        }
    }

    /// Pairs; a device that declines stays unencrypted.
    private static func pair(_ link: Connection, _ settings: PairingSettings, _ bench: CaseBench) async throws {
        guard link.security == .none else { return }
        do {
            _ = try await PairWithDevice.pair(link, settings)
        } catch let failure as StepFailure where failure.blame == .limitation {
            bench.memory.declinedPairing = failure.message
        }
    }
}

/// Receives the advertising of the device under test.
enum ListenToDevice: NamedAction {
    static let name = "listen to device"
    static let about = "the host receives the advertising of the device under test and decodes its AD structures"
    static let passive = TypedArgument.flag("passive", default: false, "scans without asking for scan responses")
    static let limit = TypedArgument.number("seconds", 0...60, default: 1, "seconds to listen after the first report")
    static var arguments: [ActionArgument] { [passive.declaration, limit.declaration] }
    static let results =
        [
            "address", "type", "connectable", "legacy", "data", "response", "answered", "events", "period", "after", "addressFault",
            "directed", "secondary", "services", "responseServices",
        ] + DecodeAdvertising.rules
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let host = try context.driver().host
        let began = host.loop.now
        let more = Microseconds.seconds(try context(limit))
        do {
            let sighting = try await DeviceFinder(host: host).find(
                context.bench.product.peer, until: context.deadline - more - .seconds(1), connectable: false, more: more,
                isActive: !(try context(passive)))
            return record(of: sighting, since: began)
        } catch let error as DeviceFinder.NotFound {
            throw StepFailure(.subject, error.description)
        }
    }

    private static func services(in octets: [UInt8]) -> [CaseValue] {
        AdvertisingData(octets: octets).serviceUUIDs.map { .text($0.digits) }
    }

    private static func record(of sighting: Sighting, since began: Microseconds) -> CaseRecord {
        let response = sighting.response ?? []
        let rules = AdvertisingRules(data: sighting.advertising, response: response)
        return CaseRecord(
            [
                ("address", .text(sighting.address?.digits ?? "")), ("type", .number(Int(sighting.address?.kind.rawValue ?? 0))),
                ("connectable", .number(sighting.isConnectable ? 1 : 0)), ("legacy", .number(sighting.isLegacy ? 1 : 0)),
                ("data", .octets(sighting.advertising)), ("response", .octets(response)),
                ("answered", .number(sighting.response == nil ? 0 : 1)),
                ("events", .number(sighting.times.count)), ("period", .number(Int(sighting.period?.rawValue ?? 0))),
                ("after", .number(Int((sighting.times.first.map { $0 - began } ?? .zero).rawValue))),
                ("addressFault", .text(AdvertisingRules.fault(in: sighting.address))),
                ("directed", .number(sighting.isDirected ? 1 : 0)),
                ("secondary", .number(Int(sighting.secondaryPHY?.rawValue ?? 0))),
                ("services", .list(services(in: sighting.advertising))),
                ("responseServices", .list(services(in: response))),
            ] + rules.results)
    }
}
