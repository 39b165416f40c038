//! What waits, and why.
