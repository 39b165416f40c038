//! Rendered whole or not at all.
