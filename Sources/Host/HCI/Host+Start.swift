import HCI
import Packets
import Timing
import Transport

extension Host {
    /// Opens the pipe and brings the controller from any state into a known one.
    ///
    /// What was left in the pipe is drained, HCI_Reset is tried up to three times, then the controller is asked what it is and the events that the host
    /// understands are let through.
    ///
    /// Calling it again brings everything back to the beginning; links, scans and sets of before have ended.
    ///
    /// - Throws: `HostError.environment` when the pipe or the controller does not work, `.peer(.rejected)` when it refuses a mandatory command.
    @discardableResult
    public func start() async throws -> ControllerInformation {
        if let failure { throw failure }
        guard !isStarting else { throw HostError.misuse(.busy(.start)) }
        isStarting = true
        defer { isStarting = false }
        try openPipe()
        var information = ControllerInformation()
        information.resetAttempts = try await reset()
        try await readIdentity(&information)
        try await readBuffers(&information)
        try await readLEAbilities(&information)
        try await setMasks(information)
        try await takeAddress(information)
        controller = information
        isStarted = true
        return information
    }

    private func openPipe() throws {
        guard path.host == nil else { return }
        path.host = self
        do {
            try path.transport.open(path)
        } catch {
            let failed = HostError.environment(.transport(error))
            fail(failed)
            throw failed
        }
    }

    private func reset() async throws -> Int {
        for attempt in 1... {
            do {
                try await send(HCICommands.Reset())
                return attempt
            } catch HostError.environment(.commandTimeOut(let opcode)) where attempt < 3 {
                _ = opcode
            }
        }
        return 0
    }

    private func readIdentity(_ information: inout ControllerInformation) async throws {
        let version = try await send(HCICommands.ReadLocalVersionInformation())
        information.hciVersion = version.hciVersion
        information.hciRevision = version.hciSubversion
        information.lmpVersion = version.lmpVersion
        information.manufacturer = version.companyIdentifier
        information.lmpSubversion = version.lmpSubversion
        information.supportedCommands = try await attempt(HCICommands.ReadLocalSupportedCommands())?.supportedCommands ?? []
        information.features = try await send(HCICommands.ReadLocalSupportedFeatures()).lmpFeatures
        information.address = DeviceAddress(try await send(HCICommands.ReadBDADDR()).bdADDR, kind: .public)
    }

    /// A controller without a public address refuses what would need one. Core Vol 4, Part E, 7.8.5.
    private func takeAddress(_ information: ControllerInformation) async throws {
        address = addressChoice.address(ofPublic: information.address.bdADDR) { random.next() }
        if address.kind == .random { try await setRandomAddress(address) }
    }

    private func readBuffers(_ information: inout ControllerInformation) async throws {
        if information.supports(HCICommands.ReadBufferSize.self) {
            let shared = try await send(HCICommands.ReadBufferSize())
            information.classicDataLength = Int(shared.aclDataPacketLength)
            information.classicDataPackets = Int(shared.totalNumACLDataPackets)
            information.voiceDataPackets = Int(shared.totalNumSynchronousDataPackets)
            information.voiceDataLength = information.voiceDataPackets > 0 ? Int(shared.synchronousDataPacketLength) : 0
        }
        let own = try await send(HCICommands.LEReadBufferSize())
        information.hasOwnLEBuffers = own.leACLDataPacketLength > 0 && own.totalNumLEACLDataPackets > 0
        information.leDataLength = information.hasOwnLEBuffers ? Int(own.leACLDataPacketLength) : information.classicDataLength
        information.leDataPackets = information.hasOwnLEBuffers ? Int(own.totalNumLEACLDataPackets) : information.classicDataPackets
        guard information.leDataLength >= 27, information.leDataPackets > 0 else {
            throw HostError.peer(.malformed(.buffers(octets: information.leDataLength, count: information.leDataPackets)))
        }
        var pools = [ACLBuffers(fragmentLength: information.leDataLength, total: information.leDataPackets)]
        if information.hasOwnLEBuffers, information.classicDataPackets > 0 {
            pools.append(ACLBuffers(fragmentLength: information.classicDataLength, total: information.classicDataPackets))
        }
        context.scheduler.setPools(pools)
    }

    private func readLEAbilities(_ information: inout ControllerInformation) async throws {
        information.leFeatures = try await send(HCICommands.LEReadLocalSupportedFeatures()).leFeatures
        information.leStates = try await attempt(HCICommands.LEReadSupportedStates())?.leStates ?? 0
        information.filterAcceptListSize = Int(try await attempt(HCICommands.LEReadFilterAcceptListSize())?.filterAcceptListSize ?? 0)
        if information.leFeatures.contains(.leDataPacketLengthExtension),
            let longest = try await attempt(HCICommands.LEReadMaximumDataLength())
        {
            information.maximumDataLength = DataLength(
                txOctets: longest.supportedMaxTXOctets, txTime: longest.supportedMaxTXTime, rxOctets: longest.supportedMaxRXOctets,
                rxTime: longest.supportedMaxRXTime)
        }
    }

    /// Octets of data that an extended advertising set takes.
    func maximumAdvertisingDataLength() async throws -> Int {
        if let known = controller.maximumAdvertisingDataLength { return known }
        let length = Int(try await attempt(HCICommands.LEReadMaximumAdvertisingDataLength())?.maxAdvertisingDataLength ?? 31)
        controller.maximumAdvertisingDataLength = length
        return length
    }

    /// For what is nice to know: nil from a controller that does not say.
    private func attempt<Command: HCICommand>(_ command: Command) async throws -> Command.Return? {
        do { return try await send(command) } catch HostError.peer { return nil }
    }

    /// What is asked of the first page of events; LE's own mask says which of those.
    static let handledEvents: [any HCIEvent.Type] = [
        HCIEvents.DisconnectionComplete.self, HCIEvents.EncryptionChange.self, HCIEvents.EncryptionKeyRefreshComplete.self,
        HCIEvents.ReadRemoteVersionInformationComplete.self, HCIEvents.HardwareError.self, HCIEvents.DataBufferOverflow.self,
        HCIEvents.LEConnectionComplete.self,
    ]

    private func setMasks(_ information: ControllerInformation) async throws {
        try await send(HCICommands.SetEventMask(eventMask: .covering(Self.handledEvents)))
        var mask: LEEventMask = [
            .leConnectionComplete, .leAdvertisingReport, .leConnectionUpdateComplete, .leReadRemoteFeaturesComplete, .leLongTermKeyRequest,
        ]
        let features = information.leFeatures
        if features.contains(.connectionParametersRequest) { mask.insert(.leRemoteConnectionParameterRequest) }
        if features.contains(.leDataPacketLengthExtension) { mask.insert(.leDataLengthChange) }
        if features.contains(.llPrivacy) { mask.insert(.leEnhancedConnectionComplete) }
        if !features.isDisjoint(with: [.le2MPHY, .leCodedPHY]) { mask.insert(.lePHYUpdateComplete) }
        if features.contains(.leExtendedAdvertising) {
            mask.formUnion([.leExtendedAdvertisingReport, .leScanTimeout, .leAdvertisingSetTerminated, .leScanRequestReceived])
        }
        if features.contains(.channelSelectionAlgorithm2) { mask.insert(.leChannelSelectionAlgorithm) }
        try await send(HCICommands.LESetEventMask(leEventMask: mask))
    }
}
