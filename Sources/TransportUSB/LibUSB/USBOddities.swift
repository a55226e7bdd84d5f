import BBTransport

/// Unusual behaviour of a dongle's transfers, counted since opening.
struct USBOddities: Equatable {
    /// Octets after the end of a packet that do not start another.
    var strayOctets = 0
    /// Transfers that contained the end of one event and the start of the next.
    var joinedEvents = 0
    /// Commands sent again after a stall.
    var resentCommands = 0
    /// Commands are addressed to the interface, not to the device.
    var addressesInterface = false
    /// Bulk IN transfers with data.
    var dataTransfersIn = 0
    /// Outgoing packets that were cut off by a change of the mode.
    var cutPackets = 0
    var framing = USBFraming()
}

extension USBOddities {
    func note(in list: inout LearnedConductList) {
        list.note(.strayOctets, "octets after the end of an event or of data, in a short transfer: dropped", count: strayOctets)
        list.note(.joinedEvents, "two events in one transfer", count: joinedEvents)
        list.note(.stalledRequest, "commands stalled and were sent again", count: resentCommands)
        list.note(.framingFault, framing.firstFault.map { "not a packet of Bulk Serialization mode: \($0)" } ?? "", count: framing.faults)
        list.note(.joinedPackets, "two packets of Bulk Serialization mode in one transfer", count: framing.joined)
        list.note(.cutPackets, "took a part of a packet and not the rest within 1 s: cut off by a change of the mode", count: cutPackets)
        list.note(.splitPackets, "a packet of Bulk Serialization mode in several transfers", count: framing.split)
    }
}
