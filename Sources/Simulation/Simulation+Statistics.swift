import BBPackets

extension Simulation {
    /// Statistics of a link since it was established; nil if there is no such link.
    public func statistics(of handle: ConnectionHandle, on identifier: ControllerID) -> LinkStatistics? {
        guard let controller = controller(identifier) else { return nil }
        if let link = controller.bredr.links.first(where: { $0.handle == handle }) { return link.link.state.exchange.statistics }
        return controller.links.first { $0.handle == handle }?.connection.statistics
    }

    /// Sets the packet error rate of all paths: the share of packets received with a bad CRC.
    ///
    /// - Parameter rate: 0...1.
    public func setPacketErrorRate(_ rate: Double) {
        air.propagation.setLoss(.init(corrupted: min(max(rate, 0), 1)), on: .init())
    }
}
