import BBCLibUSB

/// Recovery of halted endpoints.
extension USBDevice {
    /// Clears halted endpoints and submits their failed transfers again. Outgoing packets keep their order: transfers queued behind the
    /// failed one are cancelled first.
    func clearStalls() {
        for role in [USBTransfer.Role.events, .dataIn, .dataOut] {
            let (waiting, behind) = locked {
                let all = recovery.halted.contains(role) ? transfers.filter { $0.role == role } : []
                return (all.filter(\.isHalted).sorted { $0.sequence < $1.sequence }, all.filter(\.isInFlight))
            }
            if role == .dataOut, !waiting.isEmpty, !behind.isEmpty {
                for transfer in behind { libusb_cancel_transfer(transfer.transfer) }
                continue
            }
            guard let endpoint = waiting.first?.transfer.pointee.endpoint else { continue }
            guard locked({ recovery.failed(role) }) <= USBRecovery.mostClearings else { return giveUp(on: role, endpoint) }
            let status = libusb_clear_halt(handle, endpoint)
            locked {
                recovery.halted.remove(role)
                guard status == 0 else { return lose(status) }
                recovery.cleared += 1
                for transfer in waiting {
                    transfer.isHalted = false
                    // A read waits for the end of a change, which waits for the end of all reads.
                    if !transfer.isInput || !isPaused && !mode.holdsInput { submit(transfer) }
                }
                feed(role)
            }
        }
    }

    /// Clearing has failed: the transport decides between a port reset and closing.
    private func giveUp(on role: USBTransfer.Role, _ endpoint: UInt8) {
        locked {
            recovery.giveUp(on: role)
            for transfer in transfers where transfer.role == role { transfer.isHalted = false }
            news.append(.haltedForGood(endpoint))
        }
    }

    /// The next control request clears the control pipe. Sends a stalled command once more, in case the dongle was only busy.
    func resend(_ transfer: USBTransfer) {
        guard !transfer.wasResent, !wantsReset else { return proceed(transfer) }
        transfer.wasResent = true
        if layout.isComposite, !recovery.hasTakenCommand {
            addressesInterface.toggle()
            transfer.address(toInterface: addressesInterface, layout)
        }
        recovery.resentCommands += 1
        submit(transfer)
    }
}
