import BBCases
import BBHCI
import BBPackets

/// The questions to a controller before a case: what it can do, its buffers, and what is known of its kind.
struct EndpointProbe {
    private let end: Endpoint
    /// The features that the controller reports, as words of `needs:`.
    private(set) var features: Set<String> = []
    private(set) var commands: SupportedCommands?
    /// A remark for the reader of the result.
    private(set) var remark: String?

    init(_ end: Endpoint) { self.end = end }

    /// - Throws: `StepFailure` of the environment; what is known by then is kept.
    mutating func run() async throws {
        try await end.demand(HCICommands.Reset())
        let more = try await end.ask(HCICommands.SetEventMask(eventMask: BenchEvents.page1.union(.numberOfCompletedPackets)))
        if more.parameters != [ErrorCode.success.rawValue] { try await end.demand(HCICommands.SetEventMask(eventMask: BenchEvents.page1)) }
        _ = try await end.ask(HCICommands.LESetEventMask(leEventMask: BenchEvents.le))
        let buffers = try await readBuffers()
        for name in Features.names(in: try await end.demand(HCICommands.LEReadLocalSupportedFeatures()).leFeatures.rawValue) {
            features.insert("\(end.side.rawValue).\(name)")
        }
        commands = SupportedCommands(try await end.demand(HCICommands.ReadLocalSupportedCommands()).supportedCommands)
        if try await end.demand(HCICommands.ReadLocalSupportedFeatures()).supportsClassic {
            features.insert("\(end.side.rawValue).\(Features.classic)")
            if let buffers { try await readClassicBuffers(beside: buffers) }
        }
        try await recognise()
    }

    /// Looks up the known defects of the controller, so that they are not attributed to the other side.
    private mutating func recognise() async throws {
        guard let knowledge = end.knowledge else { return }
        let version = try await end.demand(HCICommands.ReadLocalVersionInformation())
        let known = knowledge.workarounds(version)
        if known.lacksFirmware(address: try await end.demand(HCICommands.ReadBDADDR()).bdADDR) {
            let advice = knowledge.adviceOnFirmware(version).map { ": \($0)" } ?? ""
            throw StepFailure(
                .environment,
                "the \(end.side.rawValue) (\(end.name)) runs without its firmware: it answers commands, but receives nothing on the air\(advice)"
            )
        }
        guard end.side == .tester, known.avoidsCodedPHY, features.remove("tester.LE_Coded_PHY") != nil else { return }
        remark = "the tester's dongle claims LE Coded, and its kind is known to hear nothing with it: it counts as one without"
    }

    /// Reads the buffers for LE data. A length or a number of 0 means that LE shares the buffers of BR/EDR. Core Vol 4, Part E, 7.8.2.
    ///
    /// - Returns: the buffers of LE alone.
    private func readBuffers() async throws -> ACLBuffers? {
        let own = try await end.demand(HCICommands.LEReadBufferSize())
        guard own.leACLDataPacketLength == 0 || own.totalNumLEACLDataPackets == 0 else {
            let buffers = ACLBuffers(fragmentLength: Int(own.leACLDataPacketLength), total: Int(own.totalNumLEACLDataPackets))
            end.setBuffers([buffers])
            return buffers
        }
        let shared = try await end.demand(HCICommands.ReadBufferSize())
        let (length, count) = (Int(shared.aclDataPacketLength), Int(shared.totalNumACLDataPackets))
        end.setBuffers([ACLBuffers(fragmentLength: max(1, length), total: max(1, count))])
        return nil
    }

    /// Reads the buffers of BR/EDR. Core Vol 4, Part E, 7.4.5.
    private func readClassicBuffers(beside buffers: ACLBuffers) async throws {
        let own = try await end.demand(HCICommands.ReadBufferSize())
        guard own.aclDataPacketLength > 0, own.totalNumACLDataPackets > 0 else { return }
        end.setBuffers([buffers, ACLBuffers(fragmentLength: Int(own.aclDataPacketLength), total: Int(own.totalNumACLDataPackets))])
    }
}
