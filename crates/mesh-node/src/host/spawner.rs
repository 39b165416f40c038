//! The one thread that starts shims.
//!
//! "Tell me when my parent dies" means, to the kernel, the *thread* that forked. A runtime's worker may end long
//! before the program does, and every service that it had started would be stopped for no reason. So all are started
//! from a thread that lives exactly as long as the host; and a host that is dropped ends its services.

use std::{io, process::Stdio, sync::mpsc, thread};

use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

use super::Program;

/// Hands what is to be started to the thread.
#[derive(Debug, Clone)]
pub(super) struct Spawner {
    requests: mpsc::Sender<Request>,
}

#[derive(Debug)]
struct Request {
    mark: String,
    answer: oneshot::Sender<io::Result<Child>>,
}

impl Spawner {
    /// Starts the thread. It ends when the last clone is dropped.
    pub(super) fn new(program: Program) -> io::Result<Self> {
        let (requests, received) = mpsc::channel::<Request>();
        let runtime = Handle::current();
        thread::Builder::new().name("spawner".into()).spawn(move || {
            // So that the runtime waits for the children.
            let _inside = runtime.enter();
            for request in received {
                let child = shim(&program, &request.mark).spawn();
                // Who asked may have been stopped meanwhile: the shim then ends for want of an order.
                let _ = request.answer.send(child);
            }
        })?;
        Ok(Self { requests })
    }

    /// A shim that waits for its order on standard input.
    pub(super) async fn shim(&self, mark: &str) -> io::Result<Child> {
        let (answer, answered) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts services has ended");
        self.requests.send(Request { mark: mark.to_owned(), answer }).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

fn shim(program: &Program, mark: &str) -> Command {
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .arg("keep")
        .arg(std::process::id().to_string())
        .env_clear()
        .env(crate::shim::MARK, mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        // A terminal's Ctrl-C is for the node, which stops its services in order.
        .process_group(0);
    command
}
