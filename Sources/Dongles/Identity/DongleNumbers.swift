import BBPackets
import BBTransportUSB

/// Numbers that identify the type of a dongle and its firmware: USB descriptors, if any, and HCI version information.
public struct DongleNumbers: Sendable, Hashable {
    public var vendor: UInt16?
    public var product: UInt16?
    /// bcdDevice.
    public var release: UInt16?
    /// HCI_Version of the assigned numbers; 0x0D is Core 5.4.
    public var hciVersion: UInt8
    public var hciRevision: UInt16
    public var lmpVersion: UInt8
    public var lmpSubversion: UInt16
    public var company: UInt16

    public init(
        vendor: UInt16? = nil, product: UInt16? = nil, release: UInt16? = nil, hciVersion: UInt8 = 0, hciRevision: UInt16 = 0,
        lmpVersion: UInt8 = 0, lmpSubversion: UInt16 = 0, company: UInt16 = 0
    ) {
        (self.vendor, self.product, self.release) = (vendor, product, release)
        (self.hciVersion, self.hciRevision) = (hciVersion, hciRevision)
        (self.lmpVersion, self.lmpSubversion, self.company) = (lmpVersion, lmpSubversion, company)
    }

    /// - Parameter usb: USB description; nil for a controller on another transport.
    public init(_ identity: DongleIdentity, usb: USBDongleDescription? = nil) {
        self.init(
            vendor: usb?.vendor, product: usb?.product, release: usb?.release, hciVersion: identity.hciVersion,
            hciRevision: identity.hciSubversion, lmpVersion: identity.lmpVersion, lmpSubversion: identity.lmpSubversion,
            company: identity.company)
    }

    /// Firmware version. Realtek uses both fields for it. Nil if the numbers contain none.
    public var firmware: String? {
        company == Self.realtek && !RealtekROMVersions.subversions.contains(lmpSubversion)
            ? hexadecimal(hciRevision) + hexadecimal(lmpSubversion) : nil
    }

    static let realtek: UInt16 = 0x005D
    static let csr: UInt16 = 0x000A

    /// All numbers in one line: `USB 0a12:0001 device 8891, HCI 4.0 revision 22bb, LMP 4.0 subversion 22bb, company 10`.
    public var line: String {
        let usb = vendor.map { "USB \(hexadecimal($0)):\(hexadecimal(product ?? 0)) device \(hexadecimal(release ?? 0)), " } ?? ""
        let image = firmware.map { ", firmware \($0)" } ?? ""
        return usb + "HCI \(DongleIdentity.coreVersion(hciVersion)) revision \(hexadecimal(hciRevision)), "
            + "LMP \(DongleIdentity.coreVersion(lmpVersion)) subversion \(hexadecimal(lmpSubversion)), company \(company)\(image)"
    }
}

extension DongleNumbers: Codable {
    private enum Key: String, CodingKey {
        case usb, release, company, firmware
        case hciVersion = "hci_version"
        case hciRevision = "hci_revision"
        case lmpVersion = "lmp_version"
        case lmpSubversion = "lmp_subversion"
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        func number(_ key: Key) throws -> UInt16? { try values.decodeIfPresent(String.self, forKey: key).flatMap { UInt16($0, radix: 16) } }
        self.init()
        let usb = try values.decodeIfPresent(String.self, forKey: .usb)?.split(separator: ":") ?? []
        if usb.count == 2 { (vendor, product) = (UInt16(usb[0], radix: 16), UInt16(usb[1], radix: 16)) }
        release = try number(.release)
        hciVersion = try values.decode(UInt8.self, forKey: .hciVersion)
        hciRevision = try number(.hciRevision) ?? 0
        lmpVersion = try values.decode(UInt8.self, forKey: .lmpVersion)
        lmpSubversion = try number(.lmpSubversion) ?? 0
        company = try values.decode(UInt16.self, forKey: .company)
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        if let vendor { try values.encode("\(hexadecimal(vendor)):\(hexadecimal(product ?? 0))", forKey: .usb) }
        try values.encodeIfPresent(release.map(hexadecimal), forKey: .release)
        try values.encode(hciVersion, forKey: .hciVersion)
        try values.encode(hexadecimal(hciRevision), forKey: .hciRevision)
        try values.encode(lmpVersion, forKey: .lmpVersion)
        try values.encode(hexadecimal(lmpSubversion), forKey: .lmpSubversion)
        try values.encode(company, forKey: .company)
        try values.encodeIfPresent(firmware, forKey: .firmware)
    }
}

/// Four lower-case hexadecimal digits without a prefix.
func hexadecimal(_ number: UInt16) -> String { Hex.number(number).dropFirst(2).lowercased() }

/// Version information of Realtek chips without firmware; firmware changes the LMP subversion.
public enum RealtekROMVersions {
    public static let subversions: Set<UInt16> = [
        0x1200, 0x8703, 0x8723, 0x8761, 0x8821, 0x8822, 0x8851, 0x8852, 0x8922,
    ]

    /// True if the controller runs its ROM without firmware.
    public static func runs(_ numbers: DongleNumbers) -> Bool {
        numbers.company == DongleNumbers.realtek && subversions.contains(numbers.lmpSubversion)
    }
}
