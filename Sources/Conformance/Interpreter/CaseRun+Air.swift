import BBCases
import BBMisbehaviour
import BBPackets
import BBTiming

extension CaseRun {
    /// Runs an air step: waits for a PDU, or adds a rule for future PDUs.
    func run(_ air: AirStep, _ step: Step, _ scope: inout Scope) async throws {
        guard bench.world != nil else { throw StepFailure(.bench, "the air is not simulated here") }
        switch air.operation {
        case .expect, .expectNone: try await observe(air, step, scope)
        case .suppress, .alter, .inject: try plant(air, step, scope)
        }
    }

    private func observe(_ air: AirStep, _ step: Step, _ scope: Scope) async throws {
        let limits = try limits(of: air.window, step, scope, isForbidden: air.operation == .expectNone)
        let search = Search(air.name, air.predicates, at: step.side, isAir: true, scope.frame.variables, limits)
        let start = try searchStart(air.since, scope)
        let began = loop.now
        let found = try await log.take(from: start, until: limits.waitUntil) { search.matches($0) }
        if let failure = search.failure { throw failure }
        if case .expectNone = air.operation {
            guard let found else { return }
            throw StepFailure(
                .subject, step.stating("\(air.name) must not be sent, but the \(step.side.rawValue) sent it at \(found.time.text)"),
                evidence: [Self.evidence(found)])
        }
        guard let found else { throw missed(search, step, waited: loop.now - began) }
        save(.record(PDUCodec.record(of: found)), of: step, in: scope, from: found.place)
        if step.states != nil { evidence.append(Self.evidence(found)) }
    }

    private func plant(_ air: AirStep, _ step: Step, _ scope: Scope) throws {
        guard let world = bench.world else { return }
        bench.suspendAirConduct()
        let fields = try record(air.fields, scope)
        if case .inject = air.operation {
            do {
                let pdu = try PDUCodec.encode(air.name, fields)
                let isLMP = PDUCatalog.declaration(layer: .lmp, name: air.name) != nil
                guard isLMP ? world.inject(lmp: pdu, at: step.side) : world.inject(pdu, at: step.side, inClear: air.isInClear) else {
                    throw StepFailure(.precondition, "\(step.summary): there is no link")
                }
            } catch let error as PDUCodec.Failure {
                throw StepFailure(.precondition, "\(air.name) cannot be encoded: \(error.text)")
            }
            return
        }
        var change = Fault.Change.drop
        if case .alter = air.operation {
            change = .fields(zip(fields.names, fields.values).map { Fault.Edit(path: $0, source: .value(.literal($1))) })
        }
        let rule = Fault.Rewrite(
            pdu: air.name, fields: air.predicates, change: change, occurrences: Occurrences(count: air.times), position: step.position)
        guard try world.add(rule, at: step.side) else { throw StepFailure(.bench, "\(step.summary): there is no such PDU to change") }
    }
}
