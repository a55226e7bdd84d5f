import BBPackets

/// A controller's capabilities on its links, and its host's settings for them.
struct LinkManagerSettings {
    /// LMP feature pages 0, 1 and 2 as sent to the peer. Core Vol 2, Part C, 3.3.
    var pages: [UInt64]
    var version: RemoteVersion
    /// Local name: 248 octets, padded with zeros.
    var name: [UInt8]
    /// True if the peer may request a role switch. Core Vol 4, Part E, 7.1.5 and 7.2.9.
    var allowsRoleSwitch = true
    /// True if the peer may request sniff mode. Core Vol 4, Part E, 7.2.9.
    var allowsSniff = true
    /// True during the waiting interval after a failed authentication, when neither device may try again. Core Vol 2, Part H, 5.1.
    var isAuthenticationBarred = false
    /// Range of accepted encryption key sizes, in octets. Core Vol 4, Part E, 7.3.102.
    var keySizes: ClosedRange<UInt8> = 7...16
    /// Data returned by Read_Local_OOB_Data.
    var outOfBand: LocalOutOfBandData?

    /// Sends the same number in every LMP_start_encryption_req with AES-CCM.
    var repeatsStartNumber = false
    /// Processing time per message.
    var delay: Microseconds = .zero
    var quirks: BREDRQuirks = []

    init(pages: [UInt64], version: RemoteVersion, name: [UInt8]) {
        self.pages = pages
        self.version = version
        self.name = name
    }

    func page(_ number: UInt8) -> UInt64 { pages.indices.contains(Int(number)) ? pages[Int(number)] : 0 }

    var highestPage: UInt8 { UInt8(max(0, pages.count - 1)) }
}
