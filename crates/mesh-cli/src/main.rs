//! The one program: arguments, words, exit codes.

fn main() {}
