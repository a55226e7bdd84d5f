import BBPackets
import Testing

@testable import BBSimulation

/// The engine alone, with procedures of a fictitious layer.
@Suite struct ProcedureEngineTests {
    typealias Layer = MadeUpLayer

    /// Two engines that send each other one message per tick.
    private final class Pair {
        final class End {
            var engine = ProcedureEngine<Layer>()
            var context: Layer.Context
            var reports: [Layer.Report] = []
            var sent: [Layer.Message] = []
            var outgoing: [Layer.Message] = []
            var reason: ErrorCode?
            /// The host's reply.
            var favours: Bool?

            init(isCentral: Bool) { context = Layer.Context(isCentral: isCentral) }

            func take(_ outputs: [ProcedureEngine<Layer>.Output]) {
                for output in outputs where reason == nil {
                    switch output {
                    case .send(let message), .announce(let message):
                        sent.append(message)
                        outgoing.append(message)
                    case .changed: break
                    case .report(let report):
                        reports.append(report)
                        if report == .asked(.favour), let favours { reply(favours) }
                    case .disconnect(let reason):
                        self.reason = reason
                        engine.removeAll()
                        outgoing.removeAll()
                    }
                }
            }

            func request(_ kind: Layer.Kind, at now: Microseconds = .zero) { take(engine.request(Asker(kind), at: now, &context)) }

            func reply(_ agrees: Bool) {
                guard let outputs = engine.hostReplied(agrees, at: .zero, &context) else { return }
                take(outputs)
            }
        }

        let central = End(isCentral: true)
        let peripheral = End(isCentral: false)
        var ends: [End] { [central, peripheral] }

        /// Each tick: the central's message reaches the peripheral, then the other way round.
        func run(_ ticks: Int = 30) {
            for _ in 0..<ticks {
                for end in ends where end.reason == nil {
                    end.context.now += 1
                    while let outputs = end.engine.reachInstant(end.context.now, at: .zero, &end.context) { end.take(outputs) }
                }
                pass(from: central, to: peripheral)
                pass(from: peripheral, to: central)
            }
        }

        private func pass(from sender: End, to receiver: End) {
            guard sender.reason == nil, !sender.outgoing.isEmpty else { return }
            let message = sender.outgoing.removeFirst()
            guard receiver.reason == nil else { return }
            receiver.take(receiver.engine.received(message, opcode(of: message), at: .zero, &receiver.context))
            sender.take(sender.engine.acknowledged(opcode(of: message), at: .zero, &sender.context))
            receiver.take(receiver.engine.acknowledgementSent(at: .zero, &receiver.context))
        }

        private func opcode(of message: Layer.Message) -> Layer.Kind {
            switch message.body {
            case .ask(let kind), .agree(let kind, _), .refuse(let kind, _), .unknown(let kind): kind
            case .announce: .hop
            case .farewell: .farewell
            }
        }

        func expectNothingIsLeft(_ location: SourceLocation = #_sourceLocation) {
            for end in ends {
                #expect(end.engine.isIdle && end.engine.deadline == nil && !end.engine.holdsData, sourceLocation: location)
                #expect(end.outgoing.isEmpty, sourceLocation: location)
            }
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var central: [Layer.Kind] = []
        var peripheral: [Layer.Kind] = []
        var favours: Bool?
        var centralReports: [Layer.Report] = []
        var peripheralReports: [Layer.Report] = []
        var reasons: [ErrorCode?] = [nil, nil]
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(
            name: "asked and answered", central: [.colour], centralReports: [.learnt(.colour), .done(.colour, .success)],
            peripheralReports: [.learnt(.colour)]),
        Row(
            name: "the same at once, told apart by transaction", central: [.colour], peripheral: [.colour],
            centralReports: [.learnt(.colour), .learnt(.colour), .done(.colour, .success)],
            peripheralReports: [.learnt(.colour), .learnt(.colour), .done(.colour, .success)]),
        Row(name: "unknown", central: [.riddle], centralReports: [.done(.riddle, .unsupportedRemoteFeature)]),
        Row(
            name: "an instant", peripheral: [.shape], centralReports: [.done(.shape, .success)],
            peripheralReports: [.done(.shape, .success)]),
        Row(
            name: "one after another", central: [.shape, .colour],
            centralReports: [.done(.shape, .success), .learnt(.colour), .done(.colour, .success)],
            peripheralReports: [.done(.shape, .success), .learnt(.colour)]),
        Row(
            name: "a host that agrees", central: [.favour], favours: true,
            centralReports: [.learnt(.favour), .done(.favour, .success)], peripheralReports: [.asked(.favour)]),
        Row(
            name: "a host that does not", central: [.favour], favours: false,
            centralReports: [.done(.favour, .unacceptableConnectionParameters)], peripheralReports: [.asked(.favour)]),
        Row(
            name: "the same with an instant", central: [.shape], peripheral: [.shape], centralReports: [.done(.shape, .success)],
            peripheralReports: [.done(.shape, .lmpErrorTransactionCollision), .done(.shape, .success)]),
        Row(
            name: "others with an instant", central: [.shape], peripheral: [.seal], centralReports: [.done(.shape, .success)],
            peripheralReports: [.done(.seal, .differentTransactionCollision), .done(.shape, .success)]),
        Row(
            name: "an announcement", central: [.hop], centralReports: [.done(.hop, .success)],
            peripheralReports: [.done(.hop, .success)]),
        Row(
            name: "an announcement cannot be refused", central: [.hop], peripheral: [.shape], centralReports: [.done(.hop, .success)],
            peripheralReports: [.done(.shape, .differentTransactionCollision), .done(.hop, .success)]),
        Row(
            name: "the end, beside all others", central: [.shape, .colour, .farewell, .colour],
            reasons: [.connectionTerminatedByLocalHost, .remoteUserTerminatedConnection]),
    ]

    @Test(arguments: rows) func procedures(row: Row) {
        let pair = Pair()
        pair.peripheral.favours = row.favours
        for kind in row.central { pair.central.request(kind) }
        for kind in row.peripheral { pair.peripheral.request(kind) }
        pair.run()
        #expect(pair.central.reports == row.centralReports)
        #expect(pair.peripheral.reports == row.peripheralReports)
        #expect([pair.central.reason, pair.peripheral.reason] == row.reasons)
        pair.expectNothingIsLeft()
    }

    /// All pairs of kinds at the same time, for either initiator: all end, and a rejection has the error code of the table.
    @Test(arguments: Layer.Kind.allCases, Layer.Kind.allCases) func everyPair(central: Layer.Kind, peripheral: Layer.Kind) {
        let pair = Pair()
        for end in pair.ends { end.favours = true }
        pair.central.request(central)
        pair.peripheral.request(peripheral)
        pair.run()
        pair.expectNothingIsLeft()
        guard central != .farewell, peripheral != .farewell else { return }
        let reason = Layer.collisions.reason(against: peripheral, beside: central)
        let expected = peripheral == .riddle ? .unsupportedRemoteFeature : reason ?? .success
        if reason == nil || peripheral != .hop { #expect(pair.peripheral.reports.contains(.done(peripheral, expected))) }
        #expect(pair.central.reports.contains(.done(central, central == .riddle ? .unsupportedRemoteFeature : .success)))
    }

    @Test func aProcedureWaitsForAnIncompatibleOneOfTheOtherSide() {
        let pair = Pair()
        pair.peripheral.request(.shape)
        pair.run(2)
        #expect(pair.central.engine.nextInstant != nil)
        pair.central.request(.seal)
        #expect(pair.central.engine.isBusy(with: .seal) && pair.central.sent.allSatisfy { $0.body != .ask(.seal) })
        pair.run()
        #expect(pair.central.reports == [.done(.shape, .success), .done(.seal, .success)])
        pair.expectNothingIsLeft()
    }

    @Test func dataIsHeldUntilTheInstant() {
        let pair = Pair()
        pair.central.request(.seal)
        #expect(pair.central.engine.holdsData && !pair.peripheral.engine.holdsData)
        pair.run(3)
        #expect(pair.central.engine.holdsData && pair.peripheral.engine.holdsData)
        #expect(pair.central.context.changes.isEmpty)
        pair.run()
        #expect(pair.central.context.changes == [.taken(.seal)] && pair.peripheral.context.changes == [.taken(.seal)])
        pair.expectNothingIsLeft()
    }

    @Test func silenceEndsTheLink() {
        for (kind, reason) in [(Layer.Kind.colour, ErrorCode.lmpResponseTimeout), (.farewell, .connectionTerminatedByLocalHost)] {
            let end = Pair.End(isCentral: true)
            end.request(kind, at: 1_000_000)
            #expect(end.engine.deadline == 31_000_000)
            end.take(end.engine.timedOut(at: 30_999_999, &end.context))
            #expect(end.reason == nil)
            end.take(end.engine.timedOut(at: 31_000_000, &end.context))
            #expect(end.reason == reason)
        }
    }

    @Test func aTerminationStopsTheTimeOfOthers() {
        let end = Pair.End(isCentral: true)
        end.request(.colour, at: 0)
        end.request(.farewell, at: 20_000_000)
        #expect(end.engine.deadline == 50_000_000 && end.engine.isTerminating)
        end.request(.farewell, at: 21_000_000)
        end.request(.shape, at: 21_000_000)
        #expect(end.sent.map(\.body) == [.ask(.colour), .farewell])
    }

    @Test func aPlantedFaultMovesTheInstant() {
        var engine = ProcedureEngine<Layer>(instantOffset: 2)
        var context = Layer.Context(isCentral: true)
        _ = engine.request(Asker(.hop), at: .zero, &context)
        #expect(engine.nextInstant == 8)
        #expect(engine.reachInstant(7, at: .zero, &context) == nil)
        #expect(engine.reachInstant(8, at: .zero, &context) != nil)
        #expect(engine.isIdle)
    }

    @Test func theOtherSideCannotBeginWithoutLimit() {
        let end = Pair.End(isCentral: false)
        for instant in 1...100 {
            let message = Layer.Message(isOfCentral: true, body: .announce(instant: 1_000 + instant))
            end.take(end.engine.received(message, .hop, at: .zero, &end.context))
        }
        #expect(end.sent == Array(repeating: .init(isOfCentral: true, body: .unknown(.hop)), count: 100 - ProcedureEngine<Layer>.capacity))
        for now in 1...2_000 { while let outputs = end.engine.reachInstant(now, at: .zero, &end.context) { end.take(outputs) } }
        #expect(end.engine.isIdle && end.context.changes.count == ProcedureEngine<Layer>.capacity)
    }

    @Test func aReplyThatNobodyAwaitsIsRefused() {
        let end = Pair.End(isCentral: true)
        #expect(end.engine.hostReplied(true, at: .zero, &end.context) == nil)
    }
}
