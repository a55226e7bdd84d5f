import HCI
import Packets
import Timing
import Transport

extension Host {
    /// Opens the pipe and initializes the controller from any state.
    ///
    /// Stale packets are discarded, HCI_Reset is sent up to three times, then the properties of the controller are read and the events that
    /// the host handles are enabled. Only HCI_Reset has to succeed; other values stay unknown, which is reported in `learned`.
    ///
    /// Calling it again restarts everything; earlier links, scans and sets have ended.
    ///
    /// - Throws: `HostError.environment` if the pipe or the controller does not work, `.peer(.rejected)` if it rejects HCI_Reset,
    ///   `.peer(.malformed(.buffers))` if it has no LE buffers.
    @discardableResult
    public func start() async throws -> ControllerInformation {
        if let failure { throw failure }
        guard !isStarting else { throw HostError.misuse(.busy(.start)) }
        isStarting = true
        defer { isStarting = false }
        try openPipe()
        controller = ControllerInformation()
        controller.resetAttempts = try await reset()
        try await readIdentity()
        try await readBuffers()
        try await readLEAbilities()
        try await setMasks()
        try await takeAddress()
        isStarted = true
        return controller
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

    /// Returns the number of HCI_Resets sent until one was answered.
    func reset() async throws -> Int {
        family = LECommandFamily()
        var attempts = 0
        for limit in limits.resets {
            attempts += 1
            do {
                try await send(HCICommands.Reset(), within: limit)
                hardwareError = nil
                if attempts > 1 { context.learned.note(.deafAtStart, "HCI_Reset was answered late, or at the next one") }
                return attempts
            } catch HostError.environment(.commandTimeOut) where attempts < limits.resets.count {
                continue
            }
        }
        throw HostError.environment(.commandTimeOut(opcode: HCICommands.Reset.opcode))
    }

    private func readIdentity() async throws {
        let version = try await ask(HCICommands.ReadLocalVersionInformation())
        if let version {
            controller.hciVersion = version.hciVersion
            controller.hciRevision = version.hciSubversion
            controller.lmpVersion = version.lmpVersion
            controller.manufacturer = version.companyIdentifier
            controller.lmpSubversion = version.lmpSubversion
            recognise(version)
        }
        if let commands = try await ask(HCICommands.ReadLocalSupportedCommands()) {
            controller.supportedCommands = commands.supportedCommands
        }
        if let features = try await ask(HCICommands.ReadLocalSupportedFeatures()) { controller.features = features.lmpFeatures }
        let address = try await ask(HCICommands.ReadBDADDR())
        if let address { controller.address = DeviceAddress(address.bdADDR, kind: .public) }
        if workarounds.lacksFirmware(address: address?.bdADDR) {
            let advice = version.flatMap { knowledge?.adviceOnFirmware($0) }.map { "; \($0)" } ?? ""
            context.learned.note(.firmwareMissing, "its firmware is not loaded: it will hear nothing on the air\(advice)")
        }
    }

    private func recognise(_ version: HCICommands.ReadLocalVersionInformation.Return) {
        guard let knowledge else { return }
        workarounds = knowledge.workarounds(version)
    }

    private func readBuffers() async throws {
        if controller.mayHave(HCICommands.ReadBufferSize.self), let shared = try await ask(HCICommands.ReadBufferSize()) {
            controller.classicDataLength = Int(shared.aclDataPacketLength)
            controller.classicDataPackets = Int(shared.totalNumACLDataPackets)
            takeVoiceBuffers(
                octets: Int(shared.synchronousDataPacketLength), packets: Int(shared.totalNumSynchronousDataPackets))
        }
        let own = try await ask(HCICommands.LEReadBufferSize())
        if let own, own.leACLDataPacketLength > 0, own.totalNumLEACLDataPackets > 0 {
            controller.hasOwnLEBuffers = true
            controller.leDataLength = Int(own.leACLDataPacketLength)
            controller.leDataPackets = Int(own.totalNumLEACLDataPackets)
        } else if controller.classicDataPackets > 0 || own != nil {
            controller.leDataLength = controller.classicDataLength
            controller.leDataPackets = controller.classicDataPackets
        } else {
            context.learned.note(.unusableBuffers, "it does not tell its buffers: one of \(Self.shortestBuffer) octets is assumed")
            (controller.leDataLength, controller.leDataPackets) = (Self.shortestBuffer, 1)
        }
        guard controller.leDataLength >= Self.shortestBuffer, controller.leDataPackets > 0 else {
            throw HostError.peer(.malformed(.buffers(octets: controller.leDataLength, count: controller.leDataPackets)))
        }
        var pools = [ACLBuffers(fragmentLength: controller.leDataLength, total: controller.leDataPackets)]
        if controller.hasOwnLEBuffers, controller.classicDataPackets > 0 {
            pools.append(ACLBuffers(fragmentLength: controller.classicDataLength, total: controller.classicDataPackets))
        }
        context.scheduler.setPools(pools)
    }

    /// Minimum buffer length of every LE controller. Core Vol 4, Part E, 7.8.2.
    private static let shortestBuffer = 27

    /// Without buffers, voice is not sent over HCI. Zero length or zero count alone is an error of the controller.
    private func takeVoiceBuffers(octets: Int, packets: Int) {
        var (octets, packets) = (octets, packets)
        if let known = workarounds.voiceBuffers {
            (octets, packets) = (known.octets, known.packets)
        } else if octets == 0, packets > 0 {
            (octets, packets) = (64, 8)
            context.learned.note(.unusableBuffers, "its buffers for voice have no octets: 8 of 64 are assumed")
        }
        controller.voiceDataPackets = packets
        controller.voiceDataLength = packets > 0 ? octets : 0
    }

    private func readLEAbilities() async throws {
        if let features = try await ask(HCICommands.LEReadLocalSupportedFeatures()) { controller.leFeatures = features.leFeatures }
        controller.leStates = try await ask(HCICommands.LEReadSupportedStates())?.leStates ?? 0
        controller.filterAcceptListSize = Int(try await ask(HCICommands.LEReadFilterAcceptListSize())?.filterAcceptListSize ?? 0)
        guard controller.leFeatures.contains(.leDataPacketLengthExtension),
            let longest = try await ask(HCICommands.LEReadMaximumDataLength())
        else { return }
        controller.maximumDataLength = DataLength(
            txOctets: longest.supportedMaxTXOctets, txTime: longest.supportedMaxTXTime, rxOctets: longest.supportedMaxRXOctets,
            rxTime: longest.supportedMaxRXTime)
    }

    /// Maximum advertising data length of an extended set.
    func maximumAdvertisingDataLength() async throws -> Int {
        if let known = controller.maximumAdvertisingDataLength { return known }
        let length = Int(try await ask(HCICommands.LEReadMaximumAdvertisingDataLength())?.maxAdvertisingDataLength ?? 31)
        controller.maximumAdvertisingDataLength = length
        return length
    }

    /// Reads a value that the host can do without; nil if the controller rejects, does not answer in time, or sends malformed parameters.
    func ask<Command: HCICommand>(_ command: Command) async throws -> Command.Return? {
        guard !workarounds.avoidedCommands.contains(Command.opcode) else { return nil }
        do {
            return try await send(command, within: min(limits.optionalRead, limits.command))
        } catch HostError.peer(.rejected(_, let status)) {
            if Command.supportedCommandsBit != nil, controller.supports(Command.self) {
                context.learned.note(.claimedAndRefused, "\(Command.name) is claimed and refused: \(status)")
            }
        } catch HostError.peer {
            context.learned.note(.identityIncomplete, "the answer to \(Command.name) cannot be read")
        } catch HostError.environment(.commandTimeOut) {
            context.learned.note(.unansweredCommand, "\(Command.name) is not answered")
        }
        return nil
    }
}
