//! The real program, run in temporary folders.
