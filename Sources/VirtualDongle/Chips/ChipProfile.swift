import BBPackets
import BBSimulation

/// A chip as seen from outside: USB descriptors, version and capabilities, and behaviour.
public struct ChipProfile: Sendable {
    /// The five values of Read_Local_Version_Information. Core Vol 4, Part E, 7.4.1.
    struct Version: Sendable, Decodable {
        var hci: UInt8
        var hciSubversion: UInt16
        var lmp: UInt8
        var company: UInt16
        var lmpSubversion: UInt16
    }

    struct Buffers: Sendable {
        var length: Int
        var count: Int

        init(_ length: Int, _ count: Int) { (self.length, self.count) = (length, count) }
    }

    public let name: String
    public let title: String
    var vendorID: UInt16
    var productID: UInt16
    /// bcdDevice.
    var release: UInt16
    var manufacturer = ""
    var product = ""
    /// The boot model of a chip that needs firmware or already runs it.
    public internal(set) var boot: BootModel?
    var hasFirmware = false
    /// True if the chip, without firmware, works as a controller that receives nothing.
    var worksWithoutFirmware = false
    /// Reported version; nil if the boot loader determines it.
    var version: Version?
    var isDualMode = true
    /// Supported_Commands, LE features, LMP features page 0 and supported states as the chip reports them; nil for those of the simulation.
    var commands: [UInt8]?
    var leFeatures: UInt64?
    var lmpFeatures: UInt64?
    var states: UInt64?
    var acl = Buffers(1_021, 8)
    var voice = Buffers(64, 8)
    /// LE ACL buffers; nil if LE shares those of BR/EDR.
    var le: Buffers? = Buffers(251, 8)
    var acceptList = 8
    var resolvingList = 8
    var advertisingSets = 3
    var advertisingData = 1_650
    /// Quirks as `NAME` or `NAME=VALUE`.
    public var quirks: [String] = []
    /// Return parameters of vendor read commands, after the status.
    var vendorReturns: [UInt16: [UInt8]] = [:]
    /// Heading and sections of the chip's page; empty for a chip without one.
    var pageTitle = ""
    var about = ""

    /// True for a chip in the plain boot loader of this model, without firmware.
    public func waits(for model: BootModel) -> Bool { boot == model && !hasFirmware && !worksWithoutFirmware }

    /// True if the chip does not work until a host has loaded its firmware.
    public var needsLoader: Bool { boot != nil && !hasFirmware }

    public static func named(_ name: String) -> ChipProfile? { all.first { $0.name == name } }

    /// Applies the chip's identity to USB descriptors.
    public func apply(to descriptors: inout DongleDescriptors) {
        if let boot { descriptors = boot.descriptors(serialNumber: descriptors.serialNumber) }
        (descriptors.vendorID, descriptors.productID, descriptors.release) = (vendorID, productID, release)
        if !manufacturer.isEmpty { descriptors.manufacturer = manufacturer }
        descriptors.product = product.isEmpty ? title : product
    }

    /// Applies the chip's capabilities to a controller configuration, as far as the simulation supports them.
    func apply(to configuration: inout ControllerConfiguration) {
        configuration.profile = isDualMode ? .dual : .le
        if let version {
            configuration.limit(to: version.hci)
            (configuration.subversion, configuration.companyIdentifier) = (version.lmpSubversion, version.company)
        } else if let loaded = boot?.loaded {
            (configuration.subversion, configuration.companyIdentifier) = (loaded.subversion, loaded.company)
        }
        if let leFeatures { configuration.features = LEFeatures.simulated.intersection(LEFeatures(rawValue: leFeatures)) }
        if let lmpFeatures { configuration.choices.withoutLMPFeatures = ~lmpFeatures }
        (configuration.bredrACLLength, configuration.bredrACLCount) = (UInt16(acl.length), UInt8(clamping: acl.count))
        (configuration.synchronousLength, configuration.synchronousCount) = (UInt8(clamping: voice.length), UInt16(voice.count))
        let own = le ?? acl
        (configuration.aclLength, configuration.aclCount) = (UInt16(own.length), UInt8(clamping: own.count))
        configuration.choices.sharesBuffers = le == nil
        (configuration.acceptListSize, configuration.resolvingListSize) = (acceptList, resolvingList)
        (configuration.maxAdvertisingSets, configuration.maxAdvertisingDataLength) = (advertisingSets, advertisingData)
        if let commands { configuration.choices.withoutCommands.formUnion(Self.missing(from: commands)) }
    }

    /// Commands that are not in a Supported_Commands mask.
    private static func missing(from commands: [UInt8]) -> [UInt16] {
        PDUCatalog.all.compactMap { declaration in
            guard declaration.layer == .hciCommands, let bit = declaration.supportedCommandsBit, !bit.isSet(in: commands) else {
                return nil
            }
            return UInt16(exactly: declaration.code)
        }
    }

    /// Conduct rules in front of the controller.
    ///
    /// - Parameter claims: report all capabilities of the chip, including those that the simulation lacks.
    func makeRules(claims: Bool) -> [any ConductRule] {
        var rules: [any ConductRule] = []
        if let version { rules.append(Self.tells(version)) }
        if !vendorReturns.isEmpty { rules.append(VendorReturns(vendorReturns)) }
        guard claims else { return rules }
        if let leFeatures {
            rules.append(
                PacketRule.returns(of: HCICommands.LEReadLocalSupportedFeatures.self) { $0.leFeatures = LEFeatures(rawValue: leFeatures) })
        }
        if let states { rules.append(PacketRule.returns(of: HCICommands.LEReadSupportedStates.self) { $0.leStates = states }) }
        if let lmpFeatures {
            rules.append(PacketRule.returns(of: HCICommands.ReadLocalSupportedFeatures.self) { $0.lmpFeatures = lmpFeatures })
            rules.append(
                PacketRule.returns(of: HCICommands.ReadLocalExtendedFeatures.self) {
                    if $0.pageNumber == 0 { $0.extendedLMPFeatures = lmpFeatures }
                })
        }
        if let commands { rules.append(ClaimedCommands(commands)) }
        return rules
    }

    private static func tells(_ version: Version) -> PacketRule {
        PacketRule.returns(of: HCICommands.ReadLocalVersionInformation.self) {
            ($0.hciVersion, $0.hciSubversion, $0.lmpVersion) = (version.hci, version.hciSubversion, version.lmp)
            ($0.companyIdentifier, $0.lmpSubversion) = (version.company, version.lmpSubversion)
        }
    }
}

/// Answers vendor read commands.
final class VendorReturns: ConductRule {
    private let returns: [UInt16: [UInt8]]

    init(_ returns: [UInt16: [UInt8]]) { self.returns = returns }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.commandOpcode, let octets = returns[opcode] else { return packet }
        wire.answer(HCIPacket(completeOpcode: opcode, returns: [ErrorCode.success.rawValue] + octets))
        return nil
    }
}

/// Reports the capabilities of a chip. A reported command that the simulation lacks succeeds without effect; a command that would start an
/// activity is disallowed.
final class ClaimedCommands: ConductRule {
    private let map: [UInt8]
    private var asked: [UInt16: HCIPacket] = [:]

    init(_ map: [UInt8]) { self.map = map.padded(to: 64) }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if let opcode = packet.commandOpcode { asked[opcode] = packet }
        return packet
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        if packet.completedOpcode == HCICommands.ReadLocalSupportedCommands.opcode {
            return packet.changingReturns(of: HCICommands.ReadLocalSupportedCommands.self) { $0.supportedCommands = map }
        }
        guard let event = try? packet.event(as: HCIEvents.CommandStatus.self), event.status == .unknownHCICommand,
            let command = asked[event.commandOpcode], let declaration = PDUCatalog.command(opcode: event.commandOpcode),
            declaration.supportedCommandsBit?.isSet(in: map) == true
        else { return packet }
        if declaration.completion == .complete { return HCIPacket.success(of: command) ?? packet }
        return HCIPacket(statusOpcode: event.commandOpcode, .commandDisallowed, credits: event.numHCICommandPackets)
    }
}
