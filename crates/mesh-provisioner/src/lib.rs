//! The seat that knows which domain answers which kind, and tells who needs what.
