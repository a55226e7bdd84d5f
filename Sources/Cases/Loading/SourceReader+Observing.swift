import BBPackets
import Yams

/// Steps that wait for packets or measure them.
extension SourceReader {
    mutating func expectation(_ head: Node, _ keys: inout Keys) -> Expectation? {
        guard let name = text(head, "expect") else { return nil }
        let known = pdu(named: name, at: head, .received)
        return Expectation(
            name: name, fields: conditions(keys.take("where"), of: known, name),
            window: window(&keys), since: text(keys.take("since"), "since"), isStrict: truth(keys.take("strict"), "strict"))
    }

    /// Reads something that must not occur: any of several equivalent events of a controller.
    mutating func prohibition(_ head: Node, _ keys: inout Keys) -> Step.Kind? {
        guard let expectation = expectation(head, &keys) else { return nil }
        for (name, events) in vocabulary.alternatives.sorted(by: { $0.key < $1.key }) where events.contains(expectation.name) {
            let others = events.filter { $0 != expectation.name }.joined(separator: " and ")
            report(head, "none leaves out \(others), which may come instead; write \(name)")
        }
        checkIsOpen(expectation.window, expectation.since, at: head)
        return .expectNone(expectation)
    }

    /// Reports a window in which no packet can come, so that a step that waits for none always passes.
    private mutating func checkIsOpen(_ window: Window?, _ since: String?, at node: Node) {
        guard since == nil, case .time(.zero)? = window?.within else { return }
        report(node, "a window of 0 ms without `since:` has no packets: this step always passes")
    }

    /// Reads the conditions on a PDU. The return parameters of Command Complete have the fields of the command that the conditions name.
    private mutating func conditions(_ node: Node?, of known: Vocabulary.PDU?, _ name: String) -> [FieldPredicate] {
        var fields = known?.fields ?? []
        if name == HCIEvents.CommandComplete.name, let command = node?.mapping?["Command_Opcode"]?.string,
            let returns = vocabulary.pdus[command]?.returns
        {
            fields = fields.map { $0.name == "Return_Parameters" ? $0.withParts(returns) : $0 }
        }
        return fieldPredicates(node, of: name, fields: fields, isOpen: known == nil)
    }

    private mutating func window(_ keys: inout Keys) -> Window? {
        let within = length(keys.take("within"), "within")
        let afterNode = keys.take("after")
        let after = length(afterNode, "after")
        if case .time(let least)? = after, case .time(let most)? = within, least > most, let afterNode {
            report(afterNode, "the window is upside down: after \(least.text), within \(most.text)")
        }
        return within == nil && after == nil ? nil : Window(notBefore: after, within: within)
    }

    mutating func measurement(_ head: Node, _ keys: inout Keys) -> Measurement? {
        guard let metricName = text(head, "measure") else { return nil }
        guard let metric = Measurement.Metric(rawValue: metricName) else {
            let names = Measurement.Metric.allCases.map(\.rawValue)
            report(head, "there is no metric '\(metricName)'" + Suggestion.text(for: metricName, among: names))
            return nil
        }
        guard let of = keys.take("of"), let name = text(of, "of"), let during = length(keys.take("during"), "during"),
            let condition = keys.take("is")
        else {
            report(head, "measure needs `of:`, `during:` and `is:`")
            return nil
        }
        let known = pdu(named: name, at: of, .observed)
        readsTimes = true
        let result = predicate(condition, field: .init(metricName, .number(.min ... .max)))
        readsTimes = false
        return Measurement(
            metric: metric, name: name,
            fields: conditions(keys.take("where"), of: known, name),
            during: during, result: result)
    }

    mutating func airStep(_ head: Node, _ keys: inout Keys) -> AirStep? {
        let operations: [String: AirStep.Operation] = [
            "expect": .expect, "none": .expectNone, "suppress": .suppress, "alter": .alter, "inject": .inject,
        ]
        guard let word = text(head, "air") else { return nil }
        guard let operation = operations[word] else {
            report(head, "the air has no '\(word)'" + Suggestion.text(for: word, among: operations.keys))
            return nil
        }
        guard let pduNode = keys.take("pdu"), let name = text(pduNode, "pdu") else {
            report(head, "an air step needs `pdu:`")
            return nil
        }
        let known = pdu(named: name, at: pduNode, .air)
        var fields: [Operand.Entry] = []
        if let with = keys.take("with"), let values = self.keys(with, of: "with") {
            fields = entries(values, of: name, fields: known?.fields ?? [])
        }
        let predicates = fieldPredicates(keys.take("where"), of: name, fields: known?.fields ?? [], isOpen: known == nil)
        if operation == .suppress || operation == .alter { checkEqualities(predicates) }
        if operation == .alter, fields.isEmpty { report(head, "air: alter needs `with:`, the fields that are changed") }
        if operation == .inject { fields += defaults(of: known, name, without: fields, at: position(head)) }
        let (window, since) = (window(&keys), text(keys.take("since"), "since"))
        if operation == .expectNone { checkIsOpen(window, since, at: head) }
        return AirStep(
            operation: operation, name: name, fields: fields, predicates: predicates, window: window, since: since,
            times: integer(keys.take("times"), "times", in: 1...100_000),
            isInClear: truth(keys.take("inClear"), "inClear"))
    }

    /// Reports predicates other than equality, which rules for sent packets do not support.
    mutating func checkEqualities(_ predicates: [FieldPredicate]) {
        for predicate in predicates {
            if case .equals = predicate.predicate { continue }
            report(predicate.position, "a rule for a controller's PDUs compares for equality only")
        }
    }

    mutating func pdu(named name: String, at node: Node, _ layers: Set<Layer>) -> Vocabulary.PDU? {
        if let known = vocabulary.pdus[name] {
            if layers.contains(known.layer) { return known }
            report(node, "\(name) cannot be used here")
            return nil
        }
        let names = vocabulary.pdus.values.filter { layers.contains($0.layer) }.map(\.name)
        report(node, "there is no PDU '\(name)'" + Suggestion.text(for: name, among: names))
        return nil
    }
}
