//! Steps are taken once, through crashes and full disks.

use std::sync::atomic::{AtomicUsize, Ordering};

use mesh_seal::{DigestKey, Expect, SystemRandom, seal};

use super::*;
use crate::escrow::Confirmed;
use crate::fixture::{Machines, key, node, quickstart};
use crate::plan::{Kept, Pins, Reason, plan};
use crate::rules::Wanted;
use crate::store::{Live, MemoryStore, Pinned, RedbStore, Rotations};

const DB: &str = "cellar.notes.db";
const SUPERUSER: &str = "attic.postgres.secret=2Esuperuser";

struct Vault {
    mesh: MeshName,
    signing: SigningKey,
}

impl Vault {
    fn new() -> Self {
        Self { mesh: "home".parse().unwrap(), signing: SigningKey::generate(&mut SystemRandom).unwrap() }
    }

    /// One look: what is wanted against what there is, and the steps taken.
    fn look(&self, wanted: &Wanted, pins: &Pins, store: &dyn Store) -> Result<Vec<MakeError>, StoreError> {
        let steps = plan(wanted, &store.kept()?, pins);
        self.take(&steps, store)
    }

    fn take(&self, steps: &[Step], store: &dyn Store) -> Result<Vec<MakeError>, StoreError> {
        let random = &mut SystemRandom;
        let (mesh, signing, escrow) = (&self.mesh, &self.signing, &BTreeSet::new());
        apply(steps, &mut Maker { mesh, signing, escrow, random }, store)
    }

    fn open(&self, kept: &Kept, text: &str, machines: &Machines, on: &str) -> Secret {
        let CredentialKey { node: of, module, entry } = key(text);
        let (owner, name) = (format!("{of}.{module}"), entry.to_string());
        let expect = Expect { mesh: "home", node: on, owner: &owner, name: &name, at_least_version: 1 };
        let sealed = &kept[&key(text)].last().unwrap().sealed[&node(on)];
        sealed.open(machines.of(on), &self.signing.verifying(), &expect).unwrap()
    }
}

#[test]
fn both_readers_open_the_same_and_nobody_else_anything() {
    let (vault, store) = (Vault::new(), MemoryStore::default());
    let machines = Machines::new(&["attic", "cellar", "shed"]);
    assert!(vault.look(&quickstart(), &machines.pins(), &store).unwrap().is_empty());
    let kept = store.kept().unwrap();

    let [ours, theirs] = ["attic", "cellar"].map(|on| vault.open(&kept, DB, &machines, on));
    assert!(DigestKey::generate(&mut SystemRandom).unwrap().are_same(&ours, &theirs));
    let fields = Fields::decode(&ours).unwrap();
    assert_eq!(
        fields.iter().map(|(field, secret)| (field, secret.len())).collect::<Vec<_>>(),
        [("password", 24)]
    );

    let own = Fields::decode(&vault.open(&kept, SUPERUSER, &machines, "attic")).unwrap();
    assert_eq!(own.iter().map(|(field, secret)| (field, secret.len())).collect::<Vec<_>>(), [("value", 32)]);
    assert_eq!(kept[&key(SUPERUSER)][0].sealed.keys().collect::<Vec<_>>(), [&node("attic")]);
    assert_eq!(kept.len(), 2, "the supplied one waits");
}

#[test]
fn what_is_kept_holds_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.redb");
    let (vault, machines) = (Vault::new(), Machines::new(&["attic", "cellar"]));
    let store = RedbStore::open(&path).unwrap();
    vault.look(&quickstart(), &machines.pins(), &store).unwrap();
    let kept = store.kept().unwrap();
    drop(store);
    let file = std::fs::read(&path).unwrap();
    let printed = format!("{kept:?}");
    for (text, on) in [(SUPERUSER, "attic"), (DB, "cellar")] {
        let fields = Fields::decode(&vault.open(&kept, text, &machines, on)).unwrap();
        let (_, secret) = fields.iter().next().unwrap();
        assert!(!printed.contains(secret.expose_text().unwrap()));
        assert!(!file.windows(16).any(|part| part == &secret.expose()[..16]));
    }
}

#[test]
fn made_once_and_kept_across_any_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.redb");
    let (vault, machines) = (Vault::new(), Machines::new(&["attic", "cellar"]));
    let look = || {
        let store = RedbStore::open(&path).unwrap();
        machines
            .pins()
            .iter()
            .for_each(|(node, key)| assert!(!matches!(store.pin(node, key), Ok(Pinned::Another(_)))));
        vault.look(&quickstart(), &store.pins().unwrap(), &store).unwrap();
        store.kept().unwrap()
    };
    let first = look();
    for _ in 0..3 {
        assert_eq!(look(), first);
    }
}

#[test]
fn a_crash_between_any_two_steps_and_a_rerun_converge() {
    let (vault, machines) = (Vault::new(), Machines::new(&["attic", "cellar"]));
    let steps = plan(&quickstart(), &Kept::new(), &machines.pins());
    for done in 0..=steps.len() {
        let store = MemoryStore::default();
        vault.take(&steps[..done], &store).unwrap();
        let before = store.kept().unwrap();
        vault.look(&quickstart(), &machines.pins(), &store).unwrap();
        let after = store.kept().unwrap();
        assert_eq!(after.keys().collect::<Vec<_>>(), [&key(SUPERUSER), &key(DB)]);
        assert!(before.iter().all(|(key, credentials)| after[key] == *credentials), "made again");
        assert!(after.values().flatten().all(|credential| credential.version == 1));
    }
}

/// A store that fails at its n-th commit, as a full disk would.
struct Failing<'a> {
    inner: &'a MemoryStore,
    left: AtomicUsize,
}

impl Store for Failing<'_> {
    fn pins(&self) -> Result<Pins, StoreError> {
        self.inner.pins()
    }
    fn pin(&self, node: &NodeName, recipient: &Recipient) -> Result<Pinned, StoreError> {
        self.inner.pin(node, recipient)
    }
    fn unpin(&self, node: &NodeName) -> Result<(), StoreError> {
        self.inner.unpin(node)
    }
    fn kept(&self) -> Result<Kept, StoreError> {
        self.inner.kept()
    }
    fn kept_of(&self, key: &CredentialKey) -> Result<Vec<Credential>, StoreError> {
        self.inner.kept_of(key)
    }
    fn live(&self, key: &CredentialKey) -> Result<Live, StoreError> {
        self.inner.live(key)
    }
    fn rotations(&self) -> Result<Rotations, StoreError> {
        self.inner.rotations()
    }
    fn highest(&self, key: &CredentialKey) -> Result<u64, StoreError> {
        self.inner.highest(key)
    }
    fn confirmed(&self) -> Result<Confirmed, StoreError> {
        self.inner.confirmed()
    }
    fn commit(&self, changes: &[Change]) -> Result<(), StoreError> {
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err() {
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(StoreError::File { path: "vault.redb".into(), source });
        }
        self.inner.commit(changes)
    }
}

#[test]
fn a_disk_that_fills_up_in_the_middle() {
    let (vault, machines) = (Vault::new(), Machines::new(&["attic"]));
    let many =
        (0..3 * BATCH).map(|n| (key(&format!("attic.module-{n}.secret=2Eadmin")), crate::fixture::own()));
    let wanted = Wanted { entries: many.collect(), ..Wanted::default() };
    let store = MemoryStore::default();
    let failing = Failing { inner: &store, left: AtomicUsize::new(1) };
    assert!(vault.look(&wanted, &machines.pins(), &failing).is_err());
    let before = store.kept().unwrap();
    assert_eq!(before.len(), BATCH);
    vault.look(&wanted, &machines.pins(), &store).unwrap();
    let after = store.kept().unwrap();
    assert_eq!(after.len(), 3 * BATCH);
    assert!(before.iter().all(|(key, credentials)| after[key] == *credentials));
}

#[test]
fn withdrawn_and_wanted_again_is_another_one() {
    let (vault, store) = (Vault::new(), MemoryStore::default());
    let machines = Machines::new(&["attic", "cellar"]);
    vault.look(&quickstart(), &machines.pins(), &store).unwrap();
    let first = store.kept().unwrap();
    vault.take(&[Step::Drop { key: key(DB), why: Reason::NotWanted }], &store).unwrap();
    vault.look(&quickstart(), &machines.pins(), &store).unwrap();
    let second = store.kept().unwrap();
    assert_eq!(second[&key(SUPERUSER)], first[&key(SUPERUSER)]);
    let [old, new] = [&first, &second].map(|kept| &kept[&key(DB)][0]);
    assert_eq!((old.version, new.version), (1, 2));
    assert_ne!(old.id, new.id);
}

#[test]
fn one_that_cannot_be_made_holds_up_no_other() {
    let (vault, store) = (Vault::new(), MemoryStore::default());
    let mut wanted = quickstart();
    let short = What::Own(Spec { length: 3, alphabet: mesh_seal::Alphabet::Hex });
    wanted.entries.insert(key(SUPERUSER), short);
    let failed = vault.look(&wanted, &Machines::new(&["attic", "cellar"]).pins(), &store).unwrap();
    assert!(matches!(&failed[..], [MakeError::Randomness { key: k, .. }] if *k == key(SUPERUSER)));
    assert_eq!(store.kept().unwrap().keys().collect::<Vec<_>>(), [&key(DB)]);
}

#[test]
fn countersigned_for_its_node_unopened() {
    let (vault, machines) = (Vault::new(), Machines::new(&["cellar"]));
    let random = &mut SystemRandom;
    let (mesh, signing, escrow) = (&vault.mesh, &vault.signing, &BTreeSet::new());
    let mut maker = Maker { mesh, signing, escrow, random };
    let recipient = machines.of("cellar").public();
    let sealed = seal(&recipient, b"hunter2").unwrap();
    let smtp = "cellar.notes.secret=2Esmtp";
    let supplied = Supplied { id: None, recipient, ciphertext: sealed, escrow: BTreeMap::new() };
    let credential = maker.countersign(&key(smtp), supplied, 3).unwrap();
    assert_eq!((credential.version, &credential.origin), (3, &Origin::Supplied));
    let kept = [(key(smtp), vec![credential])].into();
    assert_eq!(vault.open(&kept, smtp, &machines, "cellar").expose(), b"hunter2");
}
