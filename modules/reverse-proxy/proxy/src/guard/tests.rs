//! What is read through the guard, and when it ends.

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Semaphore;

use super::*;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

struct Both {
    client: DuplexStream,
    guard: Guard<DuplexStream>,
    conn: Arc<Conn>,
    mark: Mark,
}

fn both(begun: &str) -> Both {
    let (client, io) = tokio::io::duplex(64 << 10);
    let address = "127.0.0.1:1".parse().unwrap();
    let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let conn = Arc::new(Conn::new(address, false, permit));
    let mark = Mark::new();
    let limits = Arc::new(Limits::default());
    let guard = Guard::http1(io, conn.clone(), limits, mark.clone(), begun.as_bytes().to_vec());
    Both { client, guard, conn, mark }
}

impl Both {
    /// What is read until there is as much, or nothing comes for a while.
    async fn read(&mut self, most: usize) -> String {
        let mut text = String::new();
        while text.len() < most {
            let mut buf = vec![0; most - text.len()];
            let read = tokio::time::timeout(Duration::from_millis(10), self.guard.read(&mut buf));
            match read.await {
                Ok(Ok(0)) => return text + "<end>",
                Ok(Ok(read)) => text.push_str(std::str::from_utf8(&buf[..read]).unwrap()),
                Ok(Err(error)) => return text + &format!("<{error}>"),
                Err(_) => break,
            }
        }
        text
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_is_whole_and_good_is_read() {
    let mut both = both("");
    both.client.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
    assert_eq!(both.read(100).await, "");
    both.client.write_all(b"st: a\r\n\r\nGET /b").await.unwrap();
    assert_eq!(both.read(100).await, GET);
    // However small the reader's buffer.
    both.client.write_all(b" HTTP/1.1\r\nHost: b\r\n\r\n").await.unwrap();
    let mut small = String::new();
    for _ in 0..10 {
        small += &both.read(3).await;
    }
    assert_eq!(small, "GET /b HTTP/1.1\r\nHost: b\r\n\r\n");
}

#[tokio::test(start_paused = true)]
async fn what_was_read_before_is_looked_at_too() {
    let mut whole = both(&format!("{GET}GET"));
    assert_eq!(whole.read(100).await, GET);
    let mut bad = both("GET / HTTP/1.1\n\n");
    assert_eq!(bad.read(1000).await, bad.mark.head());
}

#[tokio::test(start_paused = true)]
async fn in_the_place_of_a_refused_head_is_one_that_says_so() {
    let mut both = both("");
    both.client.write_all(format!("{GET}GET / HTTP/1.1\n\nGET").as_bytes()).await.unwrap();
    let read = both.read(1000).await;
    assert_eq!(read, format!("{GET}{}", both.mark.head()));
    assert_eq!(both.conn.refused(), Some(Refusal::BareLineFeed));
    both.client.write_all(GET.as_bytes()).await.unwrap();
    assert_eq!(both.read(1000).await, "", "nothing more is read");
}

#[tokio::test(start_paused = true)]
async fn a_refused_body_is_an_error_after_its_head() {
    let mut both = both("");
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    both.client.write_all(format!("{head}x\r\n").as_bytes()).await.unwrap();
    assert_eq!(both.read(1000).await, format!("{head}<{}>", Refusal::ChunkSize));
}

#[tokio::test(start_paused = true)]
async fn a_head_has_to_come_in_time() {
    let mut both = both("");
    both.client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let begun = Instant::now();
    let mut buf = [0; 1000];
    for _ in 0..9 {
        // A byte a second does not help.
        assert!(tokio::time::timeout(Duration::from_secs(1), both.guard.read(&mut buf)).await.is_err());
        both.client.write_all(b"x").await.unwrap();
    }
    let read = both.guard.read(&mut buf).await.unwrap();
    assert_eq!(std::str::from_utf8(&buf[..read]).unwrap(), both.mark.head());
    assert_eq!(both.conn.refused(), Some(Refusal::HeadTooSlow));
    assert_eq!(begun.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_ends() {
    let mut silent = both("");
    let begun = Instant::now();
    assert_eq!(silent.guard.read(&mut [0; 10]).await.unwrap(), 0);
    assert_eq!(begun.elapsed().as_secs(), 10, "nothing at all");

    let mut both = both(GET);
    assert_eq!(both.read(GET.len()).await, GET);
    both.conn.work();
    assert!(
        tokio::time::timeout(Duration::from_secs(600), both.guard.read(&mut [0; 10])).await.is_err(),
        "an answer may take long"
    );
    both.conn.rest();
    let begun = Instant::now();
    assert_eq!(both.guard.read(&mut [0; 10]).await.unwrap(), 0);
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_left() {
    let mut both = both("");
    let begun = Instant::now();
    let error = both.guard.write_all(&vec![0; 1 << 20]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn whoever_is_refused_may_go_on_sending_for_a_moment() {
    let mut both = both("GET / HTTP/1.1\n\n");
    let sent = async {
        both.client.write_all(&vec![0; 1 << 20]).await.unwrap();
        drop(both.client);
    };
    let (_, closed) = tokio::join!(sent, both.guard.shutdown());
    closed.unwrap();
}
