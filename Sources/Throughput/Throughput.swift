/// The room's namespace for constants that belong to no single type.
