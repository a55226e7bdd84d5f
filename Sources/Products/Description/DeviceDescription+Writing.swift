import BBCases
import BBHost
import BBPackets
import BBTiming

extension DeviceDescription {
    /// The description in YAML, to be read, completed and kept under version control.
    public var yaml: String { yaml(hiding: false) }

    /// - Parameter isHiding: true to leave out name, address, advertising data and values of more than 4 octets. The text is then for readers
    ///   only.
    public func yaml(hiding isHiding: Bool) -> String {
        var lines = [
            isHiding
                ? "# A device as `bluebench survey --hide` found it, without name, address and long values."
                : "# A device as `bluebench survey` found it. `declares:` and `leaveOut:` are its maker's; docs/guide/accessory.md tells what they can say."
        ]
        lines.append("device:")
        if let name = device.name { lines.append("  name: \(isHiding ? Self.hidden : Self.quoted(name))") }
        let kind = device.address.kind == .public ? "public" : "random"
        lines.append("  address: \(isHiding ? Self.hidden : "\(device.address.digits)/\(kind)")")
        lines += advertisingLines(isHiding) + linkLines + pairingLines
        lines.append(services.isEmpty ? "services: []" : "services:")
        for service in services { lines += Self.lines(service, isHiding) }
        lines += declarationLines + proposalLines
        lines.append(remarks.isEmpty ? "remarks: []" : "remarks:")
        for remark in remarks { lines.append("  - \(Self.quoted(remark))") }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let hidden = "\"(hidden)\""
    /// The number of octets of a value that a hiding description has, as `show --hide`.
    private static let mostShown = 4

    private static func isShown(_ value: [UInt8], of uuid: BluetoothUUID, _ isHiding: Bool) -> Bool {
        !isHiding || value.count <= mostShown && uuid != .deviceName
    }

    private static func value(_ value: [UInt8], of uuid: BluetoothUUID, _ isHiding: Bool) -> String {
        isShown(value, of: uuid, isHiding) ? octets(value) : "\"(hidden) \(value.count) octets\""
    }

    /// Advertising data, of which a hiding description has only the types of the AD structures.
    private static func structures(_ data: [UInt8], _ isHiding: Bool) -> String {
        guard isHiding else { return octets(data) }
        let types = AdvertisingData(octets: data).elements.compactMap { $0.octets.dropFirst().first }
        return "\"(hidden) \(data.count) octets, AD types \(types.map { Hexadecimal.text([$0]) }.joined(separator: " "))\""
    }

    private func advertisingLines(_ isHiding: Bool) -> [String] {
        var lines = [
            "advertising:", "  connectable: \(advertising.isConnectable)", "  legacy: \(advertising.isLegacy)",
            "  data: \(Self.structures(advertising.data, isHiding))",
        ]
        if let response = advertising.response { lines.append("  response: \(Self.structures(response, isHiding))") }
        if let period = advertising.period { lines.append("  period: \(period.text)") }
        return lines
    }

    private var linkLines: [String] {
        var lines = ["link:", "  features: \(Self.list(link.features))"]
        if let version = link.version { lines.append("  version: \(version)") }
        if let company = link.company { lines.append("  company: \(company)") }
        lines += [
            "  mtu: \(link.mtu)", "  phys: \(Self.list(link.phys))", "  dataLength: \(link.dataLength)", "  asks: \(Self.list(link.asks))",
        ]
        if let time = link.readvertises { lines.append("  readvertises: \(time.text)") }
        return lines
    }

    private var pairingLines: [String] {
        guard let pairing else { return [] }
        var parts = ["declined: \(pairing.isDeclined)"]
        if let io = pairing.io { parts.append("io: \(io)") }
        parts.append("requirements: \(Self.list(pairing.requirements))")
        if let size = pairing.keySize { parts.append("keySize: \(size)") }
        return ["pairing: {\(parts.joined(separator: ", "))}"]
    }

    private var declarationLines: [String] {
        var pairs: [String] = []
        if let change = declares.servicesChange { pairs.append("servicesChange: \(change)") }
        if let bonds = declares.bonds { pairs.append("bonds: \(bonds)") }
        if let time = declares.readvertisesWithin { pairs.append("readvertisesWithin: \(time.text)") }
        if !declares.protects.isEmpty { pairs.append("protects: [\(declares.protects.map(Self.text).joined(separator: ", "))]") }
        if let change = declares.changes { pairs.append("changes: \(Self.text(change))") }
        if !declares.sends.isEmpty { pairs.append("sends: [\(declares.sends.map(Self.text).joined(separator: ", "))]") }
        if !declares.channels.isEmpty { pairs.append("channels: [\(declares.channels.map(Self.text).joined(separator: ", "))]") }
        var lines = ["declares: {\(pairs.joined(separator: ", "))}", leaveOut.isEmpty ? "leaveOut: []" : "leaveOut:"]
        for entry in leaveOut {
            let what =
                switch entry.what {
                case .cases(let pattern): "case: \(Self.quoted(pattern))"
                case .characteristic(let uuid): "characteristic: \(Self.quoted(uuid.digits))"
                }
            lines.append("  - {\(what), because: \(Self.quoted(entry.because))}")
        }
        return lines
    }

    /// Comments with declarations that the survey's findings suggest; only the maker knows whether they are right.
    private var proposalLines: [String] {
        let found = services.flatMap(\.characteristics)
        let protects = found.filter { ($0.protection ?? $0.error).map(DeviceFacts.protections.contains) ?? false }.filter { found in
            !declares.protects.contains { $0.characteristic == found.uuid }
        }.map { found in
            let isWritable = found.properties & Int(CharacteristicProperties.write.rawValue) != 0
            return Self.text(Protected(characteristic: found.uuid, access: isWritable ? [.read, .write] : [.read]))
        }
        let sends = found.filter { found in
            let sends = CharacteristicProperties([.notify, .indicate]).rawValue
            return found.properties & Int(sends) != 0 && found.uuid != .serviceChanged
                && !declares.sends.contains { $0.characteristic == found.uuid }
        }.map { Self.text(Sender(characteristic: $0.uuid, within: .seconds(2))) }
        let parts = [("protects", protects), ("sends", sends)].filter { !$0.1.isEmpty }
        guard !parts.isEmpty else { return [] }
        let lines = parts.map { name, entries in "#   \(name): [\(entries.joined(separator: ", "))]" }
        return ["# `declares:` could say, where it is so:"] + lines
    }

    private static func text(_ entry: Protected) -> String {
        let value = entry.value.map { ", value: \(octets($0))" } ?? ""
        return "{characteristic: \(quoted(entry.characteristic.digits)), needs: \(entry.needs.rawValue)\(value), "
            + "access: \(list(entry.access.map(\.rawValue)))}"
    }

    private static func text(_ change: ServiceChange) -> String {
        "{characteristic: \(quoted(change.characteristic.digits)), value: \(octets(change.value)), undo: \(octets(change.undo))}"
    }

    private static func text(_ entry: Channel) -> String {
        "{psm: \(entry.psm), echoes: \(entry.echoes)\(entry.needs.map { ", needs: \($0.rawValue)" } ?? "")}"
    }

    private static func text(_ entry: Sender) -> String {
        let after = entry.stimulus.map {
            ", after: {characteristic: \(quoted($0.characteristic.digits)), value: \(octets($0.value))}"
        }
        return "{characteristic: \(quoted(entry.characteristic.digits)), within: \(entry.within.text)\(after ?? "")}"
    }

    private static func lines(_ service: Service, _ isHiding: Bool) -> [String] {
        var lines = [
            "  - uuid: \(named(service.uuid))", "    handles: [\(service.start), \(service.end)]",
            "    primary: \(service.isPrimary)",
            service.characteristics.isEmpty ? "    characteristics: []" : "    characteristics:",
        ]
        for found in service.characteristics {
            let properties = propertyNames.indices.filter { found.properties >> $0 & 1 == 1 }.map { propertyNames[$0] }
            lines += [
                "      - uuid: \(named(found.uuid))", "        declaration: \(found.declaration)",
                "        handle: \(found.handle)",
                "        end: \(found.end)", "        properties: \(list(properties))",
            ]
            if let read = found.value {
                let words = isShown(read, of: found.uuid, isHiding) ? ValueWords.text(read, of: found.uuid) : nil
                lines.append("        value: \(value(read, of: found.uuid, isHiding))\(comment(words))")
            }
            if let error = found.protection { lines.append("        protection: \(errorName(error))") }
            if let error = found.error { lines.append("        error: \(errorName(error))") }
            guard !found.descriptors.isEmpty else { continue }
            lines.append("        descriptors:")
            for row in found.descriptors {
                let read = row.value.map { ", value: \(value($0, of: row.uuid, isHiding))" } ?? ""
                let error = row.error.map { ", error: \(errorName($0))" } ?? ""
                let name = row.uuid.short.flatMap { AssignedNumbers.name(uuid: $0) }
                let shown = row.value.flatMap { isShown($0, of: row.uuid, isHiding) ? ValueWords.text($0, of: row.uuid) : nil }
                let words = [name, shown].compactMap(\.self).joined(separator: ": ")
                let entry = "          - {uuid: \(quoted(row.uuid.digits)), handle: \(row.handle)\(read)\(error)}"
                lines.append(entry + comment(words.isEmpty ? nil : words))
            }
        }
        return lines
    }

    // MARK: Values

    /// A UUID with its name in a comment.
    private static func named(_ uuid: BluetoothUUID) -> String {
        quoted(uuid.digits) + comment(uuid.short.flatMap { AssignedNumbers.name(uuid: $0) })
    }

    /// Returns a text as a YAML comment, without U+FFFE and U+FFFF, which YAML does not accept.
    private static func comment(_ text: String?) -> String {
        guard let text else { return "" }
        let scalars = PlainText.escaped(text).unicodeScalars.map { $0.value & ~1 == 0xFFFE ? "?" : $0 }
        return "  # " + String(String.UnicodeScalarView(scalars))
    }

    private static func list(_ words: [String]) -> String { "[\(words.joined(separator: ", "))]" }

    private static func octets(_ octets: [UInt8]) -> String {
        "\"" + octets.map { Hexadecimal.text([$0]) }.joined(separator: " ") + "\""
    }

    /// Returns text in double quotes with escapes.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
                let digits = String(scalar.value, radix: 16)
                quoted += "\\x" + (digits.count < 2 ? "0" : "") + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    static let errorNames = PDUCatalog.type(named: "ATTErrorCode")?.values ?? []

    private static func errorName(_ code: UInt8) -> String { errorNames.first { $0.value == Int(code) }?.name ?? "\(code)" }
}

extension BluetoothUUID {
    /// The UUID without a 0x prefix.
    package var digits: String { description.hasPrefix("0x") ? String(description.dropFirst(2)) : description }
}
