//! What is carried and what is not.
