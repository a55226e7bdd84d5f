import BBPackets

/// The task of a pairing session.
package struct PairPlan: Sendable {
    package var transport = SessionTransport.le
    /// Name under which this side waits for a peer; nil to connect to one.
    package var advertised: String?
    /// Sends a Security Request to the central that connects.
    package var requests = false
    /// Pairs although there is a bond.
    package var pairsAgain = false
    /// Seconds until the peer must have paired.
    package var seconds = 60.0
    /// Answers every question with yes.
    package var accepts = false
    /// Entered where a passkey is asked for; nil to ask the user.
    package var passkey: UInt32?
    /// Writes a line of JSON for each event.
    package var isJSON = false

    package init() {}
}
