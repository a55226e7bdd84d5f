/// Reads the descriptors of a device from their octets. USB 2.0, 9.6.
///
/// Takes anything: an incomplete descriptor ends the list, and descriptors of other types are skipped.
public enum USBDescriptors {
    private enum Kind {
        static let interface: UInt8 = 4
        static let endpoint: UInt8 = 5
        static let association: UInt8 = 11
    }

    /// Modes, settings and broken rules of a device from its descriptors; nil if they do not offer HCI.
    ///
    /// - Parameters:
    ///   - device: the device descriptor, 18 octets.
    ///   - configuration: the configuration descriptor with all that follow it.
    public static func shape(device: [UInt8], configuration: [UInt8], isHighSpeed: Bool) -> USBShape? {
        guard let interfaces = interfaces(device: device, configuration: configuration),
            case .dongle(let layout) = USBMatch(interfaces, isForced: true)
        else { return nil }
        return USBShape(layout, USBRules.findings(interfaces, layout, isHighSpeed: isHighSpeed))
    }

    static func interfaces(device: [UInt8], configuration: [UInt8]) -> USBInterfaces? {
        guard device.count >= 18 else { return nil }
        func number(_ at: Int) -> UInt16 { UInt16(device[at]) | UInt16(device[at + 1]) << 8 }
        var interfaces = USBInterfaces(vendor: number(8), product: number(10), deviceClass: device[4], interfaces: [])
        interfaces.deviceKind = USBInterfaces.Class(device[4], device[5], device[6])
        interfaces.associations = associations(in: configuration)
        for part in parts(of: configuration) {
            if part[1] == Kind.interface, part.count >= 9 { interfaces.add(setting(part), to: part[2]) }
            if part[1] == Kind.endpoint, part.count >= 7 { interfaces.add(endpoint(part)) }
        }
        return interfaces
    }

    static func associations(in octets: [UInt8]) -> [USBInterfaces.Association] {
        parts(of: octets).compactMap { part in
            guard part[1] == Kind.association, part.count >= 8 else { return nil }
            return .init(first: part[2], count: part[3], kind: USBInterfaces.Class(part[4], part[5], part[6]))
        }
    }

    /// The descriptors of a list, each with its length and type.
    private static func parts(of octets: [UInt8]) -> [[UInt8]] {
        var (parts, start): ([[UInt8]], Int) = ([], 0)
        while octets.count - start >= 2, octets[start] >= 2, octets.count - start >= Int(octets[start]) {
            parts.append(Array(octets[start..<start + Int(octets[start])]))
            start += Int(octets[start])
        }
        return parts
    }

    private static func setting(_ part: [UInt8]) -> USBInterfaces.Setting {
        USBInterfaces.Setting(alternate: part[3], kind: USBInterfaces.Class(part[5], part[6], part[7]), endpoints: [])
    }

    private static func endpoint(_ part: [UInt8]) -> USBInterfaces.Endpoint {
        USBInterfaces.Endpoint(
            address: part[2], attributes: part[3], size: Int(UInt16(part[4]) | UInt16(part[5]) << 8) & 0x7FF, interval: part[6])
    }
}

extension USBInterfaces {
    /// Adds a setting; settings of an interface need not follow each other.
    fileprivate mutating func add(_ setting: Setting, to number: UInt8) {
        guard let index = interfaces.firstIndex(where: { $0.number == number }) else {
            return interfaces.append(Interface(number: number, settings: [setting]))
        }
        interfaces.append(interfaces.remove(at: index))
        interfaces[interfaces.count - 1].settings.append(setting)
    }

    /// Adds an endpoint to the last setting.
    fileprivate mutating func add(_ endpoint: Endpoint) {
        guard let last = interfaces.indices.last, let setting = interfaces[last].settings.indices.last else { return }
        interfaces[last].settings[setting].endpoints.append(endpoint)
    }
}
