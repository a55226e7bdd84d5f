import BBCLibUSB
import BBPackets
import BBTiming

/// The isochronous pipes. The alternate setting changes only while none of their transfers is pending.
extension USBDevice {
    /// Sets the alternate setting of the voice interface; nil for no voice. `USBNews.voice` reports the result.
    func setVoice(_ setting: VoiceAlternate?, handles: Set<UInt16>) {
        locked {
            voice.reassembly.handles = handles
            voice.wanted = setting
        }
        wake()
    }

    /// Queues a voice packet; false if the queue is full.
    func sendVoice(_ packet: [UInt8]) -> Bool {
        locked {
            guard !closing.hasBegun else { return true }
            guard voice.enqueue(packet) else { return false }
            feedVoice()
            return true
        }
    }

    /// Statistics of the isochronous IN pipe.
    var voiceStatistics: VoiceStatistics { locked { voice.reassembly.statistics } }

    func feedVoice() {
        guard !closing.hasBegun, !wantsReset else { return }
        while let next = voice.nextOutput(of: self) { submitVoice(next) }
    }

    private func submitVoice(_ transfer: USBTransfer) {
        guard !closing.hasBegun, !wantsReset, !voice.mustChange else { return }
        let status = libusb_submit_transfer(transfer.transfer)
        guard status == 0 else {
            return libusb_error(status) == LIBUSB_ERROR_NO_DEVICE ? lose(status) : failVoice(usbText(status))
        }
        transfer.isInFlight = true
        inFlight += 1
        USBCount.add(to: USBCount.transfersSubmitted)
    }

    private func failVoice(_ text: String) {
        guard let setting = voice.wanted else { return }
        voice.wanted = nil
        add(.voice(.failure(.failed(setting: setting.number, text))))
    }

    // MARK: The thread

    func cancelVoice() {
        for transfer in locked({ voice.inFlight }) { libusb_cancel_transfer(transfer.transfer) }
    }

    /// Returns true if the change of the setting is complete or has failed.
    func changeVoiceIfIdle() -> Bool {
        let (isIdle, wanted) = locked { (voice.inFlight.isEmpty, voice.wanted) }
        guard isIdle, let interface = layout.voiceInterface else { return isIdle }
        let status = USBHandle.setAlternateSetting(wanted?.number ?? 0, of: interface, on: handle)
        locked {
            guard status == 0 else {
                voice.changed(to: nil, of: self)
                if libusb_error(status) == LIBUSB_ERROR_NO_DEVICE { return lose(status) }
                return failVoice(usbText(status))
            }
            voice.changed(to: wanted, of: self)
            add(.voice(.success(wanted)))
            for transfer in voice.transfers { submitVoice(transfer) }
            feedVoice()
        }
        return true
    }

    /// Called with the lock held when a voice transfer has completed.
    func voiceEnded(_ transfer: USBTransfer, _ status: libusb_transfer_status, at time: Microseconds) {
        switch status {
        case LIBUSB_TRANSFER_CANCELLED: return
        case LIBUSB_TRANSFER_NO_DEVICE: return lose(.lost(name))
        default: break
        }
        if transfer.role == .voiceIn { voice.receive(transfer) { add(.packet($0, time)) } }
        if voice.isHopeless(afterSuccess: status == LIBUSB_TRANSFER_COMPLETED) { return failVoice("input/output errors") }
        if transfer.role == .voiceIn { submitVoice(transfer) } else { feedVoice() }
    }
}
