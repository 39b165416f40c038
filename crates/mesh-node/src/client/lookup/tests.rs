//! Registrations, filled in.
