import BBPackets

/// Identifies the chip by its HCI answers rather than by its USB identifiers, and loads its firmware.
///
/// Without I/O: the caller sends packets, reads files and runs timeouts.
struct FirmwareLoader {
    private enum State {
        case awaitingVersion
        /// The chip rejected a mandatory command; it may be an Intel boot loader.
        case awaitingIntelVersion
        case loading(any FirmwareProcedure)
        case ended
    }

    /// Long enough for the start-up ladder as well.
    static let firstTimeout = Microseconds.seconds(5)
    static let realtek: UInt16 = 0x005D
    static let intel: UInt16 = 0x0002

    private var state = State.awaitingVersion
    /// False to report the need for firmware without changing the dongle.
    private let loads: Bool

    init(loads: Bool = true) { self.loads = loads }

    /// A failure that is known but not yet reported.
    var abandonedFor: FirmwareError? {
        guard case .loading(let procedure) = state else { return nil }
        return procedure.abandonedFor
    }

    func start() -> [FirmwareAction] { [.ask(HCICommands.ReadLocalVersionInformation(), timeout: Self.firstTimeout)] }

    mutating func received(_ packet: HCIPacket) -> [FirmwareAction] {
        guard let event = FirmwareEvent(packet) else { return [] }
        switch state {
        case .awaitingVersion: return identify(event)
        case .awaitingIntelVersion: return identifyBootLoader(event)
        case .loading(var procedure):
            let actions = procedure.received(event)
            state = .loading(procedure)
            return pass(actions)
        case .ended: return []
        }
    }

    mutating func found(_ image: FirmwareFile, _ companion: FirmwareFile?) -> [FirmwareAction] {
        guard case .loading(var procedure) = state else { return [] }
        let actions = procedure.found(image, companion)
        state = .loading(procedure)
        return pass(actions)
    }

    mutating func timedOut() -> [FirmwareAction] {
        switch state {
        case .awaitingVersion: return pass([.fail(.silent(.version))])
        case .awaitingIntelVersion: return pass([.done(.notNeeded)])
        case .loading(var procedure):
            let actions = procedure.timedOut()
            state = .loading(procedure)
            return pass(actions)
        case .ended: return []
        }
    }

    private mutating func identify(_ event: FirmwareEvent) -> [FirmwareAction] {
        guard let version = event.returns(of: HCICommands.ReadLocalVersionInformation.self) else { return [] }
        guard version.status == .success else {
            state = .awaitingIntelVersion
            return [.ask(HCICommands.IntelReadVersion(requested: IntelLoader.everything))]
        }
        switch version.companyIdentifier {
        case Self.realtek: return begin(RealtekLoader(version))
        case Self.intel: return begin(IntelLoader())
        default: return pass([.done(.notNeeded)])
        }
    }

    private mutating func identifyBootLoader(_ event: FirmwareEvent) -> [FirmwareAction] {
        guard let status = event.status(of: HCICommands.IntelReadVersion.opcode) else { return [] }
        guard status == .success else { return pass([.done(.notNeeded)]) }
        var procedure = IntelLoader()
        _ = procedure.start()
        let actions = procedure.received(event)
        state = .loading(procedure)
        return pass(actions)
    }

    private mutating func begin(_ procedure: any FirmwareProcedure) -> [FirmwareAction] {
        var procedure = procedure
        let actions = procedure.start()
        state = .loading(procedure)
        return pass(actions)
    }

    private mutating func pass(_ actions: [FirmwareAction]) -> [FirmwareAction] {
        var passed: [FirmwareAction] = []
        for action in actions {
            switch action {
            case .done, .fail:
                state = .ended
                passed.append(action)
            case .read(let need) where !loads:
                state = .ended
                passed.append(.done(.needed(need)))
            case .send, .wait, .read, .useBulkPipe: passed.append(action)
            }
        }
        return passed
    }
}
