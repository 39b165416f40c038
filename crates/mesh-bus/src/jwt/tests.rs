//! Tests of `jwt`.
