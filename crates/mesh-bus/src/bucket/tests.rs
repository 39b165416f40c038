//! Tests of `bucket`.
