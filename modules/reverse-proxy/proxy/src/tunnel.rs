//! Two that speak something else than HTTP with each other, WebSocket most of the time.

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use crate::ticket::Ticket;

/// Both sides, as soon as they have said the last word of HTTP.
pub(crate) struct Both {
    pub(crate) client: OnUpgrade,
    pub(crate) target: OnUpgrade,
}

/// Passes on what they say until one has said all, the route was withdrawn some time ago, or it is asked
/// to stop: nobody knows when they would be done.
pub(crate) async fn run(both: Both, ticket: Box<Ticket>) {
    let route = ticket.route().cloned();
    let withdrawn = async {
        match &route {
            Some(route) => route.ended().cancelled().await,
            None => std::future::pending().await,
        }
    };
    let drain = ticket.worker().drain.clone();
    tokio::select! {
        () = pass(both) => {}
        () = withdrawn => {}
        () = drain.closing() => {}
    }
}

async fn pass(both: Both) {
    // Where one of them is gone before it begins, there is nothing to pass on.
    let (Ok(client), Ok(target)) = tokio::join!(both.client, both.target) else { return };
    let (mut client, mut target) = (TokioIo::new(client), TokioIo::new(target));
    let _ = tokio::io::copy_bidirectional(&mut client, &mut target).await;
}
