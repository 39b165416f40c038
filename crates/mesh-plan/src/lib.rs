//! From a mesh description to a plan, or to everything that is wrong with it.
