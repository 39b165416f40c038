//! The table: every name that is served, and nothing else. It never changes; another one takes its place in one step.
//!
//! A request holds the route that it was found by, so it ends as it began whatever the table is by then. What outlives a
//! table is taken over into the next: a route that is the same stays the same, with its counts, the connections to its
//! targets, and what is known of their health.

use std::collections::HashMap;
use std::sync::Arc;

use mesh_model::name::ModuleName;
use mesh_routes::{Holder, HostName, PathPrefix, Routes, path};

use crate::route::Route;

/// Every name that is served.
#[derive(Debug, Default)]
pub(crate) struct Table {
    sites: HashMap<HostName, Site>,
    routes: usize,
    /// False for the one that there is before any file was read.
    is_known: bool,
}

/// What is served under one name.
#[derive(Debug)]
pub(crate) struct Site {
    /// The longest path first.
    routes: Vec<Arc<Route>>,
}

/// Why nothing is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is not known yet what is served.
    Table,
    /// The name is not served.
    Name,
    /// The name is, and not this path.
    Path,
    /// The path can be read in two ways, and they may lead to two routes.
    Ambiguous,
}

/// What a new table came to.
pub(crate) struct Replaced {
    pub(crate) table: Table,
    /// Routes that are in the former table alone.
    pub(crate) withdrawn: Vec<Arc<Route>>,
}

impl Table {
    /// The table of these routes, which takes over what the former one has of them.
    pub(crate) fn build(routes: Routes, before: &Self, workers: usize) -> Replaced {
        let count = routes.routes.len();
        let mut sites: HashMap<HostName, Site> = HashMap::with_capacity(count);
        let mut kept = 0;
        for route in routes.routes {
            let former = before.exactly(&route.name, &route.path);
            let name = route.name.clone();
            let live = match former {
                Some(former) if former.is(&route) => {
                    kept += 1;
                    former.clone()
                }
                _ => Arc::new(Route::new(route, former.map(AsRef::as_ref), workers)),
            };
            sites.entry(name).or_insert_with(|| Site { routes: Vec::with_capacity(1) }).routes.push(live);
        }
        for site in sites.values_mut().filter(|site| site.routes.len() > 1) {
            site.routes
                .sort_by(|a, b| b.path.as_str().len().cmp(&a.path.as_str().len()).then(a.path.cmp(&b.path)));
        }
        let table = Self { sites, routes: count, is_known: true };
        let withdrawn = if kept == before.routes { Vec::new() } else { before.not_in(&table) };
        Replaced { table, withdrawn }
    }

    /// The route that a request goes by.
    pub(crate) fn find(&self, host: &str, path: &str) -> Result<&Arc<Route>, Missing> {
        let nothing = if self.is_known { Missing::Name } else { Missing::Table };
        let site = self.sites.get(host).ok_or(nothing)?;
        if let [route] = &site.routes[..]
            && route.path.is_root()
        {
            return Ok(route);
        }
        if path::is_ambiguous(path) {
            return Err(Missing::Ambiguous);
        }
        site.routes.iter().find(|route| route.path.covers(path)).ok_or(Missing::Path)
    }

    /// The routes under one name.
    pub(crate) fn site(&self, host: &str) -> &[Arc<Route>] {
        self.sites.get(host).map_or(&[], |site| &site.routes)
    }

    /// All names, in order, at most so many.
    pub(crate) fn names(&self, most: usize) -> Vec<&HostName> {
        let mut names: Vec<&HostName> = self.sites.keys().collect();
        if names.len() > most && most > 0 {
            names.select_nth_unstable(most - 1);
            names.truncate(most);
        }
        names.sort_unstable();
        names
    }

    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.sites.len()
    }

    /// All routes.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &Arc<Route>> {
        self.sites.values().flat_map(|site| &site.routes)
    }

    fn exactly(&self, name: &HostName, path: &PathPrefix) -> Option<&Arc<Route>> {
        self.sites.get(name)?.routes.iter().find(|route| route.path == *path)
    }

    fn not_in(&self, other: &Self) -> Vec<Arc<Route>> {
        let is_there = |route: &&Arc<Route>| {
            other.exactly(&route.name, &route.path).is_some_and(|there| Arc::ptr_eq(there, route))
        };
        self.routes().filter(|route| !is_there(route)).cloned().collect()
    }
}

impl Holder for Table {
    fn holder(&self, name: &HostName, path: &PathPrefix) -> Option<&ModuleName> {
        self.exactly(name, path).map(|route| &route.module)
    }
}
