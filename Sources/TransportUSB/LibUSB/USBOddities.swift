import Transport

/// What was odd about a dongle's transfers, counted since it was opened.
struct USBOddities: Equatable {
    /// Octets after the end of a packet that begin no other.
    var strayOctets = 0
    /// Transfers that brought the end of one event and some of the next.
    var joinedEvents = 0
    /// Commands that stalled once.
    var resentCommands = 0
    /// Commands go to the interface, not to the device.
    var addressesInterface = false
    /// Transfers of the bulk IN pipe that brought something.
    var dataTransfersIn = 0
}

extension USBOddities {
    func note(in list: inout LearnedConductList) {
        list.note(.strayOctets, "octets after the end of an event or of data, in a short transfer: dropped", count: strayOctets)
        list.note(.joinedEvents, "two events in one transfer", count: joinedEvents)
        list.note(.stalledRequest, "commands stalled and were sent again", count: resentCommands)
    }
}
