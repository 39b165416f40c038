//! PostgreSQL as [`mesh_provider`]'s server: observe, plan, apply.

use mesh_provider::{Consumers, Replies, Server};

use crate::apply::{Applying, Proved, Reached};
use crate::desire::Desired;
use crate::marker::Maker;
use crate::plan::plan;
use crate::scram::Verifiers;
use crate::world::{Address, Postgres, World, WorldError, read_password};

/// The server, and what is known of it from pass to pass.
pub(crate) struct PostgresServer {
    address: Address,
    reached: Reached,
    connected: Option<Connected>,
}

/// What holds for as long as one connection does. A server that comes back may have come back from a backup, so
/// everything is proved anew.
struct Connected {
    world: Postgres,
    verifiers: Verifiers,
    proved: Proved,
}

impl PostgresServer {
    pub(crate) fn new(address: Address, reached: Reached) -> Self {
        Self { address, reached, connected: None }
    }

    async fn connected(&mut self) -> Result<&mut Connected, WorldError> {
        if self.connected.as_ref().is_none_or(|connected| connected.world.is_gone()) {
            self.connected = None;
            let world = Postgres::connect(self.address.clone()).await?;
            let verifiers = Verifiers::new(&read_password(&self.address.password_file)?);
            self.connected = Some(Connected { world, verifiers, proved: Proved::default() });
        }
        Ok(self.connected.as_mut().expect("it was connected just now"))
    }
}

impl Server for PostgresServer {
    type Error = WorldError;

    async fn accept(&mut self, wanted: &Consumers, replies: &Replies) -> Result<(), WorldError> {
        let reached = self.reached.clone();
        let Connected { world, verifiers, proved } = self.connected().await?;
        let (maker, desired) = (Maker::of(wanted), Desired::of(wanted));
        world.begin().await?;
        let observed = world.observe(&maker, verifiers).await?;
        let plan = plan(&desired, &observed, &maker, verifiers);
        let applying = Applying { world: &*world, desired: &desired, verifiers, reached: &reached, replies };
        let done = applying.run(plan, proved).await;
        world.end().await?;
        done
    }

    fn lost(&self) -> bool {
        self.connected.as_ref().is_some_and(|connected| connected.world.is_gone())
    }
}
