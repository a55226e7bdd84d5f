import BBHCI
import BBPackets

/// The family of commands for advertising, scanning and initiating, legacy or extended. The two do not mix before a reset, and a read of the number of
/// advertising sets or of their data length counts as use of the extended ones. Core Vol 4, Part E, 3.1.1.
final class CommandFamily {
    /// The statuses of a controller without an extended command that it reports as supported.
    private static let refusals: Set<ErrorCode> = [.unknownHCICommand, .commandDisallowed]

    /// True if extended commands were rejected: only legacy commands are used.
    private var isLegacyOnly = false
    /// True if an extended command has succeeded: later rejections have another reason.
    private var hasWorked = false
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    /// The controller was reset, which releases the family.
    func reset() { (isLegacyOnly, hasWorked) = (false, false) }

    /// True to use extended commands.
    ///
    /// - Parameter asked: the caller's choice; nil to let the controller decide.
    private func usesExtended(_ asked: Bool?) -> Bool {
        if let asked { return asked }
        guard host.controller.supportsExtendedAdvertising, !isLegacyOnly else { return false }
        guard host.workarounds.avoidsExtendedCommands else { return true }
        host.context.learned.note(.legacyCommandsOnly, "extended commands are claimed and known to fail: legacy ones are used")
        return false
    }

    /// Runs an operation with extended commands if the controller supports them. If it rejects the first of them, it is reset, and legacy
    /// commands are used from then on.
    ///
    /// - Parameters:
    ///   - asked: the caller's choice; nil to let the controller decide.
    ///   - needsExtended: true if there is no legacy command for the operation.
    func choose<Value>(_ asked: Bool?, needsExtended: Bool, _ body: (_ isExtended: Bool) async throws -> Value) async throws -> Value {
        let isExtended = usesExtended(asked)
        do {
            let value = try await body(isExtended)
            if isExtended { hasWorked = true }
            return value
        } catch HostError.peer(.rejected(let name, let status)) where isExtended && asked == nil && Self.refusals.contains(status) {
            let isMissing = status == .unknownHCICommand
            guard !needsExtended, isMissing || !hasWorked, !host.isBusy else {
                if isMissing { host.context.learned.note(.claimedAndRefused, "\(name) is claimed and refused: \(status)") }
                throw HostError.peer(.rejected(name, status))
            }
            host.context.learned.note(.legacyCommandsOnly, "\(name) is claimed and refused (\(status)): legacy commands are used")
            try await renew()
            return try await body(false)
        }
    }

    /// Resets the controller, to leave the extended family, and repeats the settings of the start.
    private func renew() async throws {
        let random = host.addresses.currentRandom
        _ = try await host.setup.reset()
        isLegacyOnly = true
        try await host.setup.setMasks()
        if let random { try await host.addresses.setRandom(random) }
    }

    /// Throws like a rejection if the controller has no advertising sets.
    func checkAdvertisingSets() async throws {
        guard try await host.setup.readAdvertisingSets() == 0, !host.isBusy else { return }
        throw HostError.peer(.rejected(HCICommands.LEReadNumberOfSupportedAdvertisingSets.name, .unknownHCICommand))
    }
}
