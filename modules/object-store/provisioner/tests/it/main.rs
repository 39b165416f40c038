//! `mesh-object-store-provisioner` against a real SeaweedFS: each promise as somebody would try it who doubts it.

#![expect(clippy::unwrap_used, reason = "what a test rests on is not handled, it fails")]

mod access;
mod provisioner;
mod store;
mod taken;
mod watching;
