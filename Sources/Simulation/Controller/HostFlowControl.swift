import BBPackets
import DequeModule

/// Controller-to-host flow control: the host's data buffers and packets waiting for them. Core Vol 4, Part E, 4.2.
struct HostFlowControl {
    /// Off after a reset. Core Vol 4, Part E, 7.3.38.
    var isOn = false
    /// Host_ACL_Data_Packet_Length and Host_Total_Num_ACL_Data_Packets.
    var length = Int(UInt16.max)
    var count = Int(UInt16.max)
    private var used: [ConnectionHandle: Int] = [:]
    private var waiting: Deque<HCIPacket> = []
    private static let mostWaiting = 1_000
    /// Flow_Control_Enable value for ACL data only.
    static let acl: UInt8 = 1

    /// True if more packets are waiting than allowed, so that the links must end.
    var isOverrun: Bool { waiting.count > Self.mostWaiting }

    private var isFull: Bool { used.values.reduce(0, +) >= count }

    /// Queues a packet; `next()` returns packets that may be sent.
    mutating func add(_ packet: HCIPacket) { waiting.append(packet) }

    /// The next packet for which the host has a buffer.
    mutating func next() -> HCIPacket? {
        guard !isFull, let packet = waiting.popFirst() else { return nil }
        if let handle = packet.dataHandle { used[handle, default: 0] += 1 }
        return packet
    }

    /// Frees buffers that the host reports as completed. Returns false if it reports more packets than it was sent.
    mutating func complete(_ count: Int, of handle: ConnectionHandle) -> Bool {
        guard let old = used[handle], count <= old else { return false }
        used[handle] = old - count
        return true
    }

    /// Frees the buffers used by a connection that has ended, and drops its queued packets. Core Vol 4, Part E, 4.3.
    mutating func close(_ handle: ConnectionHandle) {
        used[handle] = nil
        waiting.removeAll { $0.dataHandle == handle }
    }
}

extension Controller {
    static func hostFlowControlCommands(_ rows: inout CommandRows<Controller>) {
        rows.perform(HCICommands.SetControllerToHostFlowControl.self) { try $0.execute($1) }
        rows.perform(HCICommands.HostBufferSize.self) { try $0.execute($1) }
        rows.perform(HCICommands.HostNumberOfCompletedPackets.self, isSilent: true) { try $0.execute($1) }
    }

    /// Sends as much data as the host has buffers for.
    func sendWaitingData() { while let packet = hostFlow.next() { sendData(packet) } }

    func execute(_ command: HCICommands.HostBufferSize) throws(CommandRefusal) {
        try Check.that(command.hostACLDataPacketLength > 0 && command.hostTotalNumACLDataPackets > 0)
        hostFlow.length = Int(command.hostACLDataPacketLength)
        hostFlow.count = Int(command.hostTotalNumACLDataPackets)
    }

    /// Flow control of synchronous data is not supported. The setting can be changed only without connections.
    func execute(_ command: HCICommands.SetControllerToHostFlowControl) throws(CommandRefusal) {
        try Check.that(links.isEmpty && bredr.links.isEmpty && loopback == nil, else: .disallowed)
        try Check.that(command.flowControlEnable <= HostFlowControl.acl, else: .unsupportedValue)
        hostFlow.isOn = command.flowControlEnable == HostFlowControl.acl
    }

    func execute(_ command: HCICommands.HostNumberOfCompletedPackets) throws(CommandRefusal) {
        for row in command.handles {
            try Check.that(hostFlow.complete(Int(row.hostNumCompletedPackets), of: row.connectionHandle))
        }
        sendWaitingData()
    }
}
