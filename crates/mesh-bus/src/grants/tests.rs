//! Tests of `grants`.
