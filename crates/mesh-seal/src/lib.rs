//! Sealing keys, sealing and opening, signatures, keyed digests, and the Secret type.
