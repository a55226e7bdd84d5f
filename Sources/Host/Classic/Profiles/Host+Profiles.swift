import BBPackets

/// The profiles that a host offers on BR/EDR.
struct ProfileOffer {
    var role: ClassicProfiles.Role
    var profiles: Set<ClassicProfile> = []
    /// Handles of the service records, and the server channel of HFP.
    var records: [UInt32] = []
    var serverChannel: UInt8?
    var started: (ProfileSession) -> Void = { _ in }
}

extension Host {
    /// Offers profiles to peers: adds their service records and accepts their channels. Replaces an earlier offer.
    ///
    /// - Parameters:
    ///   - role: role of this host in the profiles.
    ///   - started: called with the session of each connection before anything else happens in it.
    public func offerProfiles(
        _ profiles: Set<ClassicProfile>, as role: ClassicProfiles.Role, started: @escaping (ProfileSession) -> Void = { _ in }
    ) throws {
        withdrawProfiles()
        var offer = ProfileOffer(role: role, profiles: profiles, started: started)
        if profiles.contains(.hfp) { offer.serverChannel = try listen(rfcomm: nil) { $1.profiles.accept($0) } }
        for psm in [PSM.avdtp, PSM.avctp] { listen(psm: psm) { $1.profiles.accept($0) } }
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
    /// The profiles on this connection, in the phone role unless the host offers another.
    public var profiles: ProfileSession { layers.profiles }
}
