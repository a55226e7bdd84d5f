/// A response to a request.
public struct HTTPResponse {
    public enum Body {
        case octets([UInt8])
        /// Pieces, asked for as the client reads them; nil is the end.
        case pieces(() -> [UInt8]?)
        /// Server-sent events until either side closes.
        case events(HTTPEventStream)
    }

    public var status: Int
    public var type: String
    public var fields: [(name: String, value: String)] = []
    public var body: Body

    public init(_ status: Int = 200, type: String, _ body: Body) { (self.status, self.type, self.body) = (status, type, body) }

    public init(_ fault: HTTPFault) { self.init(fault.status, type: "text/plain; charset=utf-8", .octets(Array((fault.text + "\n").utf8))) }

    static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 421: "Misdirected Request"
        case 431: "Request Header Fields Too Large"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Refused"
        }
    }
}

/// Server-sent events for one client. A client that does not read gets none until it has read what was sent.
public final class HTTPEventStream {
    weak var connection: HTTPConnection?
    /// Called once when the client is gone.
    public var onEnd: (() -> Void)?

    public init() {}

    /// Sends an event; false if the client has not read the last ones.
    ///
    /// - Parameter data: one line.
    @discardableResult
    public func send(_ data: [UInt8]) -> Bool { connection?.sendEvent(Array("data: ".utf8) + data + [0x0A, 0x0A]) ?? false }
}
