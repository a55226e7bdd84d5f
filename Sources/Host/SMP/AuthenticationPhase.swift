import BBBluetoothCrypto
import BBPackets

/// Actions requested by phase 2 of pairing.
enum AuthenticationAction: Equatable {
    case send([UInt8])
    /// A question that needs an answer is the last action.
    case ask(PairingQuestion)
    /// STK or LTK before shortening.
    case authenticated(UInt128)
    case fail(PairingFailedReason)
}

/// Phase 2 of pairing in one role: from the agreed features to a key. Core Vol 3, Part H, 2.3.5.
protocol AuthenticationPhase {
    mutating func start() -> [AuthenticationAction]
    mutating func received(_ message: SMP.Message) -> [AuthenticationAction]
    mutating func answered(_ answer: PairingAnswer) -> [AuthenticationAction]
}

extension SMP.PairingConfirm {
    init(_ value: UInt128) { self.init(confirmValue: value.littleEndianOctets) }
    var number: UInt128 { UInt128(littleEndianOctets: confirmValue) }
}

extension SMP.PairingRandom {
    init(_ value: UInt128) { self.init(randomValue: value.littleEndianOctets) }
    var number: UInt128 { UInt128(littleEndianOctets: randomValue) }
}

extension SMP.PairingDHKeyCheck {
    init(_ value: UInt128) { self.init(dhKeyCheck: value.littleEndianOctets) }
    var number: UInt128 { UInt128(littleEndianOctets: dhKeyCheck) }
}
