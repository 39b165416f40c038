//! `mesh-postgres-provisioner` against a real PostgreSQL: each promise as somebody would try it who doubts it.

#![expect(clippy::unwrap_used, reason = "what a test rests on is not handled, it fails")]

mod access;
mod crash;
mod files;
mod leaks;
mod provisioner;
mod server;
mod taken;
mod watching;
mod withdrawn;
