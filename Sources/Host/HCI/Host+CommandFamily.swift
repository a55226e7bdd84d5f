import HCI
import Packets

/// The family of advertising, scanning and initiating commands in use. Families must not be mixed before a reset; reading the number of
/// advertising sets or their data length counts as using the extended commands. Core Vol 4, Part E, 3.1.1.
struct LECommandFamily {
    /// Extended commands were rejected: only legacy commands are used.
    var isLegacyOnly = false
    /// An extended command has succeeded, so a later rejection has another reason.
    var hasWorked = false
}

extension Host {
    /// Error codes of a controller that reports an extended command as supported, but lacks it.
    private static let refusals: Set<ErrorCode> = [.unknownHCICommand, .commandDisallowed]

    /// True if extended commands are used.
    ///
    /// - Parameter asked: the caller's choice; nil to depend on the controller.
    func usesExtended(_ asked: Bool?) -> Bool {
        if let asked { return asked }
        guard controller.supportsExtendedAdvertising, !family.isLegacyOnly else { return false }
        guard workarounds.avoidsExtendedCommands else { return true }
        context.learned.note(.legacyCommandsOnly, "extended commands are claimed and known to fail: legacy ones are used")
        return false
    }

    /// Runs an operation with extended commands if the controller supports them. If it rejects the first of them, it is reset, and legacy
    /// commands are used from then on.
    ///
    /// - Parameters:
    ///   - asked: the caller's choice; nil to depend on the controller.
    ///   - needsExtended: the operation is not possible with legacy commands.
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

    /// True if a reset would lose nothing.
    private var canBeReset: Bool {
        connections.isEmpty && classicConnections.isEmpty && advertisingSets.isEmpty && scans.isEmpty && privacy == nil && connecting == nil
    }

    /// Resets the controller, to leave the extended family, and repeats the settings of the start.
    private func renew() async throws {
        let ownRandom = randomAddress ?? (address.kind == .random ? address : nil)
        _ = try await reset()
        family.isLegacyOnly = true
        try await setMasks()
        if let ownRandom { try await setRandomAddress(ownRandom) }
    }

    /// Throws like a rejection if the controller has no advertising sets.
    func checkAdvertisingSets() async throws {
        guard controller.advertisingSets == nil else { return }
        let sets = try await ask(HCICommands.LEReadNumberOfSupportedAdvertisingSets())?.numSupportedAdvertisingSets ?? 0
        controller.advertisingSets = Int(sets)
        guard sets == 0, canBeReset else { return }
        throw HostError.peer(.rejected(HCICommands.LEReadNumberOfSupportedAdvertisingSets.name, .unknownHCICommand))
    }
}
