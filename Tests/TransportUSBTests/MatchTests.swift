import BBTransport
import Testing

@testable import BBTransportUSB

/// Identification of dongles and of their HCI interfaces by descriptors only.
@Suite struct MatchTests {
    private static func interface(_ number: UInt8, _ kind: USBInterfaces.Class, _ ends: [USBInterfaces.Endpoint], alternates: Int = 1)
        -> USBInterfaces.Interface
    {
        let settings = (0..<alternates).map { USBInterfaces.Setting(alternate: UInt8($0), kind: kind, endpoints: ends) }
        return .init(number: number, settings: settings)
    }

    private static func control(
        _ number: UInt8 = 0, _ kind: USBInterfaces.Class = .bluetooth, event: Int = 16, bulk: Int = 64, base: UInt8 = 1
    )
        -> USBInterfaces.Interface
    {
        interface(
            number, kind,
            [
                .init(address: 0x80 | base, attributes: 3, size: event), .init(address: base + 1, attributes: 2, size: bulk),
                .init(address: 0x80 | base + 1, attributes: 2, size: bulk),
            ])
    }

    private static func voice(_ number: UInt8, _ kind: USBInterfaces.Class = .bluetooth) -> USBInterfaces.Interface {
        interface(
            number, kind, [.init(address: 0x83, attributes: 1, size: 9), .init(address: 0x03, attributes: 1, size: 9)], alternates: 2)
    }

    private static func device(_ vendor: UInt16, _ product: UInt16, _ deviceClass: UInt8, _ interfaces: [USBInterfaces.Interface])
        -> USBInterfaces
    {
        USBInterfaces(vendor: vendor, product: product, deviceClass: deviceClass, interfaces: interfaces)
    }

    struct Row: Sendable, CustomStringConvertible {
        var description: String
        var device: USBInterfaces
        var isForced = false
        /// HCI interface, composite or not, and voice interface; nil if it is not a dongle.
        var found: (control: UInt8, isComposite: Bool, voice: UInt8?)?
        /// A word of the reason why it is unfit.
        var reason: String?
    }

    private static let audio = interface(0, .init(0x01, 2), [])
    private static let keyboard = interface(0, .init(0x03, 1, 1), [.init(address: 0x81, attributes: 3, size: 8)])
    private static let vendor = USBInterfaces.Class.vendorBluetooth

    static let rows: [Row] = [
        Row(description: "the usual", device: device(0x0BDA, 0x8771, 0xE0, [control(), voice(1)]), found: (0, false, 1)),
        Row(description: "composite", device: device(0x8087, 0x0032, 0xEF, [audio, control(2), voice(3)]), found: (2, true, 3)),
        Row(description: "class in the interface", device: device(0x0E8D, 0x7961, 0, [control(), voice(1)]), found: (0, true, 1)),
        Row(description: "no voice", device: device(0x2FE3, 0x000B, 0xE0, [control()]), found: (0, false, nil)),
        Row(
            description: "Broadcom with diagnostics and DFU",
            device: device(
                0x0A5C, 0x21E8, 0xFF,
                [control(0, vendor), voice(1, vendor), interface(2, .init(0xFF, 255), []), interface(3, .init(0xFE, 1), [])]),
            found: (0, false, 1)),
        Row(description: "Apple on interface 2", device: device(0x05AC, 0x8290, 0, [keyboard, control(2, vendor)]), found: (2, true, nil)),
        Row(description: "own class of a stranger", device: device(0x1234, 1, 0xFF, [control(0, vendor)])),
        Row(description: "the same, forced", device: device(0x1234, 1, 0xFF, [control(0, vendor)]), isForced: true, found: (0, false, nil)),
        Row(
            description: "anything with the endpoints, forced", device: device(0x1234, 1, 0, [keyboard, control(1, .init(0x0A))]),
            isForced: true,
            found: (1, true, nil)),
        Row(description: "known vendor, no endpoints", device: device(0x0A5C, 1, 0xFF, [interface(0, vendor, [])])),
        Row(description: "AMP", device: device(0x1286, 1, 0xE0, [control(0, .amp)]), reason: "AMP"),
        Row(description: "Digianswer", device: device(0x08FD, 1, 0xE0, [control()]), reason: "Digianswer"),
        Row(description: "HID proxy", device: device(0x0A12, 0x1000, 0, [keyboard]), reason: "hid2hci"),
        Row(description: "a keyboard", device: device(0x046D, 0xC31C, 0, [keyboard])),
        Row(
            description: "Bluetooth without endpoints", device: device(0x1234, 1, 0xE0, [interface(0, .bluetooth, [])]), reason: "interrupt"
        ),
    ]

    @Test(arguments: rows)
    func aDongleIsFoundByItsInterfaces(row: Row) {
        let match = USBMatch(row.device, isForced: row.isForced)
        switch match {
        case .dongle(let layout):
            #expect(layout.controlInterface == row.found?.control)
            #expect(layout.isComposite == row.found?.isComposite)
            #expect(layout.voiceInterface == row.found?.voice)
        case .unfit(let text): #expect(row.reason.map { text.contains($0) } == true, "\(text)")
        case .somethingElse: #expect(row.found == nil && row.reason == nil)
        }
    }

    @Test func addressesAndSizesAreThoseOfTheDescriptors() throws {
        let fast = Self.device(0x0BDA, 0xB85B, 0xE0, [Self.control(event: 64, bulk: 512, base: 5), Self.voice(1)])
        guard case .dongle(let layout) = USBMatch(fast, isForced: false) else { throw USBTestFailure() }
        #expect((layout.events, layout.dataIn, layout.dataOut) == (0x85, 0x86, 0x06))
        #expect((layout.eventSize, layout.dataSize, layout.dataOutSize) == (64, 512, 512))
        #expect(layout.voiceSettings.map(\.frameSize) == [9, 9])
    }

    private struct USBTestFailure: Error {}

    @Test(arguments: [
        ("macOS", 26, 0, false, true), ("macOS", 26, 4, false, true), ("macOS", 26, 1, true, false), ("macOS", 15, 6, false, false),
        ("macOS", 27, 0, false, false), ("Linux", 26, 0, false, false),
    ])
    func aSystemThatPanicsIsLeftAlone(system: String, major: Int, minor: Int, isForced: Bool, isRefused: Bool) {
        #expect((USBRefusal.reason(system: system, version: (major, minor), isForced: isForced) != nil) == isRefused)
    }

    // MARK: After a replug

    private static func dongle(port: Int, serial: String?) -> USBDongleDescription {
        var dongle = USBDongleDescription(bus: 1, ports: [port], vendor: 0x0BDA, product: 0x8771)
        dongle.serial = serial
        return dongle
    }

    @Test func twinsWithOneSerialNumberAreToldApartByTheirPort() {
        let identity = USBDeviceIdentity(
            .identity(vendor: 0x0BDA, product: 0x8771, serial: "00E04C239987"), Self.dongle(port: 2, serial: "00E04C239987"))
        let (first, second) = (Self.dongle(port: 1, serial: "00E04C239987"), Self.dongle(port: 2, serial: "00E04C239987"))
        guard case .here = identity.sight(of: [first, second]) else {
            Issue.record("the old place counts")
            return
        }
        #expect(identity.sight(of: [first, Self.dongle(port: 3, serial: "00E04C239987")]) == .absent)
        let lost = USBDeviceIdentity(.location(bus: 1, ports: [2]), Self.dongle(port: 2, serial: "A1"))
        #expect(lost.sight(of: [Self.dongle(port: 2, serial: nil)]) == .here(.location(bus: 1, ports: [2])))
    }
}
