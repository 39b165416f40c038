//! For provisioners: the two files, the poll, and reconcile.
