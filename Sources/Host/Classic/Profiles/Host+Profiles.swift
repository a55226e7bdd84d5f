import Packets

/// The profiles that a host offers over BR/EDR.
struct ProfileOffer {
    var role: ClassicProfiles.Role
    var profiles: Set<ClassicProfile> = []
    /// The service records, and the server channel of HFP.
    var records: [UInt32] = []
    var serverChannel: UInt8?
    var started: (ProfileSession) -> Void = { _ in }
}

extension Host {
    /// Lets peers set up profiles: registers their service records, and answers on their channels. What was offered before is no more.
    ///
    /// - Parameters:
    ///   - role: what this host is in each of them.
    ///   - started: gets the session of each connection, before anything happens in it.
    public func offerProfiles(
        _ profiles: Set<ClassicProfile>, as role: ClassicProfiles.Role, started: @escaping (ProfileSession) -> Void = { _ in }
    ) throws {
        withdrawProfiles()
        var offer = ProfileOffer(role: role, profiles: profiles, started: started)
        if profiles.contains(.hfp) { offer.serverChannel = try listen(rfcomm: nil) { $1.profiles.accept($0) } }
        for psm in [ClassicPSM.avdtp, ClassicPSM.avctp] { listen(psm: psm) { $1.profiles.accept($0) } }
        offer.records = ClassicProfiles.records(of: role, profiles, serverChannel: offer.serverChannel ?? 0).map { addServiceRecord($0) }
        context.profileOffer = offer
    }

    private func withdrawProfiles() {
        for record in context.profileOffer.records { removeServiceRecord(record) }
        if let channel = context.profileOffer.serverChannel { stopListening(rfcomm: channel) }
        context.profileOffer = ProfileOffer(role: .phone)
    }
}

extension ClassicConnection {
    /// The profiles on this connection: a phone's, unless the host offers others.
    public var profiles: ProfileSession { layers.profiles }
}
