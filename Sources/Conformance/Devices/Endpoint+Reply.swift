import Packets
import Timing
import Transport

extension Endpoint {
    /// The controller's answer to a command.
    struct Reply: Sendable {
        /// The event with the answer.
        var event: HCIPacket
        /// True for Command Status, false for Command Complete.
        var isStatus: Bool
        /// The return parameters, or the status octet.
        var parameters: [UInt8]
        /// The packet numbers of command and answer in the capture.
        var commandNumber: Int
        var number: Int
        var sentAt: Microseconds
        var answeredAt: Microseconds
        /// The position in the log after the answer.
        var index: Int
    }
}
