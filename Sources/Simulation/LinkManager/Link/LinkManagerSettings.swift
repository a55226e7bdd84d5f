import Packets

/// What a controller is able to do for its links, and what its host has set for all of them.
struct LinkManagerSettings {
    /// Pages 0, 1 and 2 of the features, as they are told. Core Vol 2, Part C, 3.3.
    var pages: [UInt64]
    var version: RemoteVersion
    /// 248 octets, zeros behind the name.
    var name: [UInt8]
    /// Whether the other side may ask for a switch of roles. Core Vol 4, Part E, 7.1.5 and 7.2.9.
    var allowsRoleSwitch = true
    /// Whether the other side may ask for sniff mode. Core Vol 4, Part E, 7.2.9.
    var allowsSniff = true
    /// Whether an authentication has failed so recently that neither side may try again. Core Vol 2, Part H, 5.1.
    var isAuthenticationBarred = false
    /// The sizes of encryption keys in octets that it agrees to. Core Vol 4, Part E, 7.3.102.
    var keySizes: ClosedRange<UInt8> = 7...16
    /// What Read_Local_OOB_Data has told.
    var outOfBand: LocalOutOfBandData?

    /// LMP_start_encryption_req always carries the same number with AES-CCM.
    var repeatsStartNumber = false
    /// How long it takes to come to a message.
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
