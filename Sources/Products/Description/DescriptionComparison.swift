import BBPackets

/// The comparison of a stored description with the survey of this run. Services and characteristics are matched by UUID, those with the
/// same UUID in the order of their handles.
package struct DescriptionComparison {
    /// The description for the cases: handles, values and other facts from this run, with the maker's declarations and exclusions. Services
    /// and characteristics that are not described are not used.
    package private(set) var description: DeviceDescription
    private var missing: [String] = []
    private var added: [String] = []
    private var changed: [String] = []
    private var moved: [String] = []
    private var facts: [String] = []
    private let comparison: FactComparison
    private let file: String

    /// - Parameter file: the name of the stored description.
    package init(_ stored: DeviceDescription, in file: String, found: DeviceDescription) {
        self.file = file
        comparison = FactComparison(stored: stored, found: found)
        description = found
        (description.declares, description.leaveOut) = (stored.declares, stored.leaveOut)
        var rest = stored.services
        for index in description.services.indices {
            let service = description.services[index]
            guard let place = rest.firstIndex(where: { $0.uuid == service.uuid && $0.isPrimary == service.isPrimary }) else {
                added.append("service \(service.uuid.digits)")
                for inner in service.characteristics.indices { description.services[index].characteristics[inner].isDescribed = false }
                continue
            }
            compare(rest.remove(at: place), at: index)
        }
        missing += rest.map { "service \($0.uuid.digits)" }
        facts += comparison.others
    }

    private mutating func compare(_ stored: DeviceDescription.Service, at index: Int) {
        let name = stored.uuid.digits
        var rest = stored.characteristics
        var hasMoved = stored.start != description.services[index].start
        for inner in description.services[index].characteristics.indices {
            let found = description.services[index].characteristics[inner]
            guard let place = rest.firstIndex(where: { $0.uuid == found.uuid }) else {
                added.append("characteristic \(found.uuid.digits) of \(name)")
                description.services[index].characteristics[inner].isDescribed = false
                continue
            }
            let known = rest.remove(at: place)
            if known.properties != found.properties { changed.append("characteristic \(found.uuid.digits) of \(name)") }
            hasMoved = hasMoved || known.handle != found.handle
            facts += comparison.differences(of: known, found, "\(found.uuid.digits) of \(name)")
        }
        missing += rest.map { "characteristic \($0.uuid.digits) of \(name)" }
        if hasMoved { moved.append(name) }
    }

    /// The reason why the device is not the described one; nil if it is. A device whose discovery is malformed is the described one, with
    /// a fault that the cases about discovery name.
    package var refusal: String? {
        guard !missing.isEmpty, description.malformed == nil else { return nil }
        let doubts = description.remarks.isEmpty ? "" : "; the survey says: \(description.remarks.joined(separator: "; "))"
        return "this is not the device of \(file): \(Self.list(missing)) \(Self.is(missing)) missing"
            + (added.isEmpty ? "" : ", \(Self.list(added)) \(Self.is(added)) new") + doubts
            + "; `bluebench survey` describes the device that is there"
    }

    /// The differences between the device and its description; nil if there are none.
    package var change: String? {
        var parts: [String] = []
        if !missing.isEmpty, let fault = description.malformed {
            parts.append("\(Self.list(missing)) \(Self.is(missing)) missing, as the discovery is malformed (\(fault))")
        }
        if !added.isEmpty { parts.append("\(Self.list(added)) \(Self.is(added)) new and not touched") }
        if !changed.isEmpty { parts.append("\(Self.list(changed)) \(changed.count == 1 ? "has" : "have") other properties") }
        if !moved.isEmpty { parts.append("the handles of \(Self.list(moved)) have moved") }
        if !facts.isEmpty { parts.append(Self.list(facts)) }
        return parts.isEmpty ? nil : "not as in \(file): \(parts.joined(separator: "; "))"
    }

    private static func list(_ names: [String]) -> String {
        names.prefix(6).joined(separator: ", ") + (names.count > 6 ? " and \(names.count - 6) more" : "")
    }

    private static func `is`(_ names: [String]) -> String { names.count == 1 ? "is" : "are" }
}
