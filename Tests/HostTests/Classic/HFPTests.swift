import BBBenchTesting
import BBPackets
import Testing

@testable import BBHost

/// The service level connection of HFP: text, each role alone, and both with one another.
@Suite struct HFPTests {
    // MARK: Text

    static let lines: [(String, [ATLineReader.Line])] = [
        ("AT\r", [.text("AT")]),
        ("\r\nOK\r\n", [.text("OK")]),
        ("\r\n+CIND: 1\r\n\r\nOK\r\n", [.text("+CIND: 1"), .text("OK")]),
        ("AT+BRSF=1", []),
        ("\r\n\r\n\r", []),
        (String(repeating: "A", count: 512) + "\r", [.text(String(repeating: "A", count: 512))]),
        (String(repeating: "A", count: 513) + "\rAT\r", [.tooLong, .text("AT")]),
    ]

    @Test(arguments: lines.indices)
    func linesAreCut(_ index: Int) {
        let (text, wanted) = Self.lines[index]
        var reader = ATLineReader()
        let whole = reader.receive([UInt8](text.utf8))
        #expect(whole == wanted)
        var other = ATLineReader()
        let single = text.utf8.flatMap { other.receive([$0]) }
        #expect(single == wanted)
    }

    static let commands: [(String, ATCommand?)] = [
        ("AT+BRSF=671", ATCommand("+BRSF", .set(["671"]))),
        ("at+cind=?", ATCommand("+CIND", .test)),
        ("AT+CIND?", ATCommand("+CIND", .read)),
        ("AT+BCC", ATCommand("+BCC", .execute)),
        ("AT+CMER=3,0,0,1", ATCommand("+CMER", .set(["3", "0", "0", "1"]))),
        ("AT+BIA=,1,,0", ATCommand("+BIA", .set(["", "1", "", "0"]))),
        ("AT+VGS=", ATCommand("+VGS", .set([]))),
        ("ATD123;", ATCommand("D", .set(["123;"]))),
        ("ATA", ATCommand("A", .execute)),
        ("", nil), ("A", nil), ("AT", nil), ("OK", nil), ("AT+", nil), ("AT+=1", nil), ("AT+CIND?1", nil), ("AT+A B=1", nil), ("AT-X", nil),
    ]

    @Test(arguments: commands.indices)
    func commandsAreRead(_ index: Int) {
        let (text, wanted) = Self.commands[index]
        #expect(ATCommand(text) == wanted)
    }

    @Test(arguments: [
        (#"("service",(0,1)),("call",(0-3))"#, [#"("service",(0,1))"#, #"("call",(0-3))"#]),
        (#"1,"a,b",2"#, ["1", "a,b", "2"]),
        ("(0,1,2,3)", ["(0,1,2,3)"]),
        ("", []),
        ("((", ["(("]),
    ])
    func parametersAreSplit(_ text: String, _ wanted: [String]) { #expect(ATParameters.split(text) == wanted) }

    // MARK: The audio gateway

    static let everything = HFPAudioGatewayFeatures([.threeWayCalling, .codecNegotiation, .indicators])

    /// Commands of a hands-free unit and results of a gateway with all features.
    static let exchanges: [(String, [String], [String])] = [
        ("features", ["AT+BRSF=0"], ["+BRSF: 1537", "OK"]),
        ("features that are no number", ["AT+BRSF=x"], ["ERROR"]),
        ("features that are negative", ["AT+BRSF=-1"], ["ERROR"]),
        ("features beyond 32 bits", ["AT+BRSF=4294967296"], ["ERROR"]),
        ("two features", ["AT+BRSF=1,2"], ["ERROR"]),
        ("codecs", ["AT+BAC=1,2"], ["OK"]),
        ("codecs that are none", ["AT+BAC=a"], ["ERROR"]),
        ("no codecs", ["AT+BAC="], ["ERROR"]),
        ("indicators' values", ["AT+CIND?"], ["+CIND: 1,0,0,0,5,0,5", "OK"]),
        ("reporting with defaults", ["AT+CMER=3,,,1"], ["OK"]),
        ("reporting that is neither on nor off", ["AT+CMER=3,0,0,2"], ["ERROR"]),
        ("reporting of another mode", ["AT+CMER=1,0,0,1"], ["ERROR"]),
        ("reporting without the last number", ["AT+CMER=3"], ["ERROR"]),
        ("call hold", ["AT+CHLD=?"], ["+CHLD: (0,1,2,3)", "OK"]),
        ("HF indicators", ["AT+BIND=1,2", "AT+BIND=?", "AT+BIND?"], ["OK", "+BIND: (1,2)", "OK", "+BIND: 1,1", "+BIND: 2,1", "OK"]),
        ("a codec that was not offered", ["AT+BCS=2"], ["ERROR"]),
        ("audio before the connection", ["AT+BCC"], ["ERROR"]),
        ("a call", ["ATA", "AT+CHUP", "ATD123;"], ["OK", "OK", "OK"]),
        ("an unknown command", ["AT+XYZ=1"], ["ERROR"]),
        ("no command", ["hello"], ["ERROR"]),
        ("a line without end, and one behind it", [String(repeating: "A", count: 10_000), "AT+BAC=1"], ["ERROR", "OK"]),
    ]

    @Test(arguments: exchanges.indices)
    func gatewaysAnswer(_ index: Int) {
        let (name, commands, wanted) = Self.exchanges[index]
        var gateway = HFPAudioGateway(features: Self.everything)
        let actions = commands.flatMap { gateway.receive([UInt8](($0 + "\r").utf8), at: 0) }
        let sent = actions.compactMap { if case .send(let octets) = $0 { String(decoding: octets, as: UTF8.self) } else { nil } }
        #expect(sent == wanted.map { "\r\n\($0)\r\n" }, "\(name)")
    }

    // MARK: Both

    static let begin = ["CIND=?", "CIND?", "CMER=3,0,0,1"]
    static let bind = ["BIND=1,2", "BIND=?", "BIND?"]
    static let connections: [(HFPHandsFreeFeatures, HFPAudioGatewayFeatures, [String])] = [
        ([], [], ["BRSF=0"] + begin),
        ([.codecNegotiation], [], ["BRSF=128"] + begin),
        ([.codecNegotiation], everything, ["BRSF=128", "BAC=1,2"] + begin),
        ([.threeWayCalling], everything, ["BRSF=2"] + begin + ["CHLD=?"]),
        ([.indicators], everything, ["BRSF=256"] + begin + bind),
        ([.threeWayCalling, .codecNegotiation, .indicators], everything, ["BRSF=386", "BAC=1,2"] + begin + ["CHLD=?"] + bind),
    ]

    /// With any features, both devices see the connection established after the same commands. HFP 1.8, 4.2.1.
    @Test(arguments: connections.indices)
    func connectionsComeUp(_ index: Int) {
        let (unit, gateway, wanted) = Self.connections[index]
        var line = CallLine(HFPHandsFree(features: unit), HFPAudioGateway(features: gateway))
        line.perform { $0.start(at: 0) }
        #expect(line.commands == wanted.map { "AT+\($0)" })
        #expect(line.unit.isConnected && line.gateway.isConnected)
        #expect(line.reports == [[.connected], [.connected]])
        #expect(line.unit.gatewayIndicators.map(\.name) == HFPAudioGateway.Indicator.standard.map(\.name))
        #expect(line.unit.gatewayIndicators.map(\.value) == [1, 0, 0, 0, 5, 0, 5])
        #expect(line.unit.deadline == nil && line.gateway.deadline == nil)
    }

    @Test(arguments: [([HFPCodec.cvsd, .mSBC], HFPCodec.mSBC), ([.cvsd], .cvsd)])
    func codecsAreAgreedOn(_ codecs: [HFPCodec], _ wanted: HFPCodec) {
        var line = CallLine(HFPHandsFree(features: .codecNegotiation, codecs: codecs), HFPAudioGateway(features: Self.everything))
        line.perform { $0.start(at: 0) }
        line.perform { $0.requestAudio(at: 0) }
        #expect(line.unit.codec == wanted && line.gateway.codec == wanted)
        #expect(line.reports[0].contains(.codec(wanted)) && line.reports[1].contains(.codec(wanted)))
        #expect(line.commands.suffix(2) == ["AT+BCC", "AT+BCS=\(wanted.rawValue)"])
    }

    /// A unit that does not support the codec responds with its own codecs. HFP 1.8, 4.11.3.
    @Test func anotherCodecIsChosen() {
        var unit = HFPHandsFree(features: .codecNegotiation, codecs: [.cvsd])
        _ = unit.start(at: 0)
        for text in ["+BRSF: 512", "OK", "OK", "+CIND: (\"call\",(0,1))", "OK", "+CIND: 0", "OK", "OK"] {
            _ = unit.receive([UInt8]("\r\n\(text)\r\n".utf8), at: 0)
        }
        #expect(unit.isConnected)
        let answer = unit.receive([UInt8]("\r\n+BCS: 2\r\n".utf8), at: 0)
        #expect(answer == [.send([UInt8]("AT+BAC=1\r".utf8))])
    }

    @Test func indicatorsCallsAndCommands() {
        var line = CallLine(HFPHandsFree(features: []), HFPAudioGateway(features: []))
        line.change { $0.set("call", to: 1) }
        line.perform { $0.start(at: 0) }
        line.change { $0.set("callsetup", to: 1) }
        line.change { $0.set("callsetup", to: 1) }
        line.change { $0.set("callsetup", to: 7) }
        line.change { $0.send("RING") }
        line.perform { $0.send("ATA", at: 0) }
        line.perform { $0.send("AT+BCC", at: 0) }
        #expect(
            line.reports[0] == [
                .connected, .indicator("callsetup", 1), .result(ATResult("RING")), .finished("ATA", isAccepted: true),
                .finished("AT+BCC", isAccepted: false),
            ])
        #expect(line.reports[1] == [.connected, .command(ATCommand("A", .execute))])
    }

    // MARK: Refusals and silence

    static let failures: [([String], HFPFailure)] = [
        (["ERROR"], .refused("AT+BRSF=0")),
        (["+BRSF: 0", "OK", "+CME ERROR: 30"], .refused("AT+CIND=?")),
        (["+BRSF: 0", "OK", "OK"], .malformed("AT+CIND=?")),
        ([], .timedOut("AT+BRSF=0")),
        (["+BRSF: 0", "OK", "+CIND: (\"call\",(0,1))", "OK"], .timedOut("AT+CIND?")),
        (
            [
                "+CIEV: 1,1", "+CIEV: 0,0", "+CIEV: -9223372036854775808,1", "+CIEV: 999999999999999999999,1", "+CIEV:", "+BCS: 2",
                "+BCS: 999",
            ], .timedOut("AT+BRSF=0")
        ),
    ]

    @Test(arguments: failures.indices)
    func connectionsFail(_ index: Int) {
        let (results, failure) = Self.failures[index]
        var unit = HFPHandsFree(features: [])
        _ = unit.start(at: 0)
        var actions = results.flatMap { unit.receive([UInt8]("\r\n\($0)\r\n".utf8), at: 0) }
        if let deadline = unit.deadline { actions += unit.expire(at: deadline) }
        #expect(actions.last == .failed(failure))
        #expect(!unit.isConnected && unit.deadline == nil)
    }
}

/// A hands-free unit and its gateway.
private struct CallLine {
    var unit: HFPHandsFree
    var gateway: HFPAudioGateway
    var commands: [String] = []
    var reports: [[HFPAction]] = [[], []]

    init(_ unit: HFPHandsFree, _ gateway: HFPAudioGateway) { (self.unit, self.gateway) = (unit, gateway) }

    mutating func perform(_ event: (inout HFPHandsFree) -> [HFPAction]) { settle(event(&unit).map { (0, $0) }) }

    mutating func change(_ event: (inout HFPAudioGateway) -> [HFPAction]) { settle(event(&gateway).map { (1, $0) }) }

    private mutating func settle(_ actions: [(Int, HFPAction)]) {
        var mail = actions
        while !mail.isEmpty {
            let (from, action) = mail.removeFirst()
            guard case .send(let octets) = action else {
                reports[from].append(action)
                continue
            }
            if from == 0 {
                commands.append(String(decoding: octets.dropLast(), as: UTF8.self))
                mail += gateway.receive(octets, at: 0).map { (1, $0) }
            } else {
                mail += unit.receive(octets, at: 0).map { (0, $0) }
            }
        }
    }
}
