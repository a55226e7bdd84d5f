import BBCases
import BBPackets
import BBSimulation
import BBTiming
import BBTraffic
import BBTransport
import BBVirtualDongle

/// A case's simulated air with its virtual controllers.
final class SimulatedWorld {
    let simulation: Simulation
    let loop: RunLoop
    private let seed: UInt64
    private var identifiers: [Side: ControllerID] = [:]
    /// The USB side of controllers that are reached through it.
    private(set) var usb: [Side: any USBPort] = [:]

    init(loop: RunLoop, seed: UInt64) {
        self.loop = loop
        self.seed = seed
        simulation = Simulation(loop: loop, seed: seed)
    }

    /// Adds a virtual controller and returns the host's end of its pipe.
    func addController(_ side: Side, settings: [QuirkSetting], rewrites: [Fault.Rewrite] = []) throws -> any HCITransport {
        let conduct = try QuirkCatalogue.conduct(settings)
        let configuration = try Self.configuration(side, conduct, rewrites)
        guard conduct.isAboutPackets else {
            let (identifier, host) = try simulation.addController(configuration)
            identifiers[side] = identifier
            return host
        }
        let (host, end) = InProcessTransport.pair(on: loop)
        identifiers[side] = try simulation.addController(configuration, on: front(end, conduct, side))
        return host
    }

    /// Adds a virtual controller behind the endpoints of a dongle and returns the pipe of a host at USB. The dongle offers Bulk Serialization
    /// mode, unless its settings turn that off.
    ///
    /// - Parameter isComposite: it is one function of several.
    func addDongle(
        _ side: Side, _ placement: VirtualUSB = VirtualUSB(), isComposite: Bool, settings: [QuirkSetting], rewrites: [Fault.Rewrite]
    ) throws -> any HCITransport {
        let pipe = try addController(side, settings: settings, rewrites: rewrites)
        let conduct = try QuirkCatalogue.conduct(settings)
        var descriptors = DongleDescriptors(serialNumber: "1")
        descriptors.offersSerialisedMode = !settings.contains { $0.name == "serialised-mode" && $0.value == .flag(false) }
        if isComposite { descriptors.deviceClass = DongleDescriptors.composite }
        conduct.apply(to: &descriptors)
        let dongle = try USBDongle(descriptors: descriptors, pipe: pipe, loop: loop, conduct: conduct.usb)
        let host = VirtualUSBHost(dongle, placement, name: "virtual", on: loop)
        usb[side] = host
        return host
    }

    /// Adds the dongle's conduct in front of a virtual controller.
    private func front(_ end: any HCITransport, _ conduct: DongleConduct, _ side: Side) -> any HCITransport {
        ConductTransport(end, conduct: conduct, seed: seed &+ (side == .tester ? 1 : 2), on: loop)
    }

    /// Adds a virtual controller on the controller's end of a pipe.
    func addController(_ side: Side, settings: [QuirkSetting], on end: any HCITransport) throws {
        let conduct = try QuirkCatalogue.conduct(settings)
        let configuration = try Self.configuration(side, conduct, [])
        identifiers[side] = try simulation.addController(configuration, on: conduct.isAboutPackets ? front(end, conduct, side) : end)
    }

    /// The virtual controller of a mutant; nil if it is a host's, or if its fault is in the pipe to the host.
    static func configuration(of mutant: Mutant) throws -> ControllerConfiguration? {
        let conduct = try QuirkCatalogue.conduct(mutant.fault.settings)
        guard mutant.end == .controller, !conduct.isAboutPackets else { return nil }
        return try configuration(.subject, conduct, mutant.fault.rewrites)
    }

    private static func configuration(_ side: Side, _ conduct: DongleConduct, _ rewrites: [Fault.Rewrite]) throws -> ControllerConfiguration
    {
        var configuration = ControllerConfiguration(address: Self.address(of: side))
        configuration.profile = .dual
        conduct.apply(to: &configuration)
        try FaultRules.add(rewrites, to: &configuration.quirks)
        return configuration
    }

    static func address(of side: Side) -> DeviceAddress {
        DeviceAddress(value: side == .tester ? 0x00B1_BE00_0001 : 0x00B1_BE00_0002)
    }

    func setPacketErrorRate(_ rate: Double) {
        simulation.setLoss(corrupted: rate)
    }

    /// Logs the packets on the air for a case.
    func observe(into log: ObservationLog) {
        let sides = Dictionary(identifiers.map { ($0.value, $0.key) }) { first, _ in first }
        simulation.observeAir { observation in
            guard let side = sides[observation.sender] else { return }
            AirReader.note(observation, side, in: log)
        }
        simulation.observeBaseband { observation in
            if let side = sides[observation.sender] { BasebandPacket.note(observation, side, in: log) }
        }
    }

    /// Adds a rule for packets sent by a side's controller; returns false if there is no such controller.
    func add(_ rule: Fault.Rewrite, at side: Side) throws -> Bool {
        guard let identifier = identifiers[side], let rewrite = try FaultRules.controllerRewrite(rule) else { return false }
        simulation.add(rewrite, to: identifier)
        return true
    }

    /// Corrupts the MIC of a side's next encrypted PDU.
    func spoilMIC(at side: Side) {
        if let identifier = identifiers[side] { simulation.spoilMIC(of: identifier) }
    }

    /// Sends an LMP message outside any procedure; returns false if there is no link.
    func inject(lmp message: [UInt8], at side: Side, inAnswer: Bool = false) -> Bool {
        guard let identifier = identifiers[side] else { return false }
        return simulation.inject(lmp: message, from: identifier, inAnswer: inAnswer)
    }

    /// Sends a link layer control PDU outside any procedure; returns false if there is no link.
    ///
    /// - Parameter inClear: true to send it unencrypted on an encrypted link.
    func inject(_ pdu: [UInt8], at side: Side, inClear: Bool) -> Bool {
        guard let identifier = identifiers[side] else { return false }
        return simulation.inject(pdu, from: identifier, inClear: inClear)
    }
}

/// Decodes the PDUs on the air.
enum AirReader {
    static func note(_ observation: AirObservation, _ side: Side, in log: ObservationLog) {
        var frame = observation.frame
        guard let pdu = frame.pdu else { return }
        let name: String
        switch pdu.kind {
        case .advertising, .auxiliary: name = pdu.declaration?.name ?? "advertising PDU \(pdu.type)"
        case .data:
            // A control PDU is logged in clear.
            if pdu.isControl, let plain = observation.plain { frame = frame.decrypted(pdu, to: Array(plain.dropFirst(2))) }
            let opcode = frame.controlOctets?.first
            name =
                opcode.map { PDUCatalog.declaration(layer: .llControl, code: Int($0))?.name ?? "LL control PDU \($0)" }
                ?? LinkLayerData.name
        case .isochronous: return
        }
        log.add(side, name, .air(frame), number: 0, at: observation.start)
    }
}

extension Neighbours {
    /// Creates the background devices of a case or a variant.
    init(_ wanted: World.Neighbours) {
        self.init()
        advertisers = wanted.advertisers
        scanners = wanted.scanners
        links = wanted.links
        phones = wanted.phones
    }
}
