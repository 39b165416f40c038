//! The reverse proxy.

#![allow(dead_code)]

mod conn;
pub mod gate;
mod guard;
mod limits;
mod mark;
mod pace;
