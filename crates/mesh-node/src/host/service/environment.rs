//! What every service finds in its environment: little, and the same on every machine.

use mesh_seal::Secret;

use super::Attempt;
use crate::users;

const STANDARD: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Attempt<'_> {
    /// All of it; the service's own entries come last, and win.
    pub(super) fn environment(&self, user: Option<&users::User>) -> Vec<(String, Secret)> {
        let world = &self.job.world;
        let module = &self.job.module.module;
        let home = user.map_or_else(|| world.layout.module(module), |user| user.home.clone());
        let mut env = vec![
            ("PATH".to_owned(), format!("{}:{STANDARD}", world.programs.display())),
            ("HOME".to_owned(), home.display().to_string()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("MESH_NODE".to_owned(), world.node.clone()),
            ("MESH_MODULE".to_owned(), module.clone()),
            (crate::shim::MARK.to_owned(), self.mark()),
        ];
        env.extend(user_name(user).map(|name| ("USER".to_owned(), name)));
        env.extend(world.timezone.clone().map(|zone| ("TZ".to_owned(), zone)));
        env.retain(|(name, _)| self.spec.env.iter().all(|(own, _)| own != name));
        let own = self.spec.env.iter().cloned();
        env.into_iter().map(|(name, value)| (name, Secret::from(value))).chain(own).collect()
    }
}

fn user_name(user: Option<&users::User>) -> Option<String> {
    match user {
        Some(user) => Some(user.name.clone()),
        None => users::by_number(rustix::process::geteuid().as_raw()).map(|user| user.name),
    }
}
