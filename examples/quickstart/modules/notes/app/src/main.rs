//! A page to write and read notes, kept in its database.

fn main() {}
