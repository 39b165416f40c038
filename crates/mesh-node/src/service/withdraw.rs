//! Taking back what is no longer assigned: services first, then files, then what was told of it, `applied` last.
//!
//! What a module keeps in its folders stays: data is dropped by explicit word alone.

use std::collections::{BTreeMap, BTreeSet};

use mesh_bus::Bucket;
use mesh_model::key::{CollectKey, ModuleKey, NeedKey};
use mesh_model::name::ModuleName;
use mesh_model::wire::Assignment;
use serde_json::json;

use super::desk::Desk;
use crate::client::pass::{APPLIED, COLLECT, NEEDS};
use crate::client::report;
use crate::client::resolve::said;
use crate::client::world::World;
use crate::files;

impl Desk {
    /// Takes back every module that this node has and is not assigned, and what assigned ones no longer say.
    pub(super) async fn withdraw(&mut self, assigned: &BTreeMap<ModuleName, Assignment>) {
        for name in self.present() {
            if !assigned.contains_key(&name) && !self.unread.contains_key(&name) {
                self.take_back(&name).await;
            }
        }
        self.prune(assigned).await;
    }

    /// Every module that this node has anything of: in memory, on the bus, or running.
    fn present(&self) -> BTreeSet<ModuleName> {
        let told = self.bus.of_node(&Bucket::applied());
        let told = told.keys().filter_map(|key| key.parse::<ModuleKey>().ok()).map(|key| key.module);
        let placed = self.layout().modules().into_iter().filter_map(|name| name.parse().ok());
        self.modules.keys().cloned().chain(told).chain(placed).collect()
    }

    async fn take_back(&mut self, name: &ModuleName) {
        let key = ModuleKey { node: self.config.node.clone(), module: name.clone() };
        let now = (self.config.now)();
        self.shelf.forget(name);
        if self.modules.remove(name).is_some() || self.state(name).is_some() {
            let record = report::withdrawn(&key, self.told(&key).as_ref(), now);
            self.say(self.bus.put(APPLIED, &key.to_string(), json!(record)).await, name);
            self.host.set(name.as_str(), None);
        }
        if self.state(name).is_some() {
            // The host wakes the loop when the last service has ended, and this is looked at again.
            return;
        }
        let folder = self.layout().module(name.as_str());
        if let Err(error) = files::replace(&folder, &self.layout().ledger(name.as_str()), &[]) {
            tracing::warn!(module = %name, why = said(&error), "its files could not be taken back");
            return;
        }
        if let Err(error) = self.layout().forget(name.as_str()) {
            tracing::warn!(module = %name, %error, "its record could not be removed");
        }
        self.say(self.bus.delete(APPLIED, &key.to_string()).await, name);
    }

    /// Deletes the needs and contributions of modules that are not assigned, and those that assigned ones no longer have.
    async fn prune(&self, assigned: &BTreeMap<ModuleName, Assignment>) {
        let collected: BTreeSet<CollectKey> =
            assigned.values().flat_map(|assignment| report::collect(assignment).into_keys()).collect();
        for key in self.bus.of_node(&Bucket::collect()).keys() {
            let stays =
                |key: CollectKey| collected.contains(&key) || self.unread.contains_key(&key.contributor);
            if !key.parse().is_ok_and(stays) {
                self.say(self.bus.delete(COLLECT, key).await, &self.config.node);
            }
        }
        for key in self.bus.of_node(&Bucket::needs()).keys() {
            let stays =
                |key: NeedKey| assigned.contains_key(&key.module) || self.unread.contains_key(&key.module);
            if !key.parse().is_ok_and(stays) {
                self.say(self.bus.delete(NEEDS, key).await, &self.config.node);
            }
        }
    }

    fn say(&self, outcome: Result<(), String>, whose: &dyn std::fmt::Display) {
        if let Err(why) = outcome {
            tracing::warn!(%whose, why, "what is taken back could not be told");
        }
    }
}
