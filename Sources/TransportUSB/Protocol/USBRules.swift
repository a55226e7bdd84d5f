/// A rule of HCI over USB that the descriptors of a dongle break.
public struct USBFinding: Sendable, Equatable {
    public enum Weight: Sendable {
        /// The specification says shall.
        case fault
        /// The specification says should or recommends.
        case remark
    }

    /// The rules, by the names of a check-up's findings.
    public enum Rule: String, Sendable, CaseIterable {
        case deviceClass = "usb-device-class"
        case interfaceClass = "usb-interface-class"
        case interfaces = "usb-interfaces"
        case serialisedSetting = "usb-serialised-setting"
        case association = "no-association"
        case voiceSettings = "usb-voice-settings"
        case eventInterval = "event-interval"
    }

    public var rule: Rule
    public var weight: Weight
    /// Section of the Core Specification.
    public var section: String
    public var text: String
}

/// Modes, settings and sizes from the descriptors of a dongle.
public struct USBShape: Sendable, Equatable {
    public var isComposite: Bool
    /// Offers Bulk Serialization mode. Core Vol 4, Part B, 7.
    public var offersSerialisedMode: Bool
    /// Octets of a frame in each setting of the voice interface that has bandwidth.
    public var voiceSizes: [Int]
    /// Maximum packet sizes of the event and data endpoints.
    public var eventSize: Int
    public var dataSize: Int
    public var findings: [USBFinding]

    init(_ layout: USBLayout, _ findings: [USBFinding]) {
        (isComposite, offersSerialisedMode) = (layout.isComposite, layout.serialised != nil)
        voiceSizes = layout.voiceSettings.map(\.frameSize)
        (eventSize, dataSize) = (layout.eventSize, layout.dataSize)
        self.findings = findings
    }

    /// One line for people.
    public var line: String {
        let voice = voiceSizes.isEmpty ? "no voice interface" : "voice settings of " + voiceSizes.map(String.init).joined(separator: ", ")
        return
            "\(offersSerialisedMode ? "legacy and Bulk Serialization mode" : "legacy mode"), events of \(eventSize), data of \(dataSize), "
            + "\(voice) octets" + (isComposite ? ", composite device" : "")
    }
}

/// Rules for descriptors. Core Vol 4, Part B, 2.1, 2.4, 3.1 and 6.2.
enum USBRules {
    /// Recommended frame sizes of the voice settings 1 to 6. Core Vol 4, Part B, 2.1.1.
    private static let voiceSizes = [9, 17, 25, 33, 49, 63]

    static func findings(_ device: USBInterfaces, _ layout: USBLayout, isHighSpeed: Bool) -> [USBFinding] {
        guard let control = device.interfaces.first(where: { $0.number == layout.controlInterface }) else { return [] }
        return [
            deviceClass(device), interfaceClass(device, layout), interfaces(control, device, layout), serialised(control, layout),
            association(device, layout), voice(layout), interval(control, layout, isHighSpeed),
        ].compactMap(\.self)
    }

    private static func fault(_ rule: USBFinding.Rule, _ section: String, _ text: String) -> USBFinding {
        USBFinding(rule: rule, weight: .fault, section: "Core Vol 4, Part B, \(section)", text: text)
    }

    private static func remark(_ rule: USBFinding.Rule, _ section: String, _ text: String) -> USBFinding {
        USBFinding(rule: rule, weight: .remark, section: "Core Vol 4, Part B, \(section)", text: text)
    }

    private static func deviceClass(_ device: USBInterfaces) -> USBFinding? {
        guard !device.isComposite, let kind = device.deviceKind, kind != .bluetooth else { return nil }
        return fault(.deviceClass, "3.1", "its device class is \(kind), that of a Bluetooth controller is \(USBInterfaces.Class.bluetooth)")
    }

    private static func interfaceClass(_ device: USBInterfaces, _ layout: USBLayout) -> USBFinding? {
        let own = device.interfaces.filter { $0.number == layout.controlInterface || $0.number == layout.voiceInterface }
        guard let kind = own.flatMap(\.settings).map(\.kind).first(where: { $0 != .bluetooth }) else { return nil }
        return remark(
            .interfaceClass, "3.1", "an interface has the class \(kind), that of a Bluetooth controller is \(USBInterfaces.Class.bluetooth)"
        )
    }

    /// Events and data, three endpoints; voice, two endpoints in several settings. A composite device shall have both interfaces (6.2). For
    /// others the text describes them (2.1.1), and a controller with LE only has no voice: a remark.
    private static func interfaces(_ control: USBInterfaces.Interface, _ device: USBInterfaces, _ layout: USBLayout) -> USBFinding? {
        if let count = control.settings.first?.endpoints.count, count != 3 {
            return fault(.interfaces, "6.2", "its first interface has \(count) endpoints, three are for events and data")
        }
        guard layout.voiceInterface == nil || layout.voiceSettings.isEmpty else { return nil }
        if device.isComposite, layout.voiceInterface == nil, !device.hasIsochronousEndpoints {
            return fault(.interfaces, "6.2", "no second interface for voice, which the controller of a composite device needs")
        }
        return remark(.interfaces, "6.2", "it has no second interface, with two endpoints in several settings for voice")
    }

    /// An alternate setting with the bulk endpoints only offers the mode (7), and shall be number 1 (2.1.1).
    private static func serialised(_ control: USBInterfaces.Interface, _ layout: USBLayout) -> USBFinding? {
        guard layout.serialised == nil else { return nil }
        if let other = control.settings.first(where: { $0.alternate > 1 && $0.hasBulkPairOnly }) {
            return fault(
                .serialisedSetting, "2.1.1",
                "alternate setting \(other.alternate) of its first interface has the bulk endpoints only; the serialised mode is setting 1")
        }
        guard control.settings.contains(where: { $0.alternate == 1 }) else { return nil }
        return remark(
            .serialisedSetting, "2.1.1",
            "alternate setting 1 of its first interface has other endpoints than the two bulk endpoints, so it is not the serialised mode")
    }

    /// A descriptor shall group the interfaces, among which those for firmware may be. Its class is that of an example (table 6.1).
    private static func association(_ device: USBInterfaces, _ layout: USBLayout) -> USBFinding? {
        guard device.isComposite else { return nil }
        let groups = device.associations.filter { $0.holds(layout.controlInterface) && layout.voiceInterface.map($0.holds) != false }
        guard let group = groups.first(where: { $0.kind == .bluetooth }) ?? groups.first else {
            return fault(
                .association, "6.2", "no interface association descriptor groups the interfaces of the controller in this composite device")
        }
        guard group.kind != .bluetooth else { return nil }
        return remark(
            .association, "6.2",
            "the interface association descriptor of the controller has the class \(group.kind); the example has "
                + "\(USBInterfaces.Class.bluetooth)")
    }

    private static func voice(_ layout: USBLayout) -> USBFinding? {
        let sizes = layout.voiceSettings.map(\.frameSize)
        guard !sizes.isEmpty, sizes != Array(voiceSizes.prefix(sizes.count)) || sizes.count < voiceSizes.count - 1 else { return nil }
        return remark(
            .voiceSettings, "2.1.1",
            "its voice settings have \(sizes.map(String.init).joined(separator: ", ")) octets; recommended are 9 to 63")
    }

    /// 1 ms at full speed; at high speed, bInterval is an exponent of 2 in units of 125 us, and shorter intervals are allowed.
    private static func interval(_ control: USBInterfaces.Interface, _ layout: USBLayout, _ isHighSpeed: Bool) -> USBFinding? {
        guard let end = control.settings.first?.endpoints.first(where: { $0.address == layout.events }) else { return nil }
        let isLong = isHighSpeed ? end.interval > 4 : end.interval > 1
        guard isLong else { return nil }
        return remark(.eventInterval, "2.4", "bInterval of its interrupt endpoint is \(end.interval); recommended is 1 ms")
    }
}

extension USBInterfaces.Class: CustomStringConvertible {
    var description: String {
        [code, subclass, proto].map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: "/")
    }
}
