/// Suitability of a USB device for the bench.
enum USBMatch: Equatable {
    case dongle(USBLayout)
    /// A Bluetooth controller that cannot be used, with the reason.
    case unfit(String)
    case somethingElse

    /// Manufacturers whose dongles speak HCI on an interface of vendor-specific class.
    static let vendorsOfOwnClass: Set<UInt16> = [
        0x0A5C, 0x0489, 0x04CA, 0x0B05, 0x050D, 0x13D3, 0x413C, 0x0930, 0x105B, 0x0BB4, 0x05AC,
    ]
    /// Vendor number of Digianswer, whose dongles expect commands in vendor requests.
    private static let digianswer: UInt16 = 0x08FD
    /// Dongles that enumerate as keyboard and mouse until a vendor request switches them.
    private static let keyboards: [UInt16: Set<UInt16>] = [
        0x0A12: [0x1000], 0x0458: [0x1000], 0x05AC: [0x1000], 0x413C: [0x8154, 0x8158, 0x8162],
        0x046D: [0xC703, 0xC704, 0xC705, 0xC70A, 0xC70B, 0xC70C, 0xC70E, 0xC713, 0xC714, 0xC71B, 0xC71C],
    ]

    /// Examines every interface: in composite devices, only the HCI interface has the Bluetooth class.
    ///
    /// - Parameter isForced: the device was selected by its identifier, so that any interface with the right endpoints is accepted.
    init(_ device: USBInterfaces, isForced: Bool) {
        func layout(where accepts: (USBInterfaces.Class) -> Bool) -> USBLayout? {
            let fitting = device.interfaces.filter { $0.settings.first.map { accepts($0.kind) } ?? false }
            return fitting.lazy.compactMap { USBLayout(device, control: $0) }.first
        }
        func has(_ kind: USBInterfaces.Class) -> Bool { device.interfaces.contains { $0.settings.first?.kind == kind } }
        if device.vendor == Self.digianswer, !isForced {
            self = .unfit("a Digianswer dongle takes commands as vendor requests, not as HCI over USB")
        } else if let found = layout(where: { $0 == .bluetooth }) {
            self = .dongle(found)
        } else if Self.vendorsOfOwnClass.contains(device.vendor) || isForced, let found = layout(where: { $0 == .vendorBluetooth }) {
            self = .dongle(found)
        } else if isForced, let found = layout(where: { _ in true }) {
            self = .dongle(found)
        } else if has(.amp) {
            self = .unfit("an AMP controller (protocol 04) has neither LE nor BR/EDR")
        } else if Self.keyboards[device.vendor]?.contains(device.product) == true,
            device.interfaces.allSatisfy({ $0.settings.first?.kind.code == USBInterfaces.Class.humanInterface })
        {
            self = .unfit("it plays keyboard and mouse (HID proxy): switch it to HCI mode with hid2hci")
        } else if has(.bluetooth) {
            self = .unfit("its Bluetooth interface lacks an interrupt IN endpoint or a pair of bulk endpoints")
        } else {
            self = .somethingElse
        }
    }
}
