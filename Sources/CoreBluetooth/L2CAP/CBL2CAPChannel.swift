import BBHost
import Foundation

/// An open L2CAP channel: two streams of octets, without packets. Releasing the channel closes it.
open class CBL2CAPChannel: NSObject {
    public let peer: CBPeer!
    public let inputStream: InputStream!
    public let outputStream: OutputStream!
    public let psm: CBL2CAPPSM
    private let pipe: ChannelPipe

    init(_ channel: CreditBasedChannel, peer: CBPeer, courier: Courier, phone: CBPhone) {
        self.peer = peer
        psm = channel.spsm
        pipe = ChannelPipe(channel, courier: courier, phone: phone)
        inputStream = ChannelInputStream(pipe)
        outputStream = ChannelOutputStream(pipe)
        super.init()
        pipe.input = inputStream
        pipe.output = outputStream
    }

    convenience init(_ channel: CreditBasedChannel, peer: CBPeripheral, phone: CBPhone) {
        let courier = peer.manager?.courier ?? Courier(queue: nil, program: phone.program)
        self.init(channel, peer: peer, courier: courier, phone: phone)
    }

    deinit { pipe.close() }
}
