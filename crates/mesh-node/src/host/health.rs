//! Looks at a service's health for as long as it runs: often until it is healthy, seldom afterwards.

use std::{future::Future, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use super::{
    Health,
    machine::Event,
    service::{Attempt, Exit, Process, Said},
};
use crate::users;

/// A service without a health of its own is taken for healthy when it has stayed up so long: a program that cannot read
/// its configuration has ended by then.
const SETTLED: Duration = Duration::from_millis(250);

/// Between two looks until it is healthy, and afterwards. A program of its own costs more than a connection.
fn period(health: &Health, is_healthy: bool) -> Duration {
    Duration::from_millis(match (health, is_healthy) {
        (Health::Http(_) | Health::Tcp(_), false) => 100,
        (Health::Http(_) | Health::Tcp(_), true) => 1000,
        (Health::Exec(_), false) => 250,
        (Health::Exec(_), true) => 5000,
    })
}

fn patience(health: &Health) -> Duration {
    match health {
        Health::Http(_) | Health::Tcp(_) => Duration::from_secs(2),
        Health::Exec(_) => Duration::from_secs(10),
    }
}

/// Tells of each bad answer, and of each good one after a bad one. Never ends.
pub(super) async fn watch(attempt: &Attempt<'_>, user: Option<&users::User>) {
    let (run, events) = (&attempt.job.run, &attempt.job.events);
    let Some(health) = &attempt.spec.health else {
        sleep(SETTLED).await;
        let _ = events.send(Event::Healthy { run: run.clone() });
        return std::future::pending().await;
    };
    let mut is_healthy = false;
    loop {
        match look(health, attempt, user).await {
            Ok(()) if is_healthy => {}
            Ok(()) => {
                is_healthy = true;
                let _ = events.send(Event::Healthy { run: run.clone() });
            }
            Err(why) => {
                is_healthy = false;
                let _ = events.send(Event::Unhealthy { run: run.clone(), why });
            }
        }
        sleep(period(health, is_healthy)).await;
    }
}

async fn look(health: &Health, attempt: &Attempt<'_>, user: Option<&users::User>) -> Result<(), String> {
    match health {
        Health::Http(url) => within(health, url, get(url)).await,
        Health::Tcp(address) => within(health, address, connect(address)).await,
        Health::Exec(exec) => run(exec, attempt, user, patience(health)).await,
    }
}

async fn within(
    health: &Health,
    what: &str,
    looking: impl Future<Output = Result<(), String>>,
) -> Result<(), String> {
    match timeout(patience(health), looking).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(format!("{what}: {why}")),
        Err(_) => Err(format!("{what}: no answer within {} s", patience(health).as_secs())),
    }
}

async fn connect(address: &str) -> Result<(), String> {
    TcpStream::connect(address).await.map(drop).map_err(|error| error.to_string())
}

/// As little HTTP as a status needs.
async fn get(url: &str) -> Result<(), String> {
    let (host, path) = split(url).ok_or("is not an http:// address with a port")?;
    let failed = |error: std::io::Error| error.to_string();
    let mut connection = TcpStream::connect(host).await.map_err(failed)?;
    let question =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: mesh\r\nConnection: close\r\n\r\n");
    connection.write_all(question.as_bytes()).await.map_err(failed)?;
    // "HTTP/1.1 200": twelve bytes.
    let mut answer = [0; 12];
    connection.read_exact(&mut answer).await.map_err(failed)?;
    match status(&answer) {
        Some(status) if status < 400 => Ok(()),
        Some(status) => Err(format!("answers {status}")),
        None => Err("does not answer in HTTP".into()),
    }
}

/// `host:port` and the path of an `http://` address.
fn split(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    host.contains(':').then_some((host, path))
}

fn status(answer: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(answer).ok()?;
    text.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
}

async fn run(
    exec: &[String],
    attempt: &Attempt<'_>,
    user: Option<&users::User>,
    patience: Duration,
) -> Result<(), String> {
    let what = exec.first().map_or("", String::as_str);
    let started = Process::start_said(attempt, exec, user, Said::Dropped).await;
    let mut process = started.map_err(|error| format!("`{what}` could not be started: {error}"))?;
    match timeout(patience, process.wait()).await {
        Ok(Exit::Code(0)) => Ok(()),
        Ok(exit) => Err(format!("`{what}` {exit}")),
        Err(_) => {
            process.stop();
            process.wait().await;
            Err(format!("`{what}` takes longer than {} s", patience.as_secs()))
        }
    }
}

#[cfg(test)]
mod tests {
    //! Addresses and status lines.

    use super::*;

    #[test]
    fn an_address_is_split_and_a_status_read() {
        assert_eq!(split("http://127.0.0.1:80/a?b"), Some(("127.0.0.1:80", "/a?b")));
        assert_eq!(split("http://[::1]:80"), Some(("[::1]:80", "/")));
        assert_eq!(split("https://a:1/"), None);
        assert_eq!((status(b"HTTP/1.1 204"), status(b"HTTP/1.0 503")), (Some(204), Some(503)));
        assert_eq!(status(b"SSH-2.0-Open"), None);
    }
}
