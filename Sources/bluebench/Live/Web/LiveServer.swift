import BBCapture
import BBDiagnosis
import BBHTTP
import BBPackets
import BBReport
import BBTiming
import BBTransport
import Foundation

/// Serves the page of a capture: the page itself, windows of the list, trees, notes, exports, and events about progress.
final class LiveServer {
    /// Address of the page, with the token.
    let address: String

    private let store: LiveStore
    private let token: AccessToken
    private let loop: BBTiming.RunLoop
    private let showsNames: Bool
    private var server: HTTPServer?
    private var views: [Selection: LiveView] = [:]
    private var uses = 0
    private var listeners: [Listener] = []
    private var isScanning = false
    private var hasEnded = false

    private struct Listener {
        var events: HTTPEventStream
        var selection: Selection
        /// The last event, which is not repeated.
        var last: [UInt8] = []
    }

    /// The selection of a page.
    private struct Selection: Hashable {
        var condition = ""
        var words = ""
        var layer = ""
        var connection = ""
        var isMarked = false
        var isFlagged = false

        /// The selection without what changes with later packets.
        var lasting: Selection {
            var selection = self
            (selection.isMarked, selection.isFlagged) = (false, false)
            return selection
        }
    }

    private static let mostViews = 16
    private static let mostRows = 500
    private static let eventInterval = Microseconds.milliseconds(100)
    /// Maximum time for the last requests of pages.
    private static let lastRequests = Microseconds.milliseconds(900)

    /// - Throws: a usage error for a token; `TransportError` if the port cannot be used.
    init(_ options: WebOptions, _ store: LiveStore, names: Bool, on loop: BBTiming.RunLoop) throws {
        (self.store, self.loop, showsNames) = (store, loop, names)
        let text = try options.token()
        guard let token = AccessToken(text) else { throw CommandFailure(.usage, "no token") }
        self.token = token
        let holder = Holder()
        let server = try HTTPServer(
            host: options.host, port: options.web ?? 0, on: loop, isTrusted: { Self.isUsers($0, token) },
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
    func stop() {
        hasEnded = true
        tell()
        let end = loop.now + Self.lastRequests
        try? loop.run { [self] in while !listeners.isEmpty, loop.now < end { try await loop.sleep(for: .milliseconds(5)) } }
        server?.stop()
        server = nil
    }

    // MARK: Packets

    func add(_ record: CaptureRecord) {
        guard let decoded = store.add(record) else { return }
        for view in views.values { view.add(store.count - 1, decoded, store) }
    }

    private func view(_ selection: Selection) throws(HTTPFault) -> LiveView {
        uses += 1
        let key = selection.lasting
        if let view = views[key] {
            view.lastUse = uses
            return view
        }
        let search = Self.search(key.words)
        let view: LiveView
        do {
            var words: [String] = []
            for (option, text) in [
                ("--where", key.condition), search, ("--layer", key.layer), ("--connection", key.connection),
            ] where !text.isEmpty {
                words.append("\(option)=\(text)")
            }
            view = LiveView(try PacketSelection(SelectionOptions.parse(words)), store)
        } catch let failure as CommandFailure {
            throw HTTPFault(400, failure.message)
        } catch {
            throw HTTPFault(400, "\(error)")
        }
        if views.count >= Self.mostViews, let oldest = views.min(by: { $0.value.lastUse < $1.value.lastUse })?.key { views[oldest] = nil }
        view.lastUse = uses
        views[key] = view
        view.scan(store, isFirst: true)
        continueScans()
        return view
    }

    /// The option for the text of the search field: words, or a regular expression between slashes.
    private static func search(_ text: String) -> (option: String, text: String) {
        guard text.utf8.count > 2, text.hasPrefix("/"), text.hasSuffix("/") else { return ("--filter", text) }
        return ("--grep", String(text.dropFirst().dropLast()))
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
    private func candidates(_ selection: Selection, _ view: LiveView) -> [Int]? {
        guard selection.isMarked || selection.isFlagged else { return nil }
        var packets = selection.isMarked ? Set(store.marks.keys) : Set(store.notes.notes.keys)
        if selection.isFlagged { packets = packets.filter { store.notes.notes[$0]?.isFlagged == true } }
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
            guard let state = try? state(listeners[index].selection) else { continue }
            let event = LiveDocuments.json(state)
            if event != listeners[index].last, listeners[index].events.send(event) { listeners[index].last = event }
        }
    }

    private func state(_ selection: Selection) throws(HTTPFault) -> LiveDocuments.State {
        let view = try view(selection)
        let marks = Dictionary(grouping: store.findings, by: \.rule.severity.rawValue).mapValues { $0.reduce(0) { $0 + $1.count } }
        return LiveDocuments.State(
            packets: store.count, rows: candidates(selection, view)?.count ?? view.count, progress: view.isDone ? 1 : view.progress,
            seconds: store.count == 0 ? 0 : Double(store.elapsed(store.count - 1)) / 1e9, omitted: store.omitted,
            devices: store.interfaces.map(\.name), marks: marks, version: store.noteVersion &+ store.marks.count,
            rates: store.rates.rates(seconds: 60).map { connection, rate in
                let name = store.interfaces.indices.contains(connection.interface) ? store.interfaces[connection.interface].name : ""
                return .init(name: "\(name) \(Hex.number(UInt64(connection.handle), bits: 16))", out: rate.out, back: rate.back)
            }, hasEnded: hasEnded)
    }

    // MARK: Requests

    func respond(_ request: HTTPRequest) throws(HTTPFault) -> HTTPResponse {
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

    private func selection(_ request: HTTPRequest) -> Selection {
        func text(_ name: String) -> String { request.query[name] ?? "" }
        return Selection(
            condition: text("where"), words: text("words"), layer: text("layer"), connection: text("connection"),
            isMarked: text("marked") == "1", isFlagged: text("flagged") == "1")
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
        let selection = selection(request)
        let view = try view(selection)
        let chosen = candidates(selection, view)
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
        let selection = selection(request)
        let events = HTTPEventStream()
        let first = try state(selection)
        events.onEnd = { [weak self, weak events] in self?.listeners.removeAll { $0.events === events } }
        listeners.append(Listener(events: events, selection: selection))
        loop.schedule(after: .zero) { events.send(LiveDocuments.json(first)) }
        return HTTPResponse(type: "text/event-stream", .events(events))
    }

    private func export(_ request: HTTPRequest) throws(HTTPFault) -> HTTPResponse {
        let form = request.query["as"] ?? "pcapng"
        guard LiveExport.forms.contains(form) else { throw HTTPFault(400, "the forms are \(LiveExport.forms.joined(separator: ", "))") }
        let selection = selection(request)
        let view = try view(selection)
        do {
            let chosen = candidates(selection, view).map(Set.init)
            let export = try LiveExport(view, store, as: form, names: showsNames) { chosen?.contains($0) ?? view.contains($0) }
            var response = HTTPResponse(type: "application/octet-stream", .pieces { export.read() })
            response.fields.append(("Content-Disposition", "attachment; filename=\"capture.\(form)\""))
            return response
        } catch {
            throw HTTPFault(503, (error as? CommandFailure)?.message ?? "\(error)")
        }
    }
}
