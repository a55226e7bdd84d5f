/// What keeps a row from carrying more, by name.
public enum Limit: String, Sendable, Hashable, CaseIterable, Codable {
    /// The radio is busy all the time: protocol overhead is all that is missing.
    case air
    /// Whole exchanges do not fill the connection interval, or on LE Coded it is too short for full packets.
    case interval
    /// The controller takes fewer exchanges in an event than would fit.
    case eventLength = "event-length"
    /// The controller's buffers were all in use while the host had data waiting.
    case credits
    /// The sending host had nothing ready.
    case host
    /// The peer did not take what was sent, or ended events early.
    case peer
    /// Packets were lost on the air and sent again.
    case retransmissions
    /// The pipe between host and controller.
    case transport
    /// Each operation waits for the answer to the one before.
    case acknowledgement
    /// What a product has to send, and when, which only the product knows.
    case product
    /// Other links of the controller had the radio.
    case radio

    /// What it means, for people.
    public var text: String {
        switch self {
        case .air: "the radio is busy all the time"
        case .interval: "whole exchanges leave part of each connection interval unused"
        case .eventLength: "the controller takes fewer exchanges in an event than would fit"
        case .credits: "the controller's buffers were in use while the host had data waiting"
        case .host: "the sending host had nothing ready"
        case .peer: "the peer did not take what was offered"
        case .retransmissions: "packets were lost on the air and sent again"
        case .transport: "the pipe between host and controller is slower than the air"
        case .acknowledgement: "each operation waits for the answer to the one before"
        case .product: "unknown here: what it has to send, and when, only the product knows"
        case .radio: "another link had the radio"
        }
    }
}
