import HCI
import Packets

/// Which of the two families of commands for advertising, scanning and initiating the host uses. They do not mix before a reset, and reading how many
/// advertising sets there are, or how long their data may be, is a use of the extended ones. Core Vol 4, Part E, 3.1.1.
struct LECommandFamily {
    /// Extended commands have been refused: legacy ones only.
    var isLegacyOnly = false
    /// An extended command has worked: what is refused now has another reason.
    var hasWorked = false
}

extension Host {
    /// What a controller says that claims an extended command and does not have it.
    private static let refusals: Set<ErrorCode> = [.unknownHCICommand, .commandDisallowed]

    /// Whether extended commands are used.
    ///
    /// - Parameter asked: what the caller wants; nil where the controller decides.
    func usesExtended(_ asked: Bool?) -> Bool {
        if let asked { return asked }
        guard controller.supportsExtendedAdvertising, !family.isLegacyOnly else { return false }
        guard workarounds.avoidsExtendedCommands else { return true }
        context.learned.note(.legacyCommandsOnly, "extended commands are claimed and known to fail: legacy ones are used")
        return false
    }

    /// Does something with extended commands where the controller has them. When it refuses the first of them, it is reset, and legacy ones are used
    /// from then on.
    ///
    /// - Parameters:
    ///   - asked: what the caller wants; nil where the controller decides.
    ///   - needsExtended: legacy commands cannot do it.
    func withFamily<Value>(_ asked: Bool?, needsExtended: Bool, _ body: (_ isExtended: Bool) async throws -> Value) async throws -> Value {
        let isExtended = usesExtended(asked)
        do {
            let value = try await body(isExtended)
            if isExtended { family.hasWorked = true }
            return value
        } catch HostError.peer(.rejected(let name, let status)) where isExtended && asked == nil && Self.refusals.contains(status) {
            let isMissing = status == .unknownHCICommand
            guard !needsExtended, isMissing || !family.hasWorked, canBeReset else {
                if isMissing { context.learned.note(.claimedAndRefused, "\(name) is claimed and refused: \(status)") }
                throw HostError.peer(.rejected(name, status))
            }
            context.learned.note(.legacyCommandsOnly, "\(name) is claimed and refused (\(status)): legacy commands are used")
            try await renew()
            return try await body(false)
        }
    }

    /// Nothing would be lost.
    private var canBeReset: Bool {
        connections.isEmpty && classicConnections.isEmpty && advertisingSets.isEmpty && scans.isEmpty && privacy == nil && connecting == nil
    }

    /// Resets the controller, which lets go of the extended family, and sets again what the host sets at its start.
    private func renew() async throws {
        let ownRandom = randomAddress ?? (address.kind == .random ? address : nil)
        _ = try await reset()
        family.isLegacyOnly = true
        try await setMasks()
        if let ownRandom { try await setRandomAddress(ownRandom) }
    }

    /// Throws like a refusal when the controller has no advertising sets after all.
    func checkAdvertisingSets() async throws {
        guard controller.advertisingSets == nil else { return }
        let sets = try await ask(HCICommands.LEReadNumberOfSupportedAdvertisingSets())?.numSupportedAdvertisingSets ?? 0
        controller.advertisingSets = Int(sets)
        guard sets == 0, canBeReset else { return }
        throw HostError.peer(.rejected(HCICommands.LEReadNumberOfSupportedAdvertisingSets.name, .unknownHCICommand))
    }
}
