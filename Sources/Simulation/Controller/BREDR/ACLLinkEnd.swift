import Packets
import Timing

/// A connection over BR/EDR as the host knows it: the baseband's link, its link manager, and the account of its packets.
final class ACLLinkEnd: HostLink {
    let handle: ConnectionHandle
    let peer: BDADDR
    /// What the page has told of the other side; zero where this side paged.
    let classOfDevice: UInt32
    /// Whether the other side has paged.
    let isIncoming: Bool
    let link: BasebandLink
    private(set) var connection: ACLConnection!
    /// How far the host has been told.
    enum Stage {
        /// Nothing, or that the other side asks for it.
        case begun
        /// The other side asks for it, and the host has not answered.
        case requested
        case connected
    }
    var stage = Stage.begun
    /// Why the connection was refused; the host is told when the link is gone, and the device may be paged again.
    var refusal: ErrorCode?
    /// Allow_Role_Switch of Create_Connection.
    var allowsRoleSwitch = true
    /// Whether it is there for Remote_Name_Request alone.
    var isForName = false
    var policy: LinkPolicy
    /// Tells the host how QoS_Setup or Flow_Specification has ended.
    var tellQuality: ((ErrorCode) -> Void)?
    /// Gives up waiting for the host's answer.
    var acceptTimer: AirTimer?
    /// A synchronous connection that is being made on it.
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

    /// Takes over what a page was for.
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
