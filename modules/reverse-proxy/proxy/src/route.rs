//! A route that is served: its targets, and which of them a request goes to.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mesh_model::name::ModuleName;
use mesh_routes::{HostName, PathPrefix};
use tokio_util::sync::CancellationToken;

use crate::target::Target;

/// A route that is served.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) name: HostName,
    pub(crate) path: PathPrefix,
    pub(crate) module: ModuleName,
    /// Never empty.
    pub(crate) targets: Vec<Arc<Target>>,
    /// Where the search for a target begins, so that equals take turns.
    turn: AtomicUsize,
    /// Requests under way.
    under_way: AtomicUsize,
    ended: Ended,
}

/// Whether what was begun by a route has to end, since the route was withdrawn some time ago.
#[derive(Debug, Default)]
struct Ended {
    is: AtomicBool,
    /// Made only where somebody waits for it: most requests have ended long before.
    token: OnceLock<CancellationToken>,
}

impl Route {
    /// A route, which takes over of the former one at its place what is still true.
    pub(crate) fn new(route: mesh_routes::Route, former: Option<&Self>, workers: usize) -> Self {
        let former = former.filter(|former| former.module == route.module);
        let known = former.map_or(&[][..], |former| &former.targets);
        let take = |spec: mesh_routes::Target| {
            let kept = known.iter().find(|target| *target.spec() == spec);
            kept.cloned().unwrap_or_else(|| Arc::new(Target::new(spec, workers)))
        };
        let mesh_routes::Route { name, path, module, targets, .. } = route;
        Self {
            name,
            path,
            module,
            targets: targets.into_iter().map(take).collect(),
            turn: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            ended: Ended::default(),
        }
    }

    /// Whether it is this one, to the last target.
    pub(crate) fn is(&self, route: &mesh_routes::Route) -> bool {
        self.module == route.module
            && self.targets.len() == route.targets.len()
            && self.targets.iter().zip(&route.targets).all(|(target, spec)| target.spec() == spec)
    }

    /// The target for a request: of those that were not tried, one that is up before one that is not, and the one with
    /// the least to do. None where all were tried.
    pub(crate) fn pick(&self, tried: &[usize]) -> Option<usize> {
        let count = self.targets.len();
        if count == 1 {
            return tried.is_empty().then_some(0);
        }
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let order = (0..count).map(|at| (first.wrapping_add(at)) % count).filter(|at| !tried.contains(at));
        order.min_by_key(|at| {
            let target = &self.targets[*at];
            (target.is_down(), target.load())
        })
    }

    pub(crate) fn begin(&self) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    /// Requests under way.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Ends what was begun by this route.
    pub(crate) fn cut(&self) {
        self.ended.is.store(true, Ordering::SeqCst);
        if let Some(token) = self.ended.token.get() {
            token.cancel();
        }
    }

    /// Cancelled when what was begun by this route has to end.
    pub(crate) fn ended(&self) -> &CancellationToken {
        let token = self.ended.token.get_or_init(CancellationToken::new);
        if self.ended.is.load(Ordering::SeqCst) {
            token.cancel();
        }
        token
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_str())?;
        if self.path.is_root() { Ok(()) } else { f.write_str(self.path.as_str()) }
    }
}
