import BBPackets

/// A part of the controller that executes commands.
protocol CommandExecutor: AnyObject, SendableMetatype {
    static func part(of controller: Controller) -> Self
    /// The part's commands, a group for each file that executes some.
    static var commandGroups: [(inout CommandRows<Self>) -> Void] { get }
}

extension Controller {
    static var commandGroups: [(inout CommandRows<Controller>) -> Void] {
        [sharedCommands, hostFlowControlCommands]
    }
}

/// LE controller commands. Core Vol 4, Part E, 7.8.
extension LEController {
    static var commandGroups: [(inout CommandRows<LEController>) -> Void] {
        [
            generalCommands, listsCommands, privacyCommands, legacyAdvertisingCommands, extendedAdvertisingCommands,
            periodicAdvertisingCommands, periodicSyncCommands, scanningCommands, initiatingCommands, connectionCommands,
            phyAndDataLengthCommands, securityCommands, testingCommands,
        ]
    }

    /// Wraps a command of the legacy or extended family of advertising and scanning commands, which must not be mixed before a reset. Core
    /// Vol 4, Part E, 3.1.1.
    ///
    /// The first executed command that is not read-only selects the family.
    static func within<Command: HCICommand, Value>(
        _ family: LESettings.CommandFamily, readsOnly: Bool = false,
        _ execute: @escaping @Sendable (LEController, Command) throws -> Value
    ) -> @Sendable (LEController, Command) throws -> Value {
        { le, command in
            try le.check(family)
            let value = try execute(le, command)
            if !readsOnly { le.settings.family = family }
            return value
        }
    }
}

/// Commands for inquiry, paging, BR/EDR links and settings. Core Vol 4, Part E, 7.1 to 7.3 and 7.5.
extension BREDRController {
    static var commandGroups: [(inout CommandRows<BREDRController>) -> Void] {
        [
            inquiryCommands, inquiryScanCommands, settingsCommands, connectionCommands, securityCommands, linkManagerCommands,
            linkPolicyCommands, linkStatusCommands, synchronousCommands,
        ]
    }
}
