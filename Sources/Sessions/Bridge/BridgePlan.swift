/// The task of a bridging session.
package struct BridgePlan: Sendable {
    /// Name under which an accessory advertises.
    package var advertised = ""
    /// Seconds of the tone.
    package var seconds = 5.0
    /// Seconds until the peer must have come.
    package var timeout = 60.0
    /// Pairs by numeric comparison in place of Just Works.
    package var compares = false
    /// Confirms the comparison without a question.
    package var accepts = false
    /// Writes a line of JSON for each step.
    package var isJSON = false

    package init() {}
}
