//! A server is played here by applying each step to what was observed, so that whole stories can be told without one.

use mesh_provider::Consumers;
use mesh_seal::Secret;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn file(consumers: &[Value]) -> Consumers {
    let provider = json!({"node":"attic","module":"postgres"});
    let file = json!({"v":1,"provision":"postgres-database","provider":provider,"consumers":consumers});
    Consumers::parse("consumers.json".as_ref(), file.to_string().as_bytes()).unwrap()
}

fn consumer(module: &str, node: &str, database: &str, credentials: &[(&str, &str)]) -> Value {
    let credentials: Vec<_> =
        credentials.iter().map(|(id, password)| json!({"id":id,"secrets":{"password":password}})).collect();
    json!({"node":node,"module":module,"local":"db","machine":{"name":node},
           "contribution":{"name":database},"revision":"1","credentials":credentials})
}

struct Played {
    observed: Observed,
    verifiers: Verifiers,
}

impl Played {
    /// As after `initdb`.
    fn new() -> Self {
        let mut observed = Observed::default();
        for name in ["postgres", "template0", "template1"] {
            let owner = RoleName::observed("postgres".to_owned());
            let database = Database { owner, open: name != "template0", marker: None };
            observed.databases.insert(DatabaseName::observed(name.to_owned()), database);
        }
        let postgres =
            Role { can_log_in: true, ordinary: false, verifier: None, marker: None, acts_as: None };
        observed.roles.insert(RoleName::observed("postgres".to_owned()), postgres);
        Self { observed, verifiers: Verifiers::new(&Secret::from("superuser".to_owned())) }
    }

    fn plan(&mut self, consumers: &[Value]) -> Plan {
        let file = file(consumers);
        plan(&Desired::of(&file), &self.observed, &Maker::of(&file), &mut self.verifiers)
    }

    /// Plans and does the first `limit` steps.
    fn pass(&mut self, consumers: &[Value], limit: usize) -> Plan {
        let maker = Maker::of(&file(consumers));
        let plan = self.plan(consumers);
        let steps = (plan.shared.iter())
            .chain(plan.locks.iter().flat_map(|(_, steps)| steps))
            .chain(plan.roles.iter().flat_map(|(_, steps)| steps))
            .chain(plan.databases.iter().flat_map(|(_, steps)| steps));
        let done: Vec<_> = steps.take(limit).cloned().collect();
        let all = done.len() < limit;
        for step in done {
            self.play(step, &maker);
        }
        for role in plan.drop.iter().filter(|_| all) {
            self.observed.roles.remove(role);
        }
        plan
    }

    fn play(&mut self, step: Step, maker: &Maker) {
        let observed = &mut self.observed;
        match step {
            Step::Lock { role } => observed.roles.get_mut(&role).unwrap().can_log_in = false,
            Step::MakeGroup { role, comment } => {
                let marker = maker.read(Some(&comment));
                let made = Role { can_log_in: false, ordinary: true, verifier: None, marker, acts_as: None };
                assert!(observed.roles.insert(role, made).is_none());
            }
            Step::SettleGroup { role } => {
                let role = observed.roles.get_mut(&role).unwrap();
                (role.can_log_in, role.ordinary, role.verifier) = (false, true, None);
            }
            Step::MakeLogin { role, group, verifier, comment } => {
                assert!(observed.roles.contains_key(&group));
                let marker = maker.read(Some(&comment));
                let verifier = Some(self.verifiers.digest(verifier.expose()));
                let made = Role { can_log_in: true, ordinary: true, verifier, marker, acts_as: None };
                assert!(observed.roles.insert(role.clone(), made).is_none());
                observed.memberships.entry(role).or_default().insert(group);
            }
            Step::SettleLogin { role, verifier } => {
                let role = observed.roles.get_mut(&role).unwrap();
                (role.can_log_in, role.ordinary) = (true, true);
                if let Some(verifier) = verifier {
                    role.verifier = Some(self.verifiers.digest(verifier.expose()));
                }
            }
            Step::Join { role, group } => drop(observed.memberships.entry(role).or_default().insert(group)),
            Step::Leave { role, group } => drop(observed.memberships.entry(role).or_default().remove(&group)),
            Step::ActAs { role, group } => {
                observed.roles.get_mut(&role).unwrap().acts_as = Some(group.as_str().to_owned());
            }
            Step::MakeDatabase { database, group } => {
                let made = Database { owner: group, open: true, marker: None };
                assert!(observed.databases.insert(database, made).is_none());
            }
            Step::FinishDatabase { database, comment } => {
                let database = observed.databases.get_mut(&database).unwrap();
                (database.open, database.marker) = (false, maker.read(Some(&comment)));
            }
            Step::CloseDatabase { database } => observed.databases.get_mut(&database).unwrap().open = false,
        }
    }

    fn role(&mut self, name: &str) -> &mut Role {
        self.observed.roles.get_mut(&RoleName::observed(name.to_owned())).unwrap()
    }

    fn refusal(&mut self, consumers: &[Value], database: &str) -> String {
        let plan = self.plan(consumers);
        plan.refused_databases[&DatabaseName::observed(database.to_owned())].clone()
    }
}

const ALL: usize = usize::MAX;

#[test]
fn a_second_pass_has_nothing_to_do() {
    let mut server = Played::new();
    let file = [
        consumer("notes", "attic", "notes", &[("a1", "p")]),
        consumer("notes", "cellar", "notes", &[("b1", "q"), ("b2", "r")]),
        consumer("wiki", "cellar", "wiki", &[("c1", "s")]),
    ];
    server.pass(&file, ALL);
    assert_eq!(server.plan(&file), Plan::default());
    assert_eq!(server.observed.databases.len(), 5);
    assert_eq!(server.role("notes_cellar_db_b2").acts_as.as_deref(), Some("notes:notes"));
}

#[test]
fn what_differs_is_set_again_and_nothing_else() {
    let mut server = Played::new();
    let file = [consumer("notes", "attic", "notes", &[("a1", "p")])];
    server.pass(&file, ALL);
    let role = server.role("notes_attic_db_a1");
    (role.verifier, role.ordinary, role.acts_as) = (None, false, None);
    let steps: Vec<_> = server.plan(&file).roles.into_iter().flat_map(|(_, steps)| steps).collect();
    assert!(
        matches!(&steps[..], [Step::SettleLogin { verifier: Some(_), .. }, Step::ActAs { .. }]),
        "{steps:?}"
    );
}

#[test]
fn a_name_taken_by_what_we_did_not_make_is_refused_and_never_in_a_step() {
    let mut server = Played::new();
    let file = [consumer("notes", "attic", "postgres", &[("a1", "p")])];
    assert_eq!(
        server.refusal(&file, "postgres"),
        "the name is taken by a database that this provisioner did not make: `postgres`"
    );
    let plan = server.plan(&file);
    assert!(plan.roles.is_empty() && plan.databases.is_empty());
    let file = [consumer("notes", "attic", "notes", &[("a1", "p")])];
    server.pass(&file, ALL);
    server.role("notes_attic_db_a1").marker = None;
    let plan = server.plan(&file);
    assert!(plan.roles.is_empty() && plan.drop.is_empty() && plan.locks.is_empty());
    assert_eq!(plan.refused_roles.len(), 1);
}

#[test]
fn a_name_that_keeps_another_modules_data_is_refused_by_its_former_owners_name() {
    let mut server = Played::new();
    server.pass(&[consumer("shop", "attic", "orders", &[("a1", "p")])], ALL);
    let other = [consumer("thief", "attic", "orders", &[("b1", "p")])];
    let plan = server.pass(&other, ALL);
    assert_eq!(plan.drop, [RoleName::observed("shop_attic_db_a1".to_owned())]);
    assert!(server.refusal(&other, "orders").contains("of module `shop`"));
    let back = [consumer("shop", "cellar", "orders", &[("c1", "p")])];
    assert!(server.plan(&back).refused_databases.is_empty(), "the module itself gets its data back");
}

#[test]
fn a_comment_that_an_owner_wrote_on_its_database_gives_it_to_nobody() {
    let mut server = Played::new();
    server.pass(&[consumer("shop", "attic", "orders", &[("a1", "p")])], ALL);
    let database = DatabaseName::observed("orders".to_owned());
    let marker = Marker::Database { module: "thief".parse().unwrap() };
    server.observed.databases.get_mut(&database).unwrap().marker = Some(marker);
    let other = [consumer("thief", "attic", "orders", &[("b1", "p")])];
    assert!(server.refusal(&other, "orders").contains("of module `shop`"));
}

#[test]
fn another_name_moves_the_login_and_ends_its_sessions() {
    let mut server = Played::new();
    server.pass(&[consumer("notes", "attic", "one", &[("a1", "p")])], ALL);
    let moved = [consumer("notes", "attic", "two", &[("a1", "p")])];
    let plan = server.pass(&moved, ALL);
    assert_eq!(plan.moved.len(), 1);
    let role = RoleName::observed("notes_attic_db_a1".to_owned());
    let groups: Vec<_> = server.observed.memberships[&role].iter().map(RoleName::as_str).collect();
    assert_eq!(groups, ["notes:two"]);
}

#[test]
fn a_consumer_without_a_usable_credential_or_name_fails_alone() {
    let mut nameless = consumer("a", "attic", "x", &[("a1", "p")]);
    nameless["contribution"] = json!({"name": 7});
    let broken = [
        nameless,
        consumer("b", "attic", "b", &[]),
        consumer("c", "attic", "notes", &[("a1", "p")]),
        consumer("d", "attic", &"x".repeat(64), &[("a1", "p")]),
    ];
    let mut all = vec![consumer("notes", "attic", "notes", &[("a1", "p")])];
    all.extend(broken);
    let desired = Desired::of(&file(&all));
    let why: Vec<_> = desired.consumers.iter().filter_map(|c| c.access.as_ref().err()).collect();
    assert_eq!(
        why,
        [
            "the `name` it contributes is not text",
            "no credential was delivered for it",
            "the name `notes` is taken by module `notes`",
            "the name of the database has 64 bytes, and PostgreSQL keeps 63",
        ]
    );
    let mut server = Played::new();
    server.pass(&all, ALL);
    assert_eq!(server.role("notes_attic_db_a1").acts_as.as_deref(), Some("notes:notes"));
}

fn some_consumers() -> impl Strategy<Value = Vec<Value>> {
    let one = ("[ab]", "[xy]", "[mno]", proptest::collection::btree_set("[1-3]", 1..3));
    proptest::collection::vec(one, 0..5).prop_map(|all| {
        let mut seen = BTreeSet::new();
        all.iter()
            .filter(|(module, node, ..)| seen.insert((module.clone(), node.clone())))
            .map(|(module, node, database, ids)| {
                let ids: Vec<_> = ids.iter().map(|id| (id.as_str(), "p")).collect();
                consumer(module, node, database, &ids)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_crash_at_any_step_then_another_pass_ends_where_none_would_have(
        before in some_consumers(), after in some_consumers(), crash in 0_usize..12,
    ) {
        let mut smooth = Played::new();
        smooth.pass(&before, ALL);
        smooth.pass(&after, ALL);
        let mut crashed = Played::new();
        crashed.pass(&before, ALL);
        crashed.pass(&after, crash);
        crashed.pass(&after, ALL);
        let may_log_in = |server: &Played| -> Vec<_> {
            let roles = server.observed.roles.iter();
            roles.map(|(name, role)| (name.clone(), role.can_log_in, role.acts_as.clone())).collect()
        };
        prop_assert_eq!(may_log_in(&smooth), may_log_in(&crashed));
        let again = crashed.plan(&after);
        prop_assert!(again.roles.is_empty() && again.databases.is_empty() && again.drop.is_empty());
        prop_assert!(crashed.observed.databases.values().all(|database| !database.open));
    }
}
