import Foundation

/// Lines of the standard input, with a bounded length. While a tool runs, it is searched for the tool's cancellation.
final class LineInput {
    enum Line {
        case text(Data)
        case tooLong
    }

    private var lines: [Line] = []
    private var rest = Data()
    private var isSkipping = false
    private(set) var isAtEnd = false

    private let stop: MCPStop

    init(until stop: MCPStop) { self.stop = stop }

    private static let longest = 1 << 20
    private static let mostWaiting = 1_000

    /// The next line; nil at the end of the input, and after a signal.
    func next() -> Line? {
        while lines.isEmpty, !isAtEnd, !stop.isRaised { read(waits: true) }
        return lines.isEmpty || stop.isRaised ? nil : lines.removeFirst()
    }

    /// True if the client has withdrawn the request, or has left.
    func isCancelled(_ id: Any) -> Bool {
        if lines.count < Self.mostWaiting { read(waits: false) }
        return isAtEnd || lines.contains { Self.cancels($0, id) }
    }

    private static func cancels(_ line: Line, _ id: Any) -> Bool {
        guard case .text(let text) = line, let message = (try? JSONSerialization.jsonObject(with: text)) as? [String: Any],
            message["method"] as? String == "notifications/cancelled", let parameters = message["params"] as? [String: Any],
            let withdrawn = parameters["requestId"]
        else { return false }
        return "\(withdrawn)" == "\(id)"
    }

    private func read(waits: Bool) {
        var interests = [STDIN_FILENO, stop.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard !isAtEnd, poll(&interests, nfds_t(interests.count), waits ? -1 : 0) > 0, interests[0].revents != 0 else { return }
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        let count = Foundation.read(STDIN_FILENO, &piece, piece.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        guard count > 0 else {
            isAtEnd = true
            return
        }
        for octet in piece.prefix(count) { take(octet) }
    }

    private func take(_ octet: UInt8) {
        guard octet == UInt8(ascii: "\n") else {
            if rest.count < Self.longest { rest.append(octet) } else { isSkipping = true }
            return
        }
        lines.append(isSkipping ? .tooLong : .text(rest))
        rest = Data()
        isSkipping = false
    }
}
