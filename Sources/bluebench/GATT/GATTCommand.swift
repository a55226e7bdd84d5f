import ArgumentParser
import BBHost
import BBPackets
import BBSessions
import BBTiming

/// `bluebench gatt`: connects to a peer and uses its GATT server.
struct GATTCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gatt", abstract: "Connect to a peer and show its services and values; read, write and subscribe.",
        discussion: """
            Order: link parameters, discovery, subscriptions, writes, the values that they cause, reads. With a bonded peer the link is encrypted \
            first, and its known services are used while its Database Hash is the same. --transport bredr pages the peer and needs a bond, which \
            `bluebench pair --transport bredr` makes. Exit code 1 when the peer lacks a characteristic or refuses a value.
            """)

    @Argument(help: .device) var device: String
    @Option(help: "Peer: its address, C0:B1:BE:00:00:01/random, its name, or the UUID of a service that it advertises.") var peer: String
    @Option(help: "Transport: le or bredr.") var transport = SessionTransport.le
    @Option(help: "Connection interval in ms.", transform: Arguments.interval) var interval: Double?
    @Option(help: "Client Rx MTU, 23 to 517.", transform: Arguments.whole(23...517)) var mtu: Int?
    @Option(
        help: "Enhanced ATT bearers to open, 1 to 5, on the encrypted link with a bonded peer.", transform: Arguments.whole(1...5))
    var eatt: Int?
    @Option(help: "PHY to request: 1m, 2m or coded.") var phy: String?
    @Option(
        name: .customLong("data-length"), help: "TX octets to request, 27 to 251.",
        transform: Arguments.whole(HCICommands.LESetDataLength.txOctetsRange))
    var dataLength: UInt16?
    @Option(help: "Connection interval to request once connected, in ms.", transform: Arguments.interval) var update: Double?
    @Option(help: ArgumentHelp("Write a value with response. Repeatable.", valueName: "uuid=hex")) var write: [String] = []
    @Option(help: ArgumentHelp("Subscribe, and show n values or all. Repeatable.", valueName: "uuid[=n]")) var subscribe: [String] =
        []
    @Option(help: "Timeout for values, in seconds.", transform: Arguments.seconds) var seconds = 10.0
    @Option(help: ArgumentHelp("Read this value at the end, after writes and notifications. Repeatable.", valueName: "uuid")) var read:
        [String] = []
    @Flag(help: "With --read or --subscribe: print only these values, and read no others.") var onlyValue = false
    @Flag(help: "Print one JSON document at the end.") var json = false
    @OptionGroup var store: BondOptions
    @OptionGroup var firmware: FirmwareOptions

    func validate() throws {
        if onlyValue, read.isEmpty, subscribe.isEmpty { throw ValidationError("--only-value needs --read or --subscribe") }
        if onlyValue, json { throw ValidationError("--only-value and --json exclude each other: the document has everything") }
    }

    func run() throws {
        let command = self
        let selector = try transport.peer(peer)
        let phys = try phy.map(Arguments.phys)
        let writes = try write.map(Self.writing)
        let subscriptions = try subscribe.map(Self.subscription)
        let reads = try read.map(Self.uuid)
        let (keys, address) = (try store.read(for: device), selector.address)
        let bond = address.flatMap { keys[PeerIdentity($0)] }
        try checkTransport(bond)
        // Only an existing bond is updated; a peer selected by name may have one.
        let hasBond = address == nil ? !keys.all.isEmpty : bond != nil
        let file = hasBond ? try store.open(makes: false, for: device) : nil
        let account = Account()
        let prepare = { (host: Host) in
            account.report = GATTReport(peer: address?.description ?? command.peer, transport: command.transport)
            if let keys = file?.keys { host.keys = keys }
            host.addressChoice = file?.keys.identityAddress.map { .fixed($0) } ?? (command.transport == .bredr ? .automatic : .drawn)
        }
        let outcome = Result {
            try HostSession.run(on: device, firmware: firmware, prepare: prepare) { host in
                let link = try await command.connect(host, to: try await selector.found(by: host))
                let (isSilent, isBrief) = (command.json, command.onlyValue)
                var session = GATTSession(link, loop: host.loop, isBrief: isBrief) { if !isSilent { Console.line($0) } }
                defer { account.report = session.report }
                try await session.encrypt()
                try await command.tune(&session, phys)
                if let count = command.eatt { try await session.openBearers(count) }
                try await session.discover()
                try await session.exchange(subscriptions, writes: writes, within: command.seconds)
                for uuid in reads { try await session.read(uuid) }
                try await session.disconnect()
                try file?.check()
            }
        }
        // The report is written after failures, too.
        if json, let report = account.report { Console.write(try report.json()) }
        try outcome.get()
        if let refused = account.report?.writes.first(where: { $0.error != nil }) {
            throw CommandFailure(.fail, "the peer refused the value for \(refused.uuid): \(refused.error ?? "")")
        }
        if let refused = account.report?.reads.first(where: { $0.error != nil }) {
            throw CommandFailure(.fail, "the peer refused to read \(refused.uuid): \(refused.error ?? "")")
        }
    }

    /// The report so far; nil before the device is open.
    private final class Account {
        var report: GATTReport?
    }

    /// Rejects options that are only for LE; over BR/EDR attributes need an encrypted link. Core Vol 3, Part C, 5.2.2.8.
    private func checkTransport(_ bond: Bond?) throws {
        guard transport == .bredr else { return }
        guard interval == nil, mtu == nil, phy == nil, dataLength == nil, update == nil, eatt == nil else {
            throw CommandFailure(.usage, "--interval, --mtu, --phy, --data-length, --update and --eatt need --transport le")
        }
        guard bond?.linkKey != nil else {
            throw CommandFailure(.usage, "there is no key for \(peer) over BR/EDR; `bluebench pair --transport bredr` makes one")
        }
    }

    private func connect(_ host: Host, to address: DeviceAddress) async throws -> PeerLink {
        var settings = ConnectSettings()
        settings.parameters = ConnectionParameterRequest(interval: Self.units(interval ?? 30))
        do {
            switch transport {
            case .le: return .le(try await host.connectAnswered(to: address, settings))
            case .bredr: return .classic(try await host.connectClassic(to: address.bdADDR))
            }
        } catch HostError.peer(.timedOut) {
            throw CommandFailure(.bench, "\(address) did not answer: is it there, does it advertise, and is its address of that kind?")
        } catch HostError.peer(.rejected(_, .pageTimeout)) {
            throw CommandFailure(.bench, "\(address) did not answer: is it there, and does it let others connect?")
        }
    }

    private func tune(_ session: inout GATTSession, _ phys: PHYs?) async throws {
        guard case .le(let link) = session.link else { return try await session.exchangeMTU() }
        if let mtu { try await session.exchangeMTU(mtu) }
        if let dataLength {
            let agreed = try await link.updateDataLength(txOctets: dataLength)
            session.say("data length \(agreed.txOctets) octets \(agreed.txTime) us out, \(agreed.rxOctets) octets \(agreed.rxTime) us in")
        }
        if let phys {
            let agreed = try await link.updatePHY(tx: phys, rx: phys)
            session.say("phy \(agreed.tx.shortName) out, \(agreed.rx.shortName) in")
        }
        if let update {
            let agreed = try await link.updateParameters(ConnectionParameterRequest(interval: Self.units(update)))
            session.say("interval \(Double(agreed.interval) * 1.25) ms")
        }
    }

    private static func units(_ milliseconds: Double) -> UInt16 { UInt16(clamping: Int(saturating: (milliseconds / 1.25).rounded())) }

    private static func uuid(_ text: some StringProtocol) throws -> BluetoothUUID {
        guard let uuid = BluetoothUUID(String(text)) else { throw CommandFailure(.usage, "'\(text)' is not a UUID") }
        return uuid
    }

    private static func writing(_ text: String) throws -> (BluetoothUUID, [UInt8]) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw CommandFailure(.usage, "'\(text)': write UUID=VALUE") }
        guard let value = Hex.parse(String(parts[1])) else { throw CommandFailure(.usage, "'\(text)': the value is not hexadecimal") }
        return (try uuid(parts[0]), value)
    }

    private static func subscription(_ text: String) throws -> GATTSession.Subscription {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return .init(uuid: try uuid(text)) }
        guard let count = Int(parts[1]), count > 0 else {
            throw CommandFailure(.usage, "'\(text)': the number of values is missing or not 1 or more; write UUID=3")
        }
        return .init(uuid: try uuid(parts[0]), count: count)
    }
}
