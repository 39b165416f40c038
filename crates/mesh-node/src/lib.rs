//! The client and the host of one machine.
