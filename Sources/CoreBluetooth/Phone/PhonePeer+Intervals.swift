import BBHost
import BBPackets

extension PhonePeer {
    /// Changes the interval for ever, between those of the persona, once the phone has granted the parameters of an accessory with the HID
    /// service.
    func watchParameters(_ link: PhoneLink) {
        let intervals = phone.persona.hidIntervals
        guard let connection = link.le, !intervals.isEmpty else { return }
        var isChanging = false
        connection.events.add { [weak self] event in
            guard case .parametersUpdated = event, let self, !isChanging else { return }
            isChanging = true
            _ = phone.loop.start { [phone] in
                guard try await !link.gatt.discoverServices(uuid: Self.humanInterfaceDevice).isEmpty else { return }
                while connection.isConnected {
                    for interval in intervals {
                        try await phone.loop.sleep(for: Self.pause)
                        var request = ConnectionParameterRequest(interval: interval)
                        request.latency = connection.parameters.latency
                        request.supervisionTimeout = connection.parameters.supervisionTimeout
                        _ = try await connection.updateParameters(request)
                    }
                }
            }
        }
    }

    private static let humanInterfaceDevice: BluetoothUUID = 0x1812
    private static let pause = Microseconds.milliseconds(120)
}
