//! The seat that makes secrets, seals them and forgets them.
