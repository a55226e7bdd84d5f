import BBHCI
import BBPackets

/// An event of a controller, with what is read from it once for all who need it.
struct ReceivedEvent {
    let packet: HCIPacket
    /// The number in the capture.
    let number: Int
    let name: String
    /// The answer to a command; nil for another event.
    let answer: CommandAnswer?

    init(_ packet: HCIPacket, name: String, number: Int) {
        (self.packet, self.name, self.number) = (packet, name, number)
        answer = try? CommandAnswer(event: packet)
    }
}
