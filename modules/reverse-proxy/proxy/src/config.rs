//! What the proxy is told when it begins.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::failure::Disclose;
use crate::limits::Limits;
use crate::provision::Public;

/// What the proxy is told when it begins.
#[derive(Debug, Clone)]
pub struct Config {
    /// The consumers file.
    pub consumers: PathBuf,
    /// The answers file.
    pub answers: PathBuf,
    /// Where clients connect.
    pub listen: Vec<SocketAddr>,
    /// How clients reach what is served, as consumers are told.
    pub public: Public,
    /// Whether names are told to whoever asks for another.
    pub disclose: Disclose,
    /// How many threads answer requests.
    pub workers: usize,
    /// What clients may take.
    pub limits: Limits,
}
