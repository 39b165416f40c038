//! Makes one PostgreSQL accept exactly what its consumers file says.

fn main() {}
