/// A request of HTTP/1.1. RFC 9112.
public struct HTTPRequest: Sendable, Equatable {
    public enum Method: String, Sendable, CaseIterable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
    }

    public var method: Method
    /// Path of the target, as sent.
    public var path: String
    /// Decoded parameters of the target's query; the last of a name counts.
    public var query: [String: String] = [:]
    /// Values by field names in lower case; equal names are joined by a comma.
    public var fields: [String: String] = [:]
    public var body: [UInt8] = []

    public init(_ method: Method, _ path: String) { (self.method, self.path) = (method, path) }

    /// True if the client closes the connection after the response.
    var isLast: Bool { fields["connection"]?.lowercased().split(separator: ",").contains { $0.contains("close") } ?? false }
}

/// A request that is refused, with the status of the response.
public struct HTTPFault: Error, Sendable, Equatable {
    public var status: Int
    public var text: String

    public init(_ status: Int, _ text: String) { (self.status, self.text) = (status, text) }
}
