import BBPackets
import Yams

/// Reading of conditions on the features of a bench's devices and on the known facts about a device over the air.
extension SourceReader {
    mutating func requirement(_ node: Node?, _ what: String) -> Requirement? {
        guard let node, let text = text(node, what) else { return nil }
        do {
            let requirement = try Requirement(parsing: text)
            for name in requirement.names where !isFeature(name) {
                let names = vocabulary.features.union(vocabulary.commands)
                let facts = vocabulary.device.features.map { Vocabulary.DeviceShape.name + "." + $0 }
                let all = ["air", "virtual"] + facts + Side.allCases.flatMap { side in names.map { side.rawValue + "." + $0 } }
                report(node, "there is no feature or command '\(name)'" + Suggestion.text(for: name, among: all))
            }
            return requirement
        } catch {
            var place = position(node)
            place.column += error.offset
            report(place, error.text)
            return nil
        }
    }

    private mutating func isFeature(_ name: String) -> Bool {
        if name == "air" || name == "virtual" || DeclaredItems.Declared(word: name) != nil { return true }
        let parts = name.split(separator: ".", maxSplits: 1)
        if parts.count == 2, parts[0] == Vocabulary.DeviceShape.name {
            mentionsDevice = true
            return vocabulary.device.features.contains(String(parts[1]))
        }
        guard parts.count == 2, Side(rawValue: String(parts[0])) != nil else { return false }
        return vocabulary.features.contains(String(parts[1])) || vocabulary.commands.contains(String(parts[1]))
    }
}
