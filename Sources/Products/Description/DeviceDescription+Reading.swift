import BBCases
import BBPackets
import BBTiming
import Foundation
import Yams

extension DeviceDescription {
    /// Reads a description that a survey has written and the maker may have edited.
    ///
    /// - Throws: `Problems` with all mistakes, each with line and column.
    public static func load(_ path: String) throws(Problems) -> DeviceDescription {
        guard let data = FileManager.default.contents(atPath: path), let text = String(validating: data, as: UTF8.self) else {
            throw Problems([Problem(Position(file: path, line: 1, column: 1), "the file does not exist, or is not text")])
        }
        return try read(text, file: path)
    }

    package static func read(_ text: String, file: String) throws(Problems) -> DeviceDescription {
        var reader = DescriptionReader(source: SourceReader(file: file, vocabulary: Vocabulary(pdus: [])))
        let description = reader.read(text)
        guard reader.source.problems.isEmpty else { throw Problems(reader.source.problems) }
        return description
    }
}

/// Reads the parts of a description and collects mistakes.
private struct DescriptionReader {
    var source: SourceReader

    private typealias Keys = SourceReader.Keys

    mutating func read(_ text: String) -> DeviceDescription {
        var description = DeviceDescription()
        guard let root = source.compose(text) else { return description }
        part(root, "a device description", ["device", "advertising", "link", "pairing", "services", "declares", "leaveOut", "remarks"]) {
            reader, keys in
            if let node = keys.take("device") { description.device = reader.device(node) }
            if let node = keys.take("advertising") { description.advertising = reader.advertising(node) }
            if let node = keys.take("link") { description.link = reader.link(node) }
            if let node = keys.take("pairing") { description.pairing = reader.pairing(node) }
            description.services = reader.rows(keys.take("services"), "services") { $0.service($1) }
            if let node = keys.take("declares") { description.declares = reader.declares(node) }
            description.leaveOut = reader.rows(keys.take("leaveOut"), "leaveOut") { $0.leftOut($1) }
            description.remarks = reader.words(keys.take("remarks"), "remarks")
        }
        return description
    }

    private mutating func part(_ node: Node, _ what: String, _ allowed: [String], _ body: (inout DescriptionReader, inout Keys) -> Void) {
        guard var keys = source.keys(node, of: what) else { return }
        body(&self, &keys)
        source.finish(keys, of: what, allowed: allowed)
    }

    private mutating func rows<Row>(_ node: Node?, _ what: String, _ read: (inout DescriptionReader, Node) -> Row?) -> [Row] {
        var rows: [Row] = []
        for element in source.sequence(node, what, mayBeEmpty: true) { if let row = read(&self, element) { rows.append(row) } }
        return rows
    }

    // MARK: Parts

    private mutating func device(_ node: Node) -> DeviceDescription.Device {
        var device = DeviceDescription.Device()
        part(node, "device", ["name", "address"]) { reader, keys in
            device.name = reader.source.text(keys.take("name"), "name")
            guard let node = keys.take("address"), let text = reader.source.text(node, "address") else { return }
            guard case .address(let value, let kind) = PeerSelector(text) else {
                return reader.source.report(node, "'\(text)' is not an address; write C0:B1:BE:00:00:01/random")
            }
            device.address = DeviceAddress(value: value, kind: kind ?? .public)
        }
        return device
    }

    private mutating func advertising(_ node: Node) -> DeviceDescription.Advertising {
        var advertising = DeviceDescription.Advertising()
        part(node, "advertising", ["connectable", "legacy", "data", "response", "period"]) { reader, keys in
            advertising.isConnectable = reader.source.truth(keys.take("connectable"), "connectable")
            advertising.isLegacy = reader.source.truth(keys.take("legacy"), "legacy")
            advertising.data = reader.octets(keys.take("data"), "data") ?? []
            advertising.response = reader.octets(keys.take("response"), "response")
            advertising.period = reader.source.duration(keys.take("period"), "period")
        }
        return advertising
    }

    private mutating func link(_ node: Node) -> DeviceDescription.Link {
        var link = DeviceDescription.Link()
        let names = ["features", "version", "company", "mtu", "phys", "dataLength", "asks", "readvertises"]
        part(node, "link", names) { reader, keys in
            link.features = reader.words(keys.take("features"), "features", among: Features.names.sorted())
            link.version = reader.source.integer(keys.take("version"), "version", in: 0...255)
            link.company = reader.source.integer(keys.take("company"), "company", in: 0...0xFFFF)
            link.mtu = reader.source.integer(keys.take("mtu"), "mtu", in: 23...517) ?? 23
            link.phys = reader.words(keys.take("phys"), "phys", among: ["1M", "2M", "Coded"])
            link.dataLength =
                reader.source.integer(keys.take("dataLength"), "dataLength", in: HCICommands.LESetDataLength.txOctetsRange.integers) ?? 27
            link.asks = reader.words(keys.take("asks"), "asks", among: ["security", "parameters", "mtu", "services"])
            link.readvertises = reader.source.duration(keys.take("readvertises"), "readvertises")
        }
        return link
    }

    private mutating func pairing(_ node: Node) -> DeviceDescription.Pairing {
        var pairing = DeviceDescription.Pairing()
        part(node, "pairing", ["declined", "io", "requirements", "keySize"]) { reader, keys in
            pairing.isDeclined = reader.source.truth(keys.take("declined"), "declined")
            pairing.io = reader.source.text(keys.take("io"), "io")
            pairing.requirements = reader.words(keys.take("requirements"), "requirements")
            pairing.keySize = reader.source.integer(keys.take("keySize"), "keySize", in: 0...255)
        }
        return pairing
    }

    private mutating func service(_ node: Node) -> DeviceDescription.Service? {
        var service: DeviceDescription.Service?
        part(node, "a service", ["uuid", "handles", "primary", "characteristics"]) { reader, keys in
            let limits = reader.source.sequence(keys.take("handles"), "handles").compactMap { reader.handle($0, "handles") }
            if limits.count != 2 { reader.source.report(node, "a service has two handles: [first, last]") }
            let primary = keys.take("primary")
            service = DeviceDescription.Service(
                uuid: reader.uuid(keys.take("uuid"), at: node), start: limits.first ?? 1, end: limits.last ?? 1,
                isPrimary: primary == nil || reader.source.truth(primary, "primary"))
            service?.characteristics = reader.rows(keys.take("characteristics"), "characteristics") { $0.characteristic($1) }
        }
        return service
    }

    private mutating func characteristic(_ node: Node) -> DeviceDescription.Characteristic? {
        var found: DeviceDescription.Characteristic?
        let names = ["uuid", "declaration", "handle", "end", "properties", "value", "protection", "error", "descriptors"]
        part(node, "a characteristic", names) { reader, keys in
            let declaration = reader.handle(keys.take("declaration"), "declaration") ?? 1
            let handle = reader.handle(keys.take("handle"), "handle") ?? 1
            let properties = reader.words(keys.take("properties"), "properties", among: DeviceDescription.propertyNames)
            let bits = properties.compactMap { DeviceDescription.propertyNames.firstIndex(of: $0) }.reduce(0) { $0 | 1 << $1 }
            found = DeviceDescription.Characteristic(
                uuid: reader.uuid(keys.take("uuid"), at: node), declaration: declaration, handle: handle,
                end: reader.handle(keys.take("end"), "end") ?? handle, properties: bits)
            found?.value = reader.octets(keys.take("value"), "value")
            found?.error = reader.error(keys.take("error"))
            found?.protection = reader.error(keys.take("protection"))
            found?.descriptors = reader.rows(keys.take("descriptors"), "descriptors") { $0.descriptor($1) }
        }
        return found
    }

    private mutating func descriptor(_ node: Node) -> DeviceDescription.Descriptor? {
        var found: DeviceDescription.Descriptor?
        part(node, "a descriptor", ["uuid", "handle", "value", "error"]) { reader, keys in
            found = DeviceDescription.Descriptor(
                uuid: reader.uuid(keys.take("uuid"), at: node), handle: reader.handle(keys.take("handle"), "handle") ?? 1,
                value: reader.octets(keys.take("value"), "value"), error: reader.error(keys.take("error")))
        }
        return found
    }

    private mutating func declares(_ node: Node) -> DeviceDescription.Declares {
        var declares = DeviceDescription.Declares()
        let names = ["servicesChange", "bonds", "readvertisesWithin", "protects", "sends", "changes", "channels"]
        part(node, "declares", names) { reader, keys in
            if let node = keys.take("servicesChange") { declares.servicesChange = reader.source.truth(node, "servicesChange") }
            if let node = keys.take("bonds") { declares.bonds = reader.source.truth(node, "bonds") }
            declares.readvertisesWithin = reader.source.duration(
                keys.take("readvertisesWithin"), "readvertisesWithin", atMost: .seconds(600))
            declares.protects = reader.rows(keys.take("protects"), "protects") { $0.protected($1) }
            declares.sends = reader.rows(keys.take("sends"), "sends") { $0.sender($1) }
            if let node = keys.take("changes") { declares.changes = reader.change(node) }
            declares.channels = reader.rows(keys.take("channels"), "channels") { $0.channel($1) }
        }
        return declares
    }

    private mutating func protected(_ node: Node) -> DeviceDescription.Protected? {
        typealias Protected = DeviceDescription.Protected
        var found: Protected?
        part(node, "what is protected", ["characteristic", "needs", "value", "access"]) { reader, keys in
            var entry = Protected(characteristic: reader.uuid(keys.take("characteristic"), at: node))
            if let needs = keys.take("needs") { entry.needs = reader.need(needs) }
            entry.value = reader.octets(keys.take("value"), "value")
            if let access = keys.take("access") {
                let words = Protected.Access.allCases.map(\.rawValue)
                entry.access = reader.words(access, "access", among: words).compactMap(Protected.Access.init)
            }
            found = entry
        }
        return found
    }

    private mutating func need(_ node: Node) -> DeviceDescription.Protected.Need {
        typealias Need = DeviceDescription.Protected.Need
        return words(.sequence(.init([node])), "needs", among: Need.allCases.map(\.rawValue)).first.flatMap(Need.init) ?? .encryption
    }

    private mutating func channel(_ node: Node) -> DeviceDescription.Channel? {
        var found: DeviceDescription.Channel?
        part(node, "a channel", ["psm", "echoes", "needs"]) { reader, keys in
            guard let psm = reader.source.integer(keys.take("psm"), "psm", in: 1...0xFF) else {
                return reader.source.report(node, "`psm:` is the SPSM of the service: 0x80")
            }
            var entry = DeviceDescription.Channel(psm: UInt16(psm))
            if let node = keys.take("echoes") { entry.echoes = reader.source.truth(node, "echoes") }
            if let needs = keys.take("needs") { entry.needs = reader.need(needs) }
            found = entry
        }
        return found
    }

    private mutating func sender(_ node: Node) -> DeviceDescription.Sender? {
        var found: DeviceDescription.Sender?
        part(node, "what sends", ["characteristic", "within", "after"]) { reader, keys in
            let uuid = reader.uuid(keys.take("characteristic"), at: node)
            let within = reader.source.duration(keys.take("within"), "within", atMost: .seconds(60))
            if within == nil { reader.source.report(node, "`within:` is the time until it sends: 2 s") }
            found = DeviceDescription.Sender(characteristic: uuid, within: within ?? .seconds(1))
            if let after = keys.take("after") { found?.stimulus = reader.stimulus(after) }
        }
        return found
    }

    private mutating func change(_ node: Node) -> DeviceDescription.ServiceChange? {
        var found: DeviceDescription.ServiceChange?
        part(node, "a change of services", ["characteristic", "value", "undo"]) { reader, keys in
            let uuid = reader.uuid(keys.take("characteristic"), at: node)
            guard let value = reader.octets(keys.take("value"), "value"), let undo = reader.octets(keys.take("undo"), "undo") else {
                return reader.source.report(node, "`value:` changes the services, `undo:` is written to change them back")
            }
            found = DeviceDescription.ServiceChange(characteristic: uuid, value: value, undo: undo)
        }
        return found
    }

    private mutating func stimulus(_ node: Node) -> DeviceDescription.Stimulus? {
        var found: DeviceDescription.Stimulus?
        part(node, "a stimulus", ["characteristic", "value"]) { reader, keys in
            let uuid = reader.uuid(keys.take("characteristic"), at: node)
            found = DeviceDescription.Stimulus(characteristic: uuid, value: reader.octets(keys.take("value"), "value") ?? [])
        }
        return found
    }

    private mutating func leftOut(_ node: Node) -> DeviceDescription.LeftOut? {
        var left: DeviceDescription.LeftOut?
        part(node, "what is left out", ["case", "characteristic", "because"]) { reader, keys in
            let because = reader.source.text(keys.take("because"), "because")
            if because == nil { reader.source.report(node, "`because:` says why it is left out") }
            if let pattern = reader.source.text(keys.take("case"), "case") {
                left = .init(what: .cases(pattern), because: because ?? "")
            } else if let uuid = keys.take("characteristic") {
                left = .init(what: .characteristic(reader.uuid(uuid, at: node)), because: because ?? "")
            } else {
                reader.source.report(node, "`case:` or `characteristic:` says what is left out")
            }
        }
        return left
    }

    // MARK: Values

    private mutating func words(_ node: Node?, _ what: String, among known: [String]? = nil) -> [String] {
        var words: [String] = []
        for element in source.sequence(node, what, mayBeEmpty: true) {
            guard let word = source.text(element, what) else { continue }
            if let known, !known.contains(word) {
                source.report(element, "\(what): there is no '\(word)'" + Suggestion.text(for: word, among: known))
            }
            words.append(word)
        }
        return words
    }

    private mutating func handle(_ node: Node?, _ what: String) -> UInt16? {
        source.integer(node, what, in: 1...0xFFFF).flatMap { UInt16(exactly: $0) }
    }

    private mutating func uuid(_ node: Node?, at place: Node) -> BluetoothUUID {
        guard let node, let text = source.text(node, "uuid") else {
            source.report(place, "there is no `uuid:`")
            return BluetoothUUID(0)
        }
        if let uuid = BluetoothUUID(text) { return uuid }
        source.report(node, "a UUID is written \"180D\" or in full, not '\(text)'")
        return BluetoothUUID(0)
    }

    private mutating func octets(_ node: Node?, _ what: String) -> [UInt8]? {
        guard let node else { return nil }
        guard case .scalar(let scalar) = node, let octets = Hexadecimal.octets(scalar.string) else {
            source.report(node, "\(what) is octets, two hexadecimal digits each")
            return nil
        }
        return octets
    }

    private mutating func error(_ node: Node?) -> UInt8? {
        guard let node, let text = source.text(node, "error") else { return nil }
        let names = DeviceDescription.errorNames
        if let value = names.first(where: { $0.name == text })?.value { return UInt8(truncatingIfNeeded: value) }
        if let number = UInt8(text) { return number }
        source.report(node, "there is no error '\(text)'" + Suggestion.text(for: text, among: names.map(\.name)))
        return nil
    }
}
