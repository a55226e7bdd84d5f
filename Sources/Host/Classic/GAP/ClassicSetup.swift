import BBHCI
import BBPackets

/// Properties that a device reports to inquiring devices. Core Vol 3, Part C, 3.2.
public struct ClassicDescription: Sendable, Hashable {
    /// The user-friendly name; at most 248 octets of UTF-8 are sent. Core Vol 3, Part C, 3.2.2.
    public var name: String
    /// Class of Device: major and minor device class and service classes, 24 bits. Core Vol 3, Part C, 3.2.4.
    public var classOfDevice: UInt32
    /// Services in the extended inquiry response. Core Vol 3, Part C, 8.
    public var services: [BluetoothUUID]

    public init(name: String, classOfDevice: UInt32 = 0x1F00, services: [BluetoothUUID] = []) {
        self.name = name
        self.classOfDevice = classOfDevice
        self.services = services
    }

    /// Octets of a name, and of an extended inquiry response. Core Vol 4, Part E, 7.3.11 and 7.3.56.
    static let nameLength = 248
    private static let responseLength = 240

    /// The name in UTF-8, truncated at a character boundary and padded with zeros.
    var nameOctets: [UInt8] { Self.filled(Self.cut(name, to: Self.nameLength), to: Self.nameLength) }

    /// Extended inquiry response data. A list that does not fit is truncated and marked as incomplete. Supplement, Part A, 1.1 and 1.2.
    var extendedResponse: [UInt8] {
        let own = [UInt8](name.utf8)
        let told = Self.cut(name, to: 80)
        var elements: [AdvertisingElement] = told.isEmpty ? [] : [.other(type: ADType.name(isComplete: told == own), told)]
        for width in [2, 4, 16] {
            let uuids = services.filter { $0.octetCount == width }
            let room = (Self.responseLength - AdvertisingData(elements).octets.count - 2) / width
            guard !uuids.isEmpty, room > 0 else { continue }
            elements.append(.services(Array(uuids.prefix(room)), complete: uuids.count <= room))
        }
        return Self.filled(AdvertisingData(elements).octets, to: Self.responseLength)
    }

    private static func cut(_ text: String, to length: Int) -> [UInt8] {
        var octets: [UInt8] = []
        for character in text {
            guard octets.count + character.utf8.count <= length else { break }
            octets += character.utf8
        }
        return octets
    }

    private static func filled(_ octets: [UInt8], to length: Int) -> [UInt8] {
        octets + [UInt8](repeating: 0, count: max(0, length - octets.count))
    }
}

/// The settings of the controller for BR/EDR. Core Vol 3, Part C, 3 and 4.
final class ClassicSetup {
    /// True if the BR/EDR settings were sent to the controller.
    private(set) var isPrepared = false
    /// True if the controller has generated out-of-band data for Secure Simple Pairing.
    private(set) var hasOutOfBandData = false
    /// The described class of device, without the service class of limited discoverable mode.
    private var classOfDevice: UInt32?
    /// The controller answers limited inquiries, too.
    private var isLimited = false
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    /// The controller was reset, or the pipe has ended.
    func ended() { (isPrepared, hasOutOfBandData, classOfDevice, isLimited) = (false, false, nil, false) }

    func setScan(isDiscoverable: Bool, isConnectable: Bool, isLimited: Bool = false) async throws {
        try await prepare()
        if isLimited != self.isLimited { try await setLimited(isLimited) }
        host.acceptsClassic = host.acceptsClassic ?? { _ in true }
        try await interlaceScans()
        try await host.send(HCICommands.WriteScanEnable(scanEnable: (isDiscoverable ? 1 : 0) | (isConnectable ? 2 : 0)))
    }

    /// Sets what limited discoverable mode has besides general discoverable mode: LIAC, and bit 13 of the class of device. Core Vol 3, Part
    /// C, 4.1.2.
    private func setLimited(_ isLimited: Bool) async throws {
        let laps = (isLimited ? [InquirySettings.limitedLAP] : []) + [InquirySettings.generalLAP]
        try await host.send(HCICommands.WriteCurrentIACLAP(iacLAP: laps))
        self.isLimited = isLimited
        if let classOfDevice { try await setClass(classOfDevice) }
    }

    private func setClass(_ classOfDevice: UInt32) async throws {
        let value = classOfDevice & 0xFF_FFFF & ~Self.limitedClass
        try await host.send(HCICommands.WriteClassOfDevice(classOfDevice: isLimited ? value | Self.limitedClass : value))
    }

    /// The service class of limited discoverable mode. Assigned numbers, 2.8.1.
    private static let limitedClass: UInt32 = 1 << 13

    /// Enables interlaced scans: they receive both trains in one interval, so the device is found in a third of the time. Core Vol 2, Part B,
    /// 8.3.1 and 8.4.1.
    private func interlaceScans() async throws {
        if host.controller.supportsInterlacedInquiryScan, host.controller.supports(HCICommands.WriteInquiryScanType.self) {
            try await host.send(HCICommands.WriteInquiryScanType(scanType: 1))
        }
        if host.controller.supportsInterlacedPageScan, host.controller.supports(HCICommands.WritePageScanType.self) {
            try await host.send(HCICommands.WritePageScanType(pageScanType: 1))
        }
    }

    func describe(_ description: ClassicDescription) async throws {
        try await prepare()
        try await host.send(HCICommands.WriteLocalName(localName: description.nameOctets))
        classOfDevice = description.classOfDevice
        try await setClass(description.classOfDevice)
        guard host.controller.supports(HCICommands.WriteExtendedInquiryResponse.self) else { return }
        try await host.send(HCICommands.WriteExtendedInquiryResponse(extendedInquiryResponse: description.extendedResponse))
    }

    func makeOutOfBandData() async throws -> ClassicOutOfBandData {
        try await prepare()
        let made = try await host.send(HCICommands.ReadLocalOOBExtendedData()) { [self] _ in hasOutOfBandData = true }
        return ClassicOutOfBandData(commitment192: made.c192, random192: made.r192, commitment256: made.c256, random256: made.r256)
    }

    /// Configures the controller for BR/EDR after each start, including the event mask. Secure Simple Pairing and Secure Connections are on
    /// for all links or none. Core Vol 4, Part E, 7.3.59 and 7.3.92.
    func prepare() async throws {
        try host.setup.check()
        guard !isPrepared else { return }
        guard !host.controller.isLEOnly else { throw HostError.misuse(.unsupported(.brEDR)) }
        isPrepared = true
        do {
            let events: [any HCIEvent.Type] = [
                HCIEvents.ConnectionComplete.self, HCIEvents.ConnectionRequest.self, HCIEvents.RoleChange.self,
                HCIEvents.InquiryComplete.self,
                HCIEvents.InquiryResult.self, HCIEvents.InquiryResultWithRSSI.self, HCIEvents.ExtendedInquiryResult.self,
                HCIEvents.RemoteNameRequestComplete.self, HCIEvents.SynchronousConnectionComplete.self,
            ]
            try await host.setup.setEventMask(covering: ControllerSetup.handledEvents + Host.classicSecurityEvents + events)
            try await prepareSecurity(host.pairingSettings ?? PairingSettings())
            if host.controller.supports(HCICommands.WriteDefaultLinkPolicySettings.self) {
                try await host.send(HCICommands.WriteDefaultLinkPolicySettings(defaultLinkPolicySettings: Self.linkPolicy))
            }
        } catch {
            isPrepared = false
            throw error
        }
    }

    /// Allows the peer to request role switch and sniff mode. Core Vol 4, Part E, 7.2.10 and 7.2.12.
    private static let linkPolicy: UInt16 = 0x0005

    private func prepareSecurity(_ settings: PairingSettings) async throws {
        if settings.supportsSimplePairing, host.controller.supports(HCICommands.WriteSimplePairingMode.self) {
            try await host.send(HCICommands.WriteSimplePairingMode(simplePairingMode: 1))
            if settings.supportsSecureConnections, host.controller.supports(HCICommands.WriteSecureConnectionsHostSupport.self) {
                try await host.send(HCICommands.WriteSecureConnectionsHostSupport(secureConnectionsHostSupport: 1))
            }
        }
        if host.controller.supports(HCICommands.WriteLEHostSupport.self) {
            try await host.send(HCICommands.WriteLEHostSupport(leSupportedHost: 1))
        }
    }
}

extension Host {
    /// Answers inquiries and pages, or does not; whoever connects is let in, unless `acceptsClassic` says otherwise. Core Vol 3, Part C, 4.1 and 4.2.
    ///
    /// - Parameter isLimited: limited instead of general discoverable mode, which the caller ends in time. Core Vol 3, Part C, 4.1.2.
    public func setScan(isDiscoverable: Bool, isConnectable: Bool, isLimited: Bool = false) async throws {
        try await classicSetup.setScan(isDiscoverable: isDiscoverable, isConnectable: isConnectable, isLimited: isLimited)
    }

    /// Sets the name, the class and the extended inquiry response. Core Vol 4, Part E, 7.3.11, 7.3.26 and 7.3.56.
    public func describeClassic(_ description: ClassicDescription) async throws { try await classicSetup.describe(description) }

    /// Creates out-of-band data for peers; the next pairing uses it. Core Vol 4, Part E, 7.3.95.
    public func makeClassicOutOfBandData() async throws -> ClassicOutOfBandData { try await classicSetup.makeOutOfBandData() }
}
