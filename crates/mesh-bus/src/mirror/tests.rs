//! Tests of `mirror`.
