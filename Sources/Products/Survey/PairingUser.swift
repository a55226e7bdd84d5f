/// The simulated user of the bench's host during pairing.
package struct PairingUser {
    /// The passkey that the user enters on request; nil if none is entered.
    package var passkey: UInt32?
    package var agrees: Bool
    /// The last passkey or number that the host displayed.
    package private(set) var shown: UInt32?

    package init(passkey: UInt32?, agrees: Bool = true) { (self.passkey, self.agrees) = (passkey, agrees) }

    package mutating func sees(_ number: UInt32) { shown = number }
}
