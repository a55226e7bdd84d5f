import BBCases
import BBProducts

extension RunPlan {
    /// Removes the cases that do not concern a device, except those that the user has named one by one.
    ///
    /// - Returns: the numbers of the removed cases with reasons; nil if there are none.
    public mutating func chooseFor(_ description: DeviceDescription, isAccessoryOnly: Bool) -> String? {
        let facts = DeviceFacts(description, powerCycles: commands.powerCycle != nil)
        let prefix = Vocabulary.DeviceShape.name + "."
        let missing = Set(DeviceFacts.shape.features.map { prefix + $0 }).subtracting(facts.features)
        var (controllers, references) = (0, 0)
        var needs: [String: Int] = [:]
        cases.removeAll { testCase in
            guard !named.contains(testCase.id) else { return false }
            if testCase.subject == .controller {
                controllers += isAccessoryOnly ? 1 : 0
                return isAccessoryOnly
            }
            if !description.isReference, testCase.meetsReference(catalogue) {
                references += 1
                return true
            }
            guard let condition = testCase.needs, !condition.canHold(without: missing) else { return false }
            let unmet = condition.unmet(in: facts.features).filter { missing.contains($0) }.map { String($0.dropFirst(prefix.count)) }
            // Of alternatives, none is unmet alone.
            let text = unmet.isEmpty ? "\(condition)".replacing(prefix, with: "") : unmet.joined(separator: " and ")
            needs[text, default: 0] += 1
            return true
        }
        var parts: [String] = []
        if controllers > 0 { parts.append("\(controllers) about a controller") }
        if references > 0 { parts.append("\(references) about the reference accessory") }
        let rows = needs.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
        if !rows.isEmpty {
            parts.append("\(needs.values.reduce(0, +)) about what the survey did not find (\(rows.joined(separator: ", ")))")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
