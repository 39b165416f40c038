//! Set-up, demo, tests, benchmarks, house rules.

fn main() {}
