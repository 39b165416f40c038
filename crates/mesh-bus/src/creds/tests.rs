//! Tests of `creds`.
