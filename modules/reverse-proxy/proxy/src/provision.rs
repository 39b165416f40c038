//! From the consumers file to the table, and back to the answers.
//!
//! The poll, the two files and their faults are `mesh-provider`'s: a file that cannot be read changes nothing. A table takes
//! effect in one step, and only then is anybody told that a route is there.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use mesh_model::name::ModuleName;
use mesh_provider::answers::Answers;
use mesh_provider::{Answer, Consumers, Outcome, Replies, Server};
use mesh_routes::{HostName, PathPrefix, Route, Routes, decide};
use tokio_util::task::TaskTracker;

use crate::route::Route as Live;
use crate::table::{Replaced, Table};
use crate::worker::Shared;

/// How clients reach what is served.
#[derive(Debug, Clone)]
pub struct Public {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The port, where it has to be written.
    pub port: Option<u16>,
}

/// Keeps the table as the consumers file says.
#[derive(Debug)]
pub(crate) struct Provision {
    shared: Arc<Shared>,
    public: Public,
    workers: usize,
    /// What was answered before this program began, until there is a table.
    former: Option<Answers>,
    tasks: TaskTracker,
}

impl Provision {
    pub(crate) fn new(
        shared: Arc<Shared>,
        public: Public,
        workers: usize,
        answers: &Path,
        tasks: TaskTracker,
    ) -> Self {
        Self { shared, public, workers, former: Some(Answers::open(answers)), tasks }
    }

    /// Lets these routes take effect.
    pub(crate) fn apply(&mut self, consumers: &Consumers) -> Routes {
        let before = self.shared.table.load_full();
        let mut routes = match self.former.take() {
            Some(former) => decide(consumers, &had(&former, consumers)),
            None => decide(consumers, &*before),
        };
        if self.shared.node.load().as_str() != consumers.provider.node.as_str() {
            self.shared.node.store(Arc::new(consumers.provider.node.to_string()));
        }
        let told = Routes { routes: routes.routes.clone(), refused: std::mem::take(&mut routes.refused) };
        let Replaced { table, withdrawn } = Table::build(routes, &before, self.workers);
        self.shared.table.store(Arc::new(table));
        self.shared.begin.cancel();
        self.let_end(withdrawn);
        told
    }

    /// What was begun by routes that are gone may go on for a while.
    fn let_end(&self, withdrawn: Vec<Arc<Live>>) {
        let busy: Vec<Arc<Live>> = withdrawn.into_iter().filter(|route| route.under_way() > 0).collect();
        if busy.is_empty() {
            return;
        }
        let grace = self.shared.limits.withdrawn;
        self.tasks.spawn(async move {
            tokio::time::sleep(grace).await;
            busy.iter().for_each(|route| route.cut());
        });
    }

    fn values(&self, route: &Route) -> BTreeMap<String, String> {
        let port = self.public.port.map(|port| format!(":{port}")).unwrap_or_default();
        let url = format!("{}://{}{port}{}", self.public.scheme, route.name, route.path);
        BTreeMap::from([("name".to_owned(), route.name.to_string()), ("url".to_owned(), url)])
    }
}

impl Server for Provision {
    type Error = Infallible;

    async fn accept(&mut self, wanted: &Consumers, replies: &Replies) -> Result<(), Infallible> {
        let Routes { routes, refused } = self.apply(wanted);
        for route in routes {
            let values = self.values(&route);
            for (target, revision) in route.targets.into_iter().zip(route.revisions) {
                let outcome = Outcome::Accepted { credential: None, values: values.clone(), why: None };
                replies.give(Answer { consumer: target.consumer, revision, outcome });
            }
        }
        for refused in refused {
            let outcome = Outcome::Failed { error: refused.why };
            replies.give(Answer { consumer: refused.consumer, revision: refused.revision, outcome });
        }
        Ok(())
    }
}

/// Who had which name, by the answers that were given.
fn had(former: &Answers, consumers: &Consumers) -> HashMap<(HostName, PathPrefix), ModuleName> {
    let name = |answer: &Answer| {
        let Outcome::Accepted { values, .. } = &answer.outcome else { return None };
        let name: HostName = values.get("name")?.parse().ok()?;
        let (_, rest) = values.get("url")?.split_once("://")?;
        let path = rest.find('/').map_or("/", |at| &rest[at..]).parse().ok()?;
        Some(((name, path), answer.consumer.module.clone()))
    };
    consumers.consumers.iter().filter_map(|consumer| name(former.get(&consumer.id)?)).collect()
}
