import CLibUSB

/// Endpoints that halt.
extension USBDevice {
    /// A halted endpoint is cleared, and what it did not take is submitted again. Packets that go out keep their order: those behind the one that
    /// met the halt are taken back first.
    func clearStalls() {
        for role in [USBTransfer.Role.events, .dataIn, .dataOut] {
            let (waiting, behind) = locked {
                let all = halted.contains(role) ? transfers.filter { $0.role == role } : []
                return (all.filter(\.isHalted).sorted { $0.sequence < $1.sequence }, all.filter(\.isInFlight))
            }
            if role == .dataOut, !waiting.isEmpty, !behind.isEmpty {
                for transfer in behind { libusb_cancel_transfer(transfer.transfer) }
                continue
            }
            guard let endpoint = waiting.first?.transfer.pointee.endpoint else { continue }
            trouble[role, default: 0] += 1
            guard trouble[role, default: 0] <= Self.mostClearings else { return giveUp(on: role, endpoint) }
            let status = libusb_clear_halt(handle, endpoint)
            locked {
                halted.remove(role)
                guard status == 0 else { return lose(status) }
                haltsCleared += 1
                for transfer in waiting {
                    transfer.isHalted = false
                    if !wantsReset || !transfer.isInput { submit(transfer) }
                }
                feed(role)
            }
        }
    }

    /// Clearing does not help: the transport decides between a reset of the port and the end.
    private func giveUp(on role: USBTransfer.Role, _ endpoint: UInt8) {
        trouble[role] = 0
        locked {
            for transfer in transfers where transfer.role == role { transfer.isHalted = false }
            news.append(.haltedForGood(endpoint))
        }
    }

    /// The control pipe is clear again with its next request; what stalled is asked once more, in case the dongle was only busy.
    func resend(_ transfer: USBTransfer) {
        guard !transfer.wasResent, !wantsReset else { return proceed(transfer) }
        transfer.wasResent = true
        if layout.isComposite, !hasTakenCommand {
            addressesInterface.toggle()
            transfer.address(toInterface: addressesInterface, layout)
        }
        resentCommands += 1
        submit(transfer)
    }
}
