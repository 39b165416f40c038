//! All that knows NATS: accounts, grants, buckets, watches, verbs, seats, and the server itself.
