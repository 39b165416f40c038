//! How a command ends: the exit codes, which are a contract, and what is said where something failed.
//!
//! The chain of causes is printed once, the cause first; then the way out. Which error comes to which code is said where
//! the error is made into a [`Failure`], and nowhere else.

use std::error::Error;
use std::process::ExitCode;

use mesh_bus::verb::AskError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked to.
    Done,
    /// It was refused, or it failed.
    Failed,
    /// It was called wrongly.
    WrongUsage,
    /// The bus or a seat could not be reached.
    Unreachable,
    /// `--wait` ran out.
    RanOut,
    /// Something would change (`mesh plan --exit-code`).
    WouldChange,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::WrongUsage => 2,
            Self::Unreachable => 3,
            Self::RanOut => 4,
            Self::WouldChange => 5,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How it ends.
    pub(crate) exit: Exit,
    error: Box<dyn Error + Send + Sync>,
    hint: Option<String>,
}

impl Failure {
    /// It was refused, or it failed.
    pub(crate) fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit: Exit::Failed, error: error.into(), hint: None }
    }

    /// It ends in another way.
    pub(crate) fn exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// With the way out.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()).filter(|hint: &String| !hint.is_empty()), ..self }
    }

    /// The chain, the cause first, each said once.
    pub(crate) fn chain(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        let mut next: Option<&dyn Error> = Some(&*self.error);
        while let Some(error) = next {
            let text = error.to_string();
            // Some libraries write their cause into their own text.
            if !texts.iter().any(|outer| outer.contains(&text)) {
                texts.push(text);
            }
            next = error.source();
        }
        texts.reverse();
        texts
    }

    /// The way out, where there is one.
    pub(crate) fn way_out(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        match &error {
            AskError::Unreachable { verb, .. } => {
                let seat = verb.split('.').next().unwrap_or(verb).to_owned();
                Self::new(error).exit(Exit::Unreachable).hint(format!(
                    "the bus is there, and {seat} does not answer: it may be starting, or have stopped; \
                     try again, and look at what runs it"
                ))
            }
            AskError::Refused { refused, .. } => {
                let help = refused.help.clone();
                Self::new(error).hint(help)
            }
            AskError::Unreadable { .. } => {
                Self::new(error).hint("this program and what runs the mesh may be of different versions")
            }
        }
    }
}

#[cfg(test)]
mod tests;
