//! `mesh server`, and `mesh node` on several machines: for real, by TLS. 127.0.0.1, 127.0.0.2 and 127.0.0.3 stand for three
//! machines, each with a state folder of its own.
//!
//! Start at [`site::Site`].

mod joining;
mod running;
mod site;
