//! One process of the server: from its start until it is ready, and its end.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use super::{START_DEADLINE, ServerConfig, ServerError, config, log_length, log_tail};

/// Starts it, and returns when it listens, and on which port.
pub(super) async fn start(config: &ServerConfig, port: Option<u16>) -> Result<(Child, u16), ServerError> {
    let file = config::write(config, port)?;
    let said_before = log_length(&config.folder);
    forget_ports(&config.folder);
    let mut command: Vec<OsString> = config.launcher.clone();
    if !command.is_empty() {
        command.push(std::process::id().to_string().into());
    }
    command.extend([config.program.clone().into(), "--config".into(), file.into()]);
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // Ctrl-C is for us: the server is needed until everybody else has stopped.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| ServerError::Run { program: command[0].clone().into(), source })?;
    let ready = tokio::select! {
        ready = tokio::time::timeout(START_DEADLINE, listening(config)) => ready,
        ended = child.wait() => return Err(ServerError::Ended {
            status: ended.map_or_else(|e| e.to_string(), |s| s.to_string()),
            said: last_words(&mut child, &config.folder, said_before).await,
        }),
    };
    match ready {
        Ok(port) => Ok((child, port)),
        Err(_) => {
            end(&mut child, Duration::ZERO).await;
            Err(ServerError::Late { said: log_tail(&config.folder, said_before) })
        }
    }
}

async fn last_words(child: &mut Child, folder: &Path, said_before: u64) -> String {
    let mut said = String::new();
    if let Some(stderr) = child.stderr.as_mut() {
        // What cannot be read adds nothing: the log says the rest.
        let _ = stderr.take(4096).read_to_string(&mut said).await;
    }
    let said = said.trim().to_owned();
    if said.is_empty() { log_tail(folder, said_before) } else { said }
}

/// Waits for the file in which the server says where it listens.
async fn listening(config: &ServerConfig) -> u16 {
    loop {
        if let Some(port) = ports_files(&config.folder).iter().find_map(|path| port_in(path))
            && tokio::net::TcpStream::connect((config.listen.reach(), port)).await.is_ok()
        {
            return port;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn port_in(path: &Path) -> Option<u16> {
    let ports: serde_json::Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    ports.get("nats")?.get(0)?.as_str()?.rsplit(':').next()?.parse().ok()
}

fn ports_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "ports")).collect()
}

/// Those of a server that was killed are still there.
fn forget_ports(folder: &Path) {
    for path in ports_files(folder) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(%error, path = %path.display(), "cannot remove what a former server left");
        }
    }
}

/// Asks it to end, and kills it after the deadline.
pub(super) async fn end(child: &mut Child, deadline: Duration) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid
        && let Err(error) = kill_process(pid, Signal::TERM)
    {
        tracing::debug!(%error, "nats-server had ended already");
    }
    if tokio::time::timeout(deadline, child.wait()).await.is_err() {
        tracing::warn!("nats-server did not stop in time; it is killed");
        if let Err(error) = child.kill().await {
            tracing::error!(%error, "cannot kill nats-server");
        }
    }
}
