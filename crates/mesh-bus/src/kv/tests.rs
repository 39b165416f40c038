//! Tests of `kv`.
