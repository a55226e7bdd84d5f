import BBCapture
import BBDiagnosis
import BBHTTP
import BBPackets
import BBReport
import BBTiming
import BBTransport
import Foundation

/// Serves the page of a capture: the page itself, windows of the list, trees, notes, exports, and events about progress.
package final class LiveServer {
    /// Address of the page, with the token.
    package let address: String

    private let store: LiveStore
    private let token: AccessToken
    private let loop: BBTiming.RunLoop
    private let showsNames: Bool
    private var server: HTTPServer?
    private var views: [SelectionText: LiveView] = [:]
    private var uses = 0
    private var listeners: [Listener] = []
    private var isScanning = false
    private var hasEnded = false

    private struct Listener {
        var events: HTTPEventStream
        var query: LiveQuery
        /// The last event, which is not repeated.
        var last: [UInt8] = []
    }

    private static let mostViews = 16
    private static let mostRows = 500
    private static let eventInterval = Microseconds.milliseconds(100)
    /// Maximum time for the last requests of pages.
    private static let lastRequests = Microseconds.milliseconds(900)

    /// - Parameters:
    ///   - port: 0 for a free one.
    ///   - text: the token of the page's address.
    /// - Throws: a usage error for a token; `TransportError` if the port cannot be used.
    package init(host: String, port: UInt16, token text: String, _ store: LiveStore, names: Bool, on loop: BBTiming.RunLoop) throws {
        (self.store, self.loop, showsNames) = (store, loop, names)
        guard let token = AccessToken(text) else { throw CommandFailure(.usage, "no token") }
        self.token = token
        let holder = Holder()
        let server = try HTTPServer(
            host: host, port: port, on: loop, isTrusted: { Self.isUsers($0, token) },
            respond: { request throws(HTTPFault) in
                guard let owner = holder.owner else { throw HTTPFault(503, "the capture has ended") }
                return try owner.respond(request)
            })
        self.server = server
        guard case .tcp(let host, let port) = server.address else { throw CommandFailure(.bench, "no port") }
        address = "http://\(host.contains(":") ? "[\(host)]" : host):\(port)/?token=\(text)"
        holder.owner = self
        keepTelling()
    }

    private final class Holder { weak var owner: LiveServer? }

    /// Stops when every page has asked for the last packets and closed its events, at the latest after `lastRequests`.
    package func stop() {
        hasEnded = true
        tell()
        let end = loop.now + Self.lastRequests
        try? loop.run { [self] in while !listeners.isEmpty, loop.now < end { try await loop.sleep(for: .milliseconds(5)) } }
        server?.stop()
        server = nil
    }

    // MARK: Packets

    package func add(_ record: CaptureRecord) {
        guard let decoded = store.add(record) else { return }
        for view in views.values { view.add(store.count - 1, decoded, store) }
    }

    private func view(_ query: LiveQuery) throws(HTTPFault) -> LiveView {
        uses += 1
        if let view = views[query.text] {
            view.lastUse = uses
            return view
        }
        let view: LiveView
        do { view = LiveView(try PacketSelection(query.text), store) } catch { throw HTTPFault(400, "\(error)") }
        if views.count >= Self.mostViews, let oldest = views.min(by: { $0.value.lastUse < $1.value.lastUse })?.key { views[oldest] = nil }
        view.lastUse = uses
        views[query.text] = view
        view.scan(store, isFirst: true)
        continueScans()
        return view
    }

    /// Judges older packets between other work.
    private func continueScans() {
        guard !isScanning, views.values.contains(where: { !$0.isDone }) else { return }
        isScanning = true
        loop.schedule(after: .zero) { [weak self] in
            guard let self else { return }
            isScanning = false
            // The selection used last is the one on the screen.
            views.values.filter { !$0.isDone }.max { $0.lastUse < $1.lastUse }?.scan(store)
            continueScans()
        }
    }

    /// Indices of marked or flagged packets in a selection; nil if it is not limited to them.
    private func candidates(_ query: LiveQuery, _ view: LiveView) -> [Int]? {
        guard query.isMarked || query.isFlagged else { return nil }
        var packets = query.isMarked ? Set(store.marks.keys) : Set(store.notes.notes.keys)
        if query.isFlagged { packets = packets.filter { store.notes.notes[$0]?.isFlagged == true } }
        return packets.filter { $0 > 0 && $0 <= store.count && view.contains($0 - 1) }.map { $0 - 1 }.sorted()
    }

    // MARK: Events

    private func keepTelling() {
        loop.schedule(after: Self.eventInterval) { [weak self] in
            guard let self else { return }
            tell()
            keepTelling()
        }
    }

    private func tell() {
        guard !listeners.isEmpty else { return }
        store.updateMarks()
        for index in listeners.indices {
            guard let state = try? state(listeners[index].query) else { continue }
            let event = LiveDocuments.json(state)
            if event != listeners[index].last, listeners[index].events.send(event) { listeners[index].last = event }
        }
    }

    private func state(_ query: LiveQuery) throws(HTTPFault) -> LiveDocuments.State {
        let view = try view(query)
        let marks = Dictionary(grouping: store.findings, by: \.rule.severity.rawValue).mapValues { $0.reduce(0) { $0 + $1.count } }
        return LiveDocuments.State(
            packets: store.count, rows: candidates(query, view)?.count ?? view.count, progress: view.isDone ? 1 : view.progress,
            seconds: store.count == 0 ? 0 : Double(store.elapsed(store.count - 1)) / 1e9, omitted: store.omitted,
            devices: store.interfaces.map(\.name), marks: marks, version: store.noteVersion &+ store.marks.count,
            rates: store.rates.rates(seconds: 60).map { connection, rate in
                let name = store.interfaces.indices.contains(connection.interface) ? store.interfaces[connection.interface].name : ""
                return .init(name: "\(name) \(Hex.number(UInt64(connection.handle), bits: 16))", out: rate.out, back: rate.back)
            }, hasEnded: hasEnded)
    }

    // MARK: Requests

    package func respond(_ request: HTTPRequest) throws(HTTPFault) -> HTTPResponse {
        switch request.path {
        case "/": return file("text/html", LivePage.html)
        case "/live.css": return file("text/css", LivePage.style)
        case "/live.js": return file("text/javascript", LivePage.script)
        default: break
        }
        guard Self.isUsers(request, token) else { throw HTTPFault(403, "open the address that the command printed") }
        switch (request.path, request.method) {
        case ("/api/note", .post): return try note(request)
        case ("/api/note", _): throw HTTPFault(405, "notes are changed with POST")
        case (_, .post): throw HTTPFault(405, "only notes are changed")
        case ("/api/packets", _): return try packets(request)
        case ("/api/packet", _): return json(LiveDocuments.Packet(try index(request), store))
        case ("/api/findings", _):
            store.updateMarks()
            return json(store.findings.map(LiveDocuments.Mark.init))
        case ("/api/events", _): return try events(request)
        case ("/api/export", _): return try export(request)
        default: throw HTTPFault(404, "there is nothing at \(PlainText.escaped(request.path))")
        }
    }

    /// True for a request with the token of the printed address.
    private static func isUsers(_ request: HTTPRequest, _ token: AccessToken) -> Bool {
        let bearer = request.fields["authorization"].flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
        return token.accepts(bearer ?? request.query["token"] ?? "")
    }

    private func file(_ type: String, _ text: String) -> HTTPResponse {
        HTTPResponse(type: "\(type); charset=utf-8", .octets(Array(text.utf8)))
    }

    private func json(_ document: some Encodable) -> HTTPResponse {
        HTTPResponse(type: "application/json", .octets(LiveDocuments.json(document)))
    }

    private func number(_ request: HTTPRequest, _ name: String) throws(HTTPFault) -> Int {
        guard let number = request.query[name].flatMap({ Int($0) }), number >= 0 else { throw HTTPFault(400, "'\(name)' is a number") }
        return number
    }

    private func index(_ request: HTTPRequest) throws(HTTPFault) -> Int {
        let number = try number(request, "number")
        guard number > 0, number <= store.count else { throw HTTPFault(404, "there is no packet \(number)") }
        return number - 1
    }

    /// A window of the list, from a row, or around a packet.
    private func packets(_ request: HTTPRequest) throws(HTTPFault) -> HTTPResponse {
        let query = LiveQuery(request.query)
        let view = try view(query)
        let chosen = candidates(query, view)
        let total = chosen?.count ?? view.count
        var first = try request.query["first"] == nil ? 0 : number(request, "first")
        if request.query["around"] != nil {
            let around = try number(request, "around") - 1
            first = chosen.map { $0.firstIndex { $0 >= around } ?? total } ?? view.row(of: around)
        }
        let count = min(Self.mostRows, try request.query["count"] == nil ? 100 : number(request, "count"))
        first = min(first, total)
        let rows = (first..<min(total, first + count)).map { LiveDocuments.Row(chosen?[$0] ?? view[$0], store) }
        return json(LiveDocuments.Rows(first: first, rows: total, progress: view.isDone ? 1 : view.progress, list: rows))
    }

    private func note(_ request: HTTPRequest) throws(HTTPFault) -> HTTPResponse {
        guard let note = try? JSONDecoder().decode(LiveDocuments.Note.self, from: Data(request.body)) else {
            throw HTTPFault(400, "a note has a number, a comment, and isFlagged")
        }
        guard note.number > 0, note.number <= store.count else { throw HTTPFault(404, "there is no packet \(note.number)") }
        do { try store.set(note.number, comment: note.comment, isFlagged: note.isFlagged) } catch {
            throw HTTPFault(503, (error as? CommandFailure)?.message ?? "\(error)")
        }
        return json(LiveDocuments.Row(note.number - 1, store))
    }

    private func events(_ request: HTTPRequest) throws(HTTPFault) -> HTTPResponse {
        let query = LiveQuery(request.query)
        let events = HTTPEventStream()
        let first = try state(query)
        events.onEnd = { [weak self, weak events] in self?.listeners.removeAll { $0.events === events } }
        listeners.append(Listener(events: events, query: query))
        loop.schedule(after: .zero) { events.send(LiveDocuments.json(first)) }
        return HTTPResponse(type: "text/event-stream", .events(events))
    }

    private func export(_ request: HTTPRequest) throws(HTTPFault) -> HTTPResponse {
        let name = request.query["as"] ?? "pcapng"
        guard let form = LiveExport.Form(rawValue: name) else {
            throw HTTPFault(400, "the forms are \(LiveExport.Form.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let query = LiveQuery(request.query)
        let view = try view(query)
        do {
            let chosen = candidates(query, view).map(Set.init)
            let export = try LiveExport(view, store, as: form, names: showsNames) { chosen?.contains($0) ?? view.contains($0) }
            var response = HTTPResponse(type: "application/octet-stream", .pieces { export.read() })
            response.fields.append(("Content-Disposition", "attachment; filename=\"capture.\(name)\""))
            return response
        } catch {
            throw HTTPFault(503, "\(error)")
        }
    }
}
