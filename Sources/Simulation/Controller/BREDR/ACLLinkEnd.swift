import BBPackets
import BBTiming

/// A BR/EDR connection as seen by the host: baseband link, link manager and packet counters.
final class ACLLinkEnd: HostLink {
    let handle: ConnectionHandle
    let peer: BDADDR
    /// Class_of_Device that the peer sent when it paged; 0 if this device paged.
    let classOfDevice: UInt32
    /// True if the peer paged.
    let isIncoming: Bool
    let link: BasebandLink
    private(set) var connection: ACLConnection!
    /// Connection setup as reported to the host.
    enum Stage {
        /// Nothing, or only a connection request, has been reported.
        case begun
        /// The peer requests a connection and the host has not replied.
        case requested
        case connected
    }
    var stage = Stage.begun
    /// Reason for the rejection. It is reported once the link has ended, after which the device can be paged again.
    var refusal: ErrorCode?
    /// Allow_Role_Switch of Create_Connection.
    var allowsRoleSwitch = true
    /// True for a link created only for Remote_Name_Request.
    var isForName = false
    var policy: LinkPolicy
    /// Reports the result of QoS_Setup or Flow_Specification to the host.
    var tellQuality: ((ErrorCode) -> Void)?
    /// Connection accept timeout.
    var acceptTimer: AirTimer?
    /// A synchronous connection being set up on this link.
    var voice = SynchronousConnecting()
    var inUse = 0
    var completed = 0

    init(handle: ConnectionHandle, peer: BDADDR, classOfDevice: UInt32, isIncoming: Bool, link: BasebandLink, policy: LinkPolicy) {
        self.handle = handle
        self.peer = peer
        self.classOfDevice = classOfDevice
        self.isIncoming = isIncoming
        self.link = link
        self.policy = policy
    }

    func manage(by connection: ACLConnection) {
        self.connection = connection
        link.manager = connection
    }

    /// Takes over the purpose of a page.
    func use(for purpose: PagePurpose) {
        isForName = true
        guard case .connection(let packetTypes, let allowsRoleSwitch) = purpose else { return }
        isForName = false
        self.allowsRoleSwitch = allowsRoleSwitch
        link.apply(.packetTypes(packetTypes))
    }

    let isBREDR = true
    var isKnownToHost: Bool { stage == .connected }

    func send(_ data: ArraySlice<UInt8>, isStart: Bool) { link.send(data, isStart: isStart) }
    func disconnect(_ reason: ErrorCode) -> ErrorCode { connection.disconnect(reason) }

    func readRemoteVersion() -> ErrorCode {
        connection.readRemoteVersion()
        return .success
    }

    func stop() {
        acceptTimer?.cancel()
        voice.acceptTimer?.cancel()
        connection.abandon()
    }
}
