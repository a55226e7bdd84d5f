import BBPackets

/// Data on any L2CAP channel other than ATT, SMP and signalling, sent from one host to the other. Core Vol 3, Part A, 3.1.
package enum L2CAPFrame {
    package static let name = "L2CAP_B_Frame"
    package static let channel = "Channel_ID"
    /// The first dynamically allocated channel.
    package static let usualChannel = CID.dynamic.lowerBound

    package static let fields: [Vocabulary.Field] = [
        .init(channel, .number(0...0xFFFF), initial: Int(usualChannel)), .init("Information_Payload", .octets(atMost: 65_535)),
        .init("Connection_Handle", .number(0...0x0EFF)),
    ]
}

/// The part of a response that every command has.
package enum BTPAnswer {
    package static let error = "Error"
    package static let labels = ["None": 0, "Fail": 1, "Unknown_Command": 2, "Not_Ready": 3, "Invalid_Index": 4]
    package static let field = Vocabulary.Field(error, .number(0...255), labels: labels)
}
