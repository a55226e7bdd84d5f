import Yams

/// A conforming device or environment that differs from the default; no case may fail with it.
public struct Variant: Sendable {
    public var id: String
    public var position: Position
    public var title: String
    /// The section of the specification that allows the difference, with a description.
    public var allowedBy: String
    /// The differences from the default world.
    public var world: World
    /// The suites and cases that the variant runs with; empty for all. Cases about the documented behaviour of the reference accessory do
    /// not apply to other devices.
    public var only: [String] = []

    /// Reads `<id>.yaml` files. A file with `sides:` contains one variant for each side, `<id>-subject` and `<id>-tester`.
    ///
    /// - Throws: `Problems` with the mistakes of all files.
    public static func load(_ folder: String, vocabulary: Vocabulary) throws(Problems) -> [Variant] {
        var variants: [Variant] = []
        var problems: [Problem] = []
        for file in Catalogue.yamlFiles(below: folder) {
            var reader = SourceReader(file: folder + "/" + file, vocabulary: vocabulary)
            if let root = reader.compose() { variants += reader.variants(root, id: Catalogue.stem(file)) }
            problems += reader.problems
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return variants
    }

    /// Returns the variant for one side of the air.
    fileprivate func on(_ side: Side, _ settings: [QuirkSetting]) -> Variant {
        var variant = self
        variant.id += "-\(side.rawValue)"
        variant.title += side == .tester ? ", as the tester" : ", as the device under test"
        let end: WritableKeyPath<World, [QuirkSetting]> = side == .tester ? \.tester : \.subject
        variant.world[keyPath: end] += settings
        return variant
    }
}

extension World {
    /// The world with the settings of the two dongles exchanged.
    package var swapped: World {
        var world = self
        (world.tester, world.subject) = (subject, tester)
        return world
    }

    /// Returns this world with the variant's settings; the case's own settings take precedence.
    package func under(_ variant: World) -> World {
        var world = self
        world.packetErrorRate = max(packetErrorRate, variant.packetErrorRate)
        world.tester = variant.tester + tester
        world.subject = variant.subject + subject
        world.accessory = variant.accessory + accessory
        world.host = variant.host + host
        world.neighbours = variant.neighbours
        return world
    }
}

extension SourceReader {
    private static let variantKeys = [
        "title", "allowed_by", "subject", "tester", "host", "accessory", "surroundings", "sides", "controller", "only",
    ]
    private static let neighbourKeys = ["advertise", "scan", "connect", "phones"]

    /// Reads the variants of a file: one, or one for each of its `sides:`.
    mutating func variants(_ root: Node, id: String) -> [Variant] {
        guard var keys = keys(root, of: "a variant") else { return [] }
        let place = position(root)
        noteUSB(keys)
        let title = text(keys.take("title"), "title") ?? ""
        let allowedBy = text(keys.take("allowed_by"), "allowed_by") ?? ""
        if title.isEmpty || allowedBy.isEmpty { report(place, "a variant needs `title:` and `allowed_by:`") }
        if !["Core Vol ", "Core Supplement", "RFCOMM ", "Bluetooth Test Protocol"].contains(where: allowedBy.hasPrefix) {
            report(place, "`allowed_by:` begins with a section: Core Vol 4, Part E, 7.8.2: ...")
        }
        var world = World()
        world.subject = legalSettings(keys.take("subject"))
        world.tester = legalSettings(keys.take("tester"))
        world.accessory = quirks(keys.take("accessory"), of: "accessories", vocabulary.worlds.accessories)
        world.host = legalHostSettings(keys.take("host"))
        surroundings(keys.take("surroundings"), &world)
        let sides = sides(&keys)
        let controller = legalSettings(keys.take("controller"))
        if sides.isEmpty != controller.isEmpty { report(place, "`sides:` and `controller:` belong together") }
        if world.isDefault, controller.isEmpty {
            report(
                place,
                "the variant is like the usual world: `subject:`, `tester:`, `sides:` and `controller:`, `host:`, `accessory:` or `surroundings:`"
            )
        }
        let only = keys.take("only").map { sequence($0, "only").compactMap { text($0, "only") } } ?? []
        finish(keys, of: "a variant", allowed: Self.variantKeys)
        let variant = Variant(id: id, position: place, title: title, allowedBy: allowedBy, world: world, only: only)
        return sides.isEmpty ? [variant] : sides.map { variant.on($0, controller) }
    }

    private mutating func sides(_ keys: inout Keys) -> [Side] {
        guard let node = keys.take("sides") else { return [] }
        return sequence(node, "sides").compactMap { entry in
            guard let name = text(entry, "sides") else { return nil }
            let side = [Side.subject, .tester].first { $0.rawValue == name }
            if side == nil { report(position(entry), "a side is `subject` or `tester`, not '\(name)'") }
            return side
        }
    }

    private mutating func legalSettings(_ node: Node?) -> [QuirkSetting] {
        let settings = controllerQuirks(node)
        for setting in settings {
            let defects = vocabulary.worlds.defects(setting)
            guard !defects.isEmpty else { continue }
            let advice = setting.name == QuirkSetting.chip ? "; `\(QuirkSetting.legalChip):` leaves them out" : ""
            report(setting.position, "defects, which only mutants have: \(defects.joined(separator: ", "))" + advice)
        }
        return settings
    }

    private mutating func legalHostSettings(_ node: Node?) -> [QuirkSetting] {
        let settings = quirks(node, of: "hosts", vocabulary.worlds.hosts)
        for setting in settings where vocabulary.worlds.hosts[setting.name]?.isDefect(setting.value) == true {
            report(setting.position, "\(setting.name) is a defect, which only mutants have")
        }
        return settings
    }

    private mutating func surroundings(_ node: Node?, _ world: inout World) {
        guard let node, var keys = keys(node, of: "surroundings") else { return }
        world.packetErrorRate = packetErrorRate(keys.take("packetErrorRate")) ?? 0
        if let neighbours = keys.take("neighbours"), var counts = self.keys(neighbours, of: "neighbours") {
            world.neighbours.advertisers = integer(counts.take("advertise"), "advertise", in: 0...50) ?? 0
            world.neighbours.scanners = integer(counts.take("scan"), "scan", in: 0...50) ?? 0
            world.neighbours.phones = integer(counts.take("phones"), "phones", in: 0...5) ?? 0
            world.neighbours.links = integer(counts.take("connect"), "connect", in: 0...25) ?? 0
            finish(counts, of: "neighbours", allowed: Self.neighbourKeys)
        }
        finish(keys, of: "surroundings", allowed: ["packetErrorRate", "neighbours"])
    }
}
