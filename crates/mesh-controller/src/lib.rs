//! The seat that plans what runs where, and lets it take effect.
