//! Tests of `round`.
