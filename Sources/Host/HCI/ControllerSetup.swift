import BBHCI
import BBPackets
import BBTiming
import BBTraffic
import BBTransport

/// Initializes the controller from any state, and reads its properties.
final class ControllerSetup {
    private(set) var information = ControllerInformation()
    private(set) var isDone = false
    private var isRunning = false
    let commands: CommandClient
    private let addresses: OwnAddresses
    private var context: HostContext { commands.path.context }

    init(_ commands: CommandClient, _ addresses: OwnAddresses) { (self.commands, self.addresses) = (commands, addresses) }

    /// Throws unless the host has been started and works.
    func check() throws { if !isDone { throw commands.failure ?? HostError.misuse(.notStarted) } }

    /// The pipe has ended.
    func ended() { isDone = false }

    /// Starts the controller: drains the pipe, resets, reads and sets the masks.
    ///
    /// - Parameter openPipe: opens the pipe to the controller unless it is open.
    func start(openPipe: () throws -> Void) async throws {
        if let failure = commands.failure { throw failure }
        guard !isRunning else { throw HostError.misuse(.busy(.start)) }
        isRunning = true
        defer { isRunning = false }
        try openPipe()
        information = ControllerInformation()
        information.resetAttempts = try await reset()
        try await readIdentity()
        try await readBuffers()
        try await readLEAbilities()
        try await setMasks()
        try await addresses.choose(for: information)
        isDone = true
    }

    /// Resets the controller.
    ///
    /// - Returns: the number of HCI_Reset commands until one was answered.
    func reset() async throws -> Int {
        let limits = commands.limits.resets
        var attempts = 0
        for limit in limits {
            attempts += 1
            do {
                try await commands.send(HCICommands.Reset(), within: limit) { [commands] _ in commands.controllerWasReset() }
                if attempts > 1 { context.learned.note(.deafAtStart, "HCI_Reset was answered late, or at the next one") }
                return attempts
            } catch HostError.environment(.commandTimeOut) where attempts < limits.count {
                continue
            }
        }
        throw HostError.environment(.commandTimeOut(opcode: HCICommands.Reset.opcode))
    }

    private func readIdentity() async throws {
        let version = try await ask(HCICommands.ReadLocalVersionInformation())
        if let version {
            information.hciVersion = version.hciVersion
            information.hciRevision = version.hciSubversion
            information.lmpVersion = version.lmpVersion
            information.manufacturer = version.companyIdentifier
            information.lmpSubversion = version.lmpSubversion
            if let knowledge = context.knowledge { context.workarounds = knowledge.workarounds(version) }
        }
        if let commands = try await ask(HCICommands.ReadLocalSupportedCommands()) {
            information.supportedCommands = commands.supportedCommands
        }
        if let features = try await ask(HCICommands.ReadLocalSupportedFeatures()) { information.features = features.lmpFeatures }
        let address = try await ask(HCICommands.ReadBDADDR())
        if let address { information.address = DeviceAddress(address.bdADDR, kind: .public) }
        if context.workarounds.lacksFirmware(address: address?.bdADDR) {
            let advice = version.flatMap { context.knowledge?.adviceOnFirmware($0) }.map { "; \($0)" } ?? ""
            context.learned.note(.firmwareMissing, "its firmware is not loaded: it will hear nothing on the air\(advice)")
        }
    }

    private func readBuffers() async throws {
        if information.mayHave(HCICommands.ReadBufferSize.self), let shared = try await ask(HCICommands.ReadBufferSize()) {
            information.classicDataLength = Int(shared.aclDataPacketLength)
            information.classicDataPackets = Int(shared.totalNumACLDataPackets)
            takeVoiceBuffers(
                octets: Int(shared.synchronousDataPacketLength), packets: Int(shared.totalNumSynchronousDataPackets))
        }
        let own = try await ask(HCICommands.LEReadBufferSize())
        if let own, own.leACLDataPacketLength > 0, own.totalNumLEACLDataPackets > 0 {
            information.hasOwnLEBuffers = true
            information.leDataLength = Int(own.leACLDataPacketLength)
            information.leDataPackets = Int(own.totalNumLEACLDataPackets)
        } else if information.classicDataPackets > 0 || own != nil {
            information.leDataLength = information.classicDataLength
            information.leDataPackets = information.classicDataPackets
        } else {
            context.learned.note(.unusableBuffers, "it does not tell its buffers: one of \(Self.shortestBuffer) octets is assumed")
            (information.leDataLength, information.leDataPackets) = (Self.shortestBuffer, 1)
        }
        guard information.leDataLength >= Self.shortestBuffer, information.leDataPackets > 0 else {
            throw HostError.peer(.malformed(.buffers(octets: information.leDataLength, count: information.leDataPackets)))
        }
        var pools = [ACLBuffers(fragmentLength: information.leDataLength, total: information.leDataPackets)]
        if information.hasOwnLEBuffers, information.classicDataPackets > 0 {
            pools.append(ACLBuffers(fragmentLength: information.classicDataLength, total: information.classicDataPackets))
        }
        context.scheduler.setPools(pools)
    }

    /// Minimum buffer length of every LE controller. Core Vol 4, Part E, 7.8.2.
    private static let shortestBuffer = 27

    /// Takes over the voice buffers; without any, voice is not sent over HCI. Only one of length and count zero is an error of the controller.
    private func takeVoiceBuffers(octets: Int, packets: Int) {
        var (octets, packets) = (octets, packets)
        if let known = context.workarounds.voiceBuffers {
            (octets, packets) = (known.octets, known.packets)
        } else if octets == 0, packets > 0 {
            (octets, packets) = (64, 8)
            context.learned.note(.unusableBuffers, "its buffers for voice have no octets: 8 of 64 are assumed")
        }
        information.voiceDataPackets = packets
        information.voiceDataLength = packets > 0 ? octets : 0
    }

    private func readLEAbilities() async throws {
        if let features = try await ask(HCICommands.LEReadLocalSupportedFeatures()) { information.leFeatures = features.leFeatures }
        information.leStates = try await ask(HCICommands.LEReadSupportedStates())?.leStates ?? 0
        information.filterAcceptListSize = Int(try await ask(HCICommands.LEReadFilterAcceptListSize())?.filterAcceptListSize ?? 0)
        guard information.leFeatures.contains(.leDataPacketLengthExtension),
            let longest = try await ask(HCICommands.LEReadMaximumDataLength())
        else { return }
        information.maximumDataLength = DataLength(
            txOctets: longest.supportedMaxTXOctets, txTime: longest.supportedMaxTXTime, rxOctets: longest.supportedMaxRXOctets,
            rxTime: longest.supportedMaxRXTime)
    }

    /// Maximum advertising data length of an extended set.
    func maximumAdvertisingDataLength() async throws -> Int {
        if let known = information.maximumAdvertisingDataLength { return known }
        let length = Int(try await ask(HCICommands.LEReadMaximumAdvertisingDataLength())?.maxAdvertisingDataLength ?? 31)
        information.maximumAdvertisingDataLength = length
        return length
    }

    /// Advertising sets of the controller; nil if that has been read before.
    func readAdvertisingSets() async throws -> Int? {
        guard information.advertisingSets == nil else { return nil }
        let sets = Int(try await ask(HCICommands.LEReadNumberOfSupportedAdvertisingSets())?.numSupportedAdvertisingSets ?? 0)
        information.advertisingSets = sets
        return sets
    }

    /// Sends an optional query; nil if the controller refuses it, does not answer in time, or answers with something malformed.
    private func ask<Command: HCICommand>(_ command: Command) async throws -> Command.Return? {
        guard !context.workarounds.avoidedCommands.contains(Command.opcode) else { return nil }
        do {
            return try await commands.send(command, within: min(commands.limits.optionalRead, commands.limits.command))
        } catch HostError.peer(.rejected(_, let status)) {
            if Command.supportedCommandsBit != nil, information.supports(Command.self) {
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

extension Host {
    /// The controller as it described itself at the last start.
    public var controller: ControllerInformation { setup.information }
    public var isStarted: Bool { setup.isDone }

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
        try await setup.start(openPipe: openPipe)
        return controller
    }

    private func openPipe() throws {
        family.reset()
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
}
