//! Serves every name that its consumers file asks for, and none that it does not.
//!
//! Reading order: [`service`] (the whole: workers, and what keeps the table), [`table`](crate::table) and
//! [`provision`](crate::provision) (what is served), [`serve`](crate::serve) (a connection), [`gate`] (what of HTTP/1 is let
//! through) and [`guard`](crate::guard) (how), [`forward`](crate::forward) (a request), [`fields`](crate::fields) (its
//! fields), [`upload`](crate::upload) and [`body`](crate::body) (what is passed on), [`failure`](crate::failure) (what is said
//! where it is not). [`sockets`] and [`privileges`] are
//! for whoever starts it as root. Who gets which name is `mesh-routes`'s. It knows no bus and no certificate authority.

mod body;
pub mod config;
mod conn;
mod connect;
mod drain;
mod failure;
mod fields;
mod forward;
pub mod gate;
mod guard;
mod health;
mod limits;
mod listen;
mod mark;
mod pace;
pub mod privileges;
mod provision;
mod route;
mod serve;
pub mod service;
pub mod sockets;
mod spare;
mod spawner;
mod table;
mod target;
mod ticket;
mod tunnel;
mod upload;
mod wire;
mod worker;

pub use config::Config;
pub use failure::Disclose;
pub use limits::{Limits, Stall};
pub use provision::Public;
pub use service::{Proxy, RunError};
