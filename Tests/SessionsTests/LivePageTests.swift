import BBCapture
import BBDiagnosis
import BBHTTP
import BBPackets
import BBTiming
import Foundation
import Testing

@testable import BBSessions

/// The page of a running capture: its query, its rows, its exports and its answers.
struct LivePageTests {
    @Test(
        arguments: [
            ([:], [1, 2, 3, 4, 5, 6]), (["words": "reset"], [1, 2]), (["words": "reset !status"], [1]),
            (["words": "/^Reset$/"], [1]), (["words": "//"], []), (["where": "Status != Success"], [4]), (["layer": "att"], [5]),
            (["layer": "command,att"], [1, 3, 5, 6]), (["connection": "0x0040"], [3, 4, 5]), (["connection": "64", "layer": "data"], [5]),
            (["where": "", "words": "", "layer": "", "connection": ""], [1, 2, 3, 4, 5, 6]),
        ] as [([String: String], [Int])])
    func aQuerySelectsRows(_ fields: [String: String], _ numbers: [Int]) throws {
        let view = try LiveStore.sample().view(fields)
        #expect((0..<view.count).map { view[$0] + 1 } == numbers)
        for index in 0..<sampleRecords.count { #expect(view.contains(index) == numbers.contains(index + 1)) }
    }

    @Test(
        arguments: [
            (["where": "Status ="], "where: "), (["words": "/(/"], "grep (: "),
            (["layer": "hci,none"], "layer hci,none: use hci"),
            (["connection": "x"], "connection x: a handle is a number"),
        ] as [([String: String], String)])
    func aQueryThatCannotBeReadIsRefused(_ fields: [String: String], _ text: String) {
        do {
            _ = try PacketSelection(LiveQuery(fields).text)
            Issue.record("nothing was wrong with \(fields)")
        } catch { #expect(error.description.hasPrefix(text), "\(error)") }
    }

    @Test(arguments: [("1", "0", true, false), ("0", "1", false, true), ("yes", "", false, false)])
    func marksAndFlagsLimitTheRows(_ marked: String, _ flagged: String, _ isMarked: Bool, _ isFlagged: Bool) {
        let query = LiveQuery(["marked": marked, "flagged": flagged])
        #expect(query.isMarked == isMarked && query.isFlagged == isFlagged)
        #expect(query.text == SelectionText())
    }

    /// Packets that come while older ones are judged are in their place, from every block.
    @Test(arguments: [1, 200, 700]) func aViewGrowsWithTheCapture(_ repeated: Int) throws {
        let store = LiveStore.sample(repeated: repeated)
        let view = LiveView(try PacketSelection(LiveQuery(["where": "Status != Success"]).text), store)
        for record in sampleRecords {
            view.scan(store)
            if let decoded = store.add(record) { view.add(store.count - 1, decoded, store) }
        }
        while !view.isDone { view.scan(store) }
        #expect((0..<view.count).map { view[$0] % 6 } == Array(repeating: 3, count: repeated + 1))
        #expect((1..<view.count).allSatisfy { view[$0 - 1] < view[$0] } && view.row(of: 4) == 1)
    }

    /// The rules judge the packets as the page has decoded them.
    @Test func theFindingsAreThoseOfTheRules() throws {
        let rules = try RuleFiles.all([])
        let interface = CaptureInterface(name: "dongle", linkType: .h4WithDirection)
        let store = LiveStore([interface], names: true, rules: rules, notes: CaptureNotes())
        var examiner = Examiner(rules: rules, showsSecrets: true)
        let events = [
            HCIPacket(event: HCIEvents.LEConnectionComplete(connectionHandle: 0x40, connectionInterval: 24, supervisionTimeout: 100)),
            HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: 0x40, reason: .connectionTimeout)),
        ]
        for (index, event) in events.enumerated() {
            let time = CaptureTime.virtualEpoch + Microseconds(Int64(index) * 2_000_000)
            let record = CaptureRecord(time: time, content: .hci(event, .controllerToHost))
            _ = store.add(record)
            examiner.examine(record)
        }
        store.updateMarks()
        #expect(!store.findings.isEmpty)
        #expect(store.findings.map(\.message) == examiner.findings.map(\.message))
    }

    /// A packet is decoded from the copy of the state before its block as in order.
    @Test func anyPacketIsDecodedAgain() {
        let store = LiveStore.sample(repeated: 200)
        for index in [0, 5, LiveStore.blockSize - 1, LiveStore.blockSize, store.count - 1] {
            #expect(Array(store.decode(index).description.utf8) == Array(store.line(index)))
        }
    }

    @Test func notesAreOnTheRecord() throws {
        let store = LiveStore.sample()
        try store.set(3, comment: "late", isFlagged: true)
        #expect(store.noted(2).comment == "late" && store.noted(2).isFlagged && store.noteVersion == 1)
        #expect(store.noted(1).comment == nil && store.notes.notes.keys.sorted() == [3])
    }

    // MARK: Export

    private static func pieces(_ form: LiveExport.Form, _ fields: [String: String], of store: LiveStore) throws -> [[UInt8]] {
        let view = try store.view(fields)
        let export = try LiveExport(view, store, as: form, names: true) { view.contains($0) }
        var pieces: [[UInt8]] = []
        while let piece = export.read() { pieces.append(piece) }
        return pieces
    }

    private static func export(_ form: LiveExport.Form, _ fields: [String: String]) throws -> [UInt8] {
        try Array(pieces(form, fields, of: .sample()).joined())
    }

    /// Memory holds a piece of an export, not all of it.
    @Test(arguments: [LiveExport.Form.txt, .pcapng]) func aLongExportComesInPieces(_ form: LiveExport.Form) throws {
        let pieces = try Self.pieces(form, [:], of: .sample(repeated: 400))
        let octets = pieces.map(\.count)
        #expect(octets.count(where: { $0 > 0 }) > 2 && octets.allSatisfy { 2 * $0 < octets.reduce(0, +) }, "\(octets)")
    }

    /// A capture in each format has the packets of the view.
    @Test(arguments: [LiveExport.Form.pcapng, .btsnoop, .pklg], [[:], ["layer": "event"], ["words": "nothing has this"]])
    func anExportedCaptureIsReadAgain(_ form: LiveExport.Form, _ fields: [String: String]) throws {
        let octets = try Self.export(form, fields)
        let wanted = try LiveStore.sample().view(fields)
        // A PacketLogger file has no header.
        guard !octets.isEmpty else { return #expect(form == .pklg && wanted.count == 0) }
        try withFolder { folder in
            let path = "\(folder)/export.\(form)"
            try Data(octets).write(to: URL(fileURLWithPath: path))
            let reader = try CaptureReader(path: path)
            var packets: [HCIPacket] = []
            while let record = try reader.next() { if case .hci(let packet, _) = record.content { packets.append(packet) } }
            #expect(
                packets
                    == (0..<wanted.count).map { row in
                        guard case .hci(let packet, _) = sampleRecords[wanted[row]].content else { return HCIPacket(.event, []) }
                        return packet
                    })
        }
    }

    @Test(
        arguments: [
            (.txt, ["words": "reset"], "1 0.000000 > Reset\n2 0.001500 < Command_Complete"),
            (.csv, ["layer": "att"], "number,seconds,interface,direction,connection,layer,name,packet,marks\r\n5,0.006000,dongle,"),
            (.json, ["layer": "att"], #"{"number":5,"seconds":0.006000,"#), (.txt, ["words": "nothing has this"], ""),
        ] as [(LiveExport.Form, [String: String], String)])
    func anExportedTextHasTheRows(_ form: LiveExport.Form, _ fields: [String: String], _ begin: String) throws {
        let text = String(decoding: try Self.export(form, fields), as: UTF8.self)
        #expect(begin.isEmpty ? text.isEmpty : text.hasPrefix(begin), "\(text)")
        #expect(text.isEmpty || text.utf8.last == 0x0A)
    }

    // MARK: Requests

    private static let token = "0123456789abcdefghij"

    @Test(
        arguments: [
            (.get, "/", [:], nil, 200), (.get, "/live.js", [:], nil, 200), (.get, "/api/packets", [:], nil, 403),
            (.get, "/api/packets", [:], token, 200), (.get, "/api/packets", ["where": "Status ="], token, 400),
            (.get, "/api/packets", ["first": "x"], token, 400), (.get, "/api/packet", ["number": "6"], token, 200),
            (.get, "/api/packet", ["number": "7"], token, 404), (.get, "/api/export", ["as": "exe"], token, 400),
            (.get, "/api/export", ["as": "csv"], token, 200), (.get, "/api/note", [:], token, 405),
            (.post, "/api/packets", [:], token, 405),
            (.post, "/api/note", [:], token, 400), (.get, "/api/none", [:], token, 404), (.get, "/api/events", [:], token, 200),
        ] as [(HTTPRequest.Method, String, [String: String], String?, Int)])
    func aRequestIsAnswered(
        _ method: HTTPRequest.Method, _ path: String, _ query: [String: String], _ token: String?, _ status: Int
    ) throws {
        let loop = BBTiming.RunLoop(mode: .wall)
        let server = try LiveServer(host: "127.0.0.1", port: 0, token: Self.token, .sample(), names: true, on: loop)
        defer { server.stop() }
        #expect(server.address.hasSuffix("/?token=\(Self.token)"))
        var request = HTTPRequest(method, path)
        request.query = query
        request.query["token"] = token
        do throws(HTTPFault) {
            let response = try server.respond(request)
            #expect(response.status == status)
            if case .events(let events) = response.body { events.onEnd?() }
        } catch { #expect(error.status == status, "\(error)") }
    }
}
