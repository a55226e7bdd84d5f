import BBCapture
import BBDiagnosis
import BBHTTP
import BBPackets
import BBTiming
import Foundation

@testable import BBSessions

extension FuzzTarget {
    /// A request of a page of a running capture, of which the first line is the path and query, and the rest is the body: documents are
    /// JSON, windows are bounded, and notes are kept.
    static let livePages = FuzzTarget(
        name: "live-page", layer: nil, isText: true,
        seeds: {
            [
                "GET /api/packets?where=Status+%21%3D+Success&first=3&count=20", "GET /api/packets?words=reset&around=9223372036854775807",
                "GET /api/packets?first=9223372036854775807&count=9223372036854775807&marked=1", "GET /api/packet?number=2",
                "GET /api/packets?layer=att,smp&connection=0x0040&flagged=1", "GET /api/packets?words=/re.*t/", "GET /api/findings",
                "GET /api/events?where=ATT_ERROR_RSP", "GET /api/export?as=json&words=le", "GET /", "GET /live.js",
                "POST /api/note\n{\"number\":2,\"comment\":\"c\",\"isFlagged\":true}", "POST /api/note\n{\"number\":-1}",
            ].map { Array($0.utf8) }
        },
        run: { input in
            guard let request = request(of: input) else { return }
            try LivePageTrial.shared.value.answer(request)
        })

    private static func request(of input: [UInt8]) -> HTTPRequest? {
        let end: Int = input.firstIndex(of: 0x0A) ?? input.count
        let line = String(decoding: input[..<end], as: UTF8.self)
        let words: [Substring] = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let method = HTTPRequest.Method(rawValue: String(words[0])) else { return nil }
        let target: [Substring] = words[1].split(separator: "?", maxSplits: 1)
        var request = HTTPRequest(method, String(target.first ?? "/"))
        for part: Substring in target.count == 2 ? target[1].split(separator: "&") : [] {
            let pair: [Substring] = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            let value = String(pair[1].map { $0 == "+" ? " " : $0 })
            request.query[String(pair[0])] = value.removingPercentEncoding ?? value
        }
        request.body = Array(input[min(input.count, end + 1)...])
        return request
    }
}

/// The server of a page with the packets of a kept capture.
private final class LivePageTrial {
    static let shared: LoopBound<LivePageTrial> = {
        let trial = LivePageTrial()
        return LoopBound(trial, to: trial.loop)
    }()
    private let loop = BBTiming.RunLoop(mode: .wall)
    private let store: LiveStore
    private let server: LiveServer?
    private let count: Int
    private static let token = "0123456789abcdefghij"

    private init() {
        let file = ScratchFile(".pcapng")
        try? file.write(Seeds.files(below: "Fixtures", ending: ".pcapng", limit: 1 << 24)[0])
        let reader = try? CaptureReader(path: file.path)
        file.remove()
        var records: [CaptureRecord] = []
        while records.count < 300, let record = try? reader?.next() { records.append(record) }
        let interface = CaptureInterface(name: "fuzz", linkType: .h4WithDirection)
        let store = LiveStore([interface], names: true, rules: (try? DiagnosisRule.builtIn()) ?? [], notes: CaptureNotes())
        let loop = loop
        self.store = store
        server = try? LiveServer(host: "127.0.0.1", port: 0, token: Self.token, store, names: true, on: loop)
        for record in records { server?.add(record) }
        count = store.count
    }

    func answer(_ request: HTTPRequest) throws {
        guard let server else { throw BrokenPromise("there is no server") }
        var request = request
        request.query["token"] = Self.token
        // Searching a regular expression is a target of its own.
        if request.query["words"]?.hasPrefix("/") == true { return }
        let response: HTTPResponse
        do { response = try server.respond(request) } catch {
            return try promise((400...503).contains(error.status), "status \(error.status)")
        }
        switch response.body {
        case .octets(let octets):
            guard response.type == "application/json" else { return }
            _ = try JSONSerialization.jsonObject(with: Data(octets), options: .fragmentsAllowed)
            try promise(octets.count < 1 << 20, "\(octets.count) octets")
        case .pieces(let next):
            var pieces = 0
            while next() != nil {
                pieces += 1
                try promise(pieces < 10_000, "an export without an end")
            }
        case .events(let events): events.onEnd?()
        }
        try promise(store.count == count && count > 0, "\(store.count) packets")
    }
}
