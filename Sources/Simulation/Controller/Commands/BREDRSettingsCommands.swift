import Packets

/// Settings of BR/EDR that a host reads and writes when it starts. Core Vol 4, Part E, 7.3.13 to 7.3.20, 7.3.27, 7.3.28, 7.3.78 and 7.3.79.
///
/// Those of paging and of links are kept; nobody on this air pages yet, so a page scan hears nothing.
extension CommandTable {
    mutating func addBREDRSettings() {
        addTimeouts()
        complete(HCICommands.ReadPageScanActivity.self, 8, 0, failing: .init()) { (controller, _) throws(CommandFailure) in
            let scan = controller.settings.bredr.pageScan
            return .init(status: .success, pageScanInterval: scan.interval, pageScanWindow: scan.window)
        }
        perform(HCICommands.WritePageScanActivity.self, 8, 1) { (controller, command) throws(CommandFailure) in
            try controller.settings.bredr.pageScan.set(interval: command.pageScanInterval, window: command.pageScanWindow)
        }
        complete(HCICommands.ReadVoiceSetting.self, 9, 2, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, voiceSetting: controller.settings.bredr.voiceSetting)
        }
        perform(HCICommands.WriteVoiceSetting.self, 9, 3) { (controller, command) throws(CommandFailure) in
            try Check.that(command.voiceSetting <= 0x03FF)
            controller.settings.bredr.voiceSetting = command.voiceSetting
        }
        complete(HCICommands.ReadLEHostSupport.self, 24, 5, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, leSupportedHost: controller.settings.bredr.isLESupportedByHost ? 1 : 0)
        }
        perform(HCICommands.WriteLEHostSupport.self, 24, 6) { (controller, command) throws(CommandFailure) in
            controller.settings.bredr.isLESupportedByHost = try Check.flag(command.leSupportedHost)
        }
    }

    private mutating func addTimeouts() {
        complete(HCICommands.ReadConnectionAcceptTimeout.self, 7, 2, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, connectionAcceptTimeout: controller.settings.bredr.connectionAcceptTimeout)
        }
        perform(HCICommands.WriteConnectionAcceptTimeout.self, 7, 3) { (controller, command) throws(CommandFailure) in
            try Check.that((0x0001...0xB540).contains(command.connectionAcceptTimeout))
            controller.settings.bredr.connectionAcceptTimeout = command.connectionAcceptTimeout
        }
        complete(HCICommands.ReadPageTimeout.self, 7, 4, failing: .init()) { (controller, _) throws(CommandFailure) in
            .init(status: .success, pageTimeout: controller.settings.bredr.pageTimeout)
        }
        perform(HCICommands.WritePageTimeout.self, 7, 5) { (controller, command) throws(CommandFailure) in
            try Check.that(command.pageTimeout > 0)
            controller.settings.bredr.pageTimeout = command.pageTimeout
        }
    }
}
