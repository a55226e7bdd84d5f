import BBCapture
import BBTransport

extension Simulation {
    /// Adds a controller whose host runs in this process.
    ///
    /// - Returns: the controller, and the host's end of its HCI pipe.
    public func addController(
        _ configuration: ControllerConfiguration
    ) throws(TransportError) -> (identifier: ControllerID, host: any HCITransport) {
        let pipe = InProcessTransport.pair(on: loop)
        return (try addController(configuration, on: pipe.controller), pipe.host)
    }

    /// Logs every transmission from now on into a pcapng capture.
    public func logAir(into log: CaptureLog) throws(CaptureError) {
        let interface = try log.addAir()
        logAir { frame, time in log.record(frame, interface: interface, at: time) }
    }
}
