//! Tests of `authority`.
