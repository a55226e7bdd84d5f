import BBMisbehaviour
import Yams

/// An entry of `Chips.yaml`: what a chip reports and does, and the text of its page.
struct ChipEntry: Decodable {
    struct USB: Decodable {
        var vendor: UInt16
        var product: UInt16
        /// bcdDevice.
        var release: UInt16
        var maker: String?
        var productName: String?
    }

    struct VendorReturn: Decodable {
        var command: UInt16
        var octets: String
    }

    /// State of the firmware of a chip with a boot loader: already running, or not needed for answers to commands.
    enum Firmware: String, Decodable {
        case loaded
        case optional
    }

    var name: String
    var title: String
    /// Heading of the page.
    var page: String
    var usb: USB
    var boot: String?
    var firmware: Firmware?
    var leOnly: Bool?
    var version: ChipProfile.Version?
    var commands: String?
    var leFeatures: UInt64?
    var lmpFeatures: UInt64?
    var states: UInt64?
    /// `LENGTHxCOUNT`; `shared` where LE has none of its own.
    var acl: String?
    var voice: String?
    var le: String?
    var acceptList: Int?
    var resolvingList: Int?
    var advertisingSets: Int?
    var advertisingData: Int?
    var vendorReturns: [VendorReturn]?
    var quirks: [String]?
    /// Sections of the page.
    var about: String

    /// The entries of `Chips.yaml`.
    static func read() throws -> [ChipEntry] {
        try YAMLDecoder().decode([ChipEntry].self, from: String(decoding: PackageResources.Chips_yaml, as: UTF8.self))
    }
}

extension ChipProfile {
    init(_ entry: ChipEntry) {
        self.init(
            name: entry.name, title: entry.title, vendorID: entry.usb.vendor, productID: entry.usb.product, release: entry.usb.release,
            manufacturer: entry.usb.maker ?? "", product: entry.usb.productName ?? "")
        boot = entry.boot.flatMap { BootModel(rawValue: $0) }
        (hasFirmware, worksWithoutFirmware) = (entry.firmware == .loaded, entry.firmware == .optional)
        version = entry.version
        isDualMode = entry.leOnly != true
        commands = entry.commands.map(Self.octets)
        (leFeatures, lmpFeatures, states) = (entry.leFeatures, entry.lmpFeatures, entry.states)
        acl = Self.buffers(entry.acl) ?? acl
        voice = Self.buffers(entry.voice) ?? voice
        if let text = entry.le { le = Self.buffers(text) }
        (acceptList, resolvingList) = (entry.acceptList ?? acceptList, entry.resolvingList ?? resolvingList)
        (advertisingSets, advertisingData) = (entry.advertisingSets ?? advertisingSets, entry.advertisingData ?? advertisingData)
        for row in entry.vendorReturns ?? [] { vendorReturns[row.command] = Self.octets(row.octets) }
        quirks = entry.quirks ?? []
        pageTitle = entry.page
        about = entry.about
    }

    private static func octets(_ text: String) -> [UInt8] { QuirkValue.Kind.octets.read(text)?.octets ?? [] }

    /// Reads buffers such as `27x15`; nil for shared ones.
    private static func buffers(_ text: String?) -> Buffers? {
        guard case .buffers(let length, let count)? = text.flatMap({ QuirkValue.Kind.buffers.read($0) }) else { return nil }
        return Buffers(length, count)
    }
}
