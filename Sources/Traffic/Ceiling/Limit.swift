/// Factor that limits the throughput of a row.
public enum Limit: String, Sendable, Hashable, CaseIterable, Codable {
    /// The radio is always busy; only protocol overhead is missing.
    case air
    /// The connection interval is not a multiple of the exchange duration, or on LE Coded too short for full packets.
    case interval
    /// The controller uses fewer exchanges per event than would fit.
    case eventLength = "event-length"
    /// The subject sends or receives shorter link layer packets than this side's controller can.
    case dataLength = "data-length"
    /// All controller buffers were in use while the host had data waiting.
    case credits
    /// The peer gave an L2CAP channel too few credits.
    case creditsOfChannel = "credits-of-channel"
    /// SDUs of an L2CAP channel leave part of their last K-frame empty, and each has a length.
    case sdu
    /// The MPS of an L2CAP channel leaves part of each link layer packet empty.
    case mps
    /// The sending host had no data ready.
    case host
    /// The peer did not accept packets or ended events early.
    case peer
    /// Packets were lost on the air and retransmitted.
    case retransmissions
    /// The pipe between host and controller.
    case transport
    /// Each operation waits for the previous response.
    case acknowledgement
    /// Data volume and timing of a product, which only the product determines.
    case product
    /// Other links of the controller used the radio.
    case radio

    /// Description for display.
    public var text: String {
        switch self {
        case .air: "the radio is busy all the time"
        case .interval: "whole exchanges leave part of each connection interval unused"
        case .eventLength: "the controller takes fewer exchanges in an event than would fit"
        case .dataLength: "the device's data length is shorter than this controller's"
        case .credits: "the controller's buffers were in use while the host had data waiting"
        case .creditsOfChannel: "the peer gave the channel no credits while SDUs were waiting"
        case .sdu: "the length of the SDUs does not fill their K-frames"
        case .mps: "the MPS does not fill link layer packets"
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
