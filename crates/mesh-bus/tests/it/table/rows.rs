//! What each account of the scene may do, written out: all of it, and nothing else.
//!
//! It is not made from the code's own table, which it is there to check.

/// `write` is to put and to delete, `get` to get by name, `watch` to have a consumer of the name that stands last (seats:
/// of any), `whole` to read all of a bucket, `newest` to ask the leader of its stream, `fence` to set the mark that a seat's
/// writes hang from, `ask` a verb (as the account says it, and as `BUS` hears it).
const TABLE: &str = "
attic
  write mesh-provisioner_needs        attic.>
  write mesh-provisioner_applied      attic.>
  write mesh-provisioner_collect      attic.>
  write postgres_bound                >
  get   mesh-provisioner_registry     >
  watch mesh-provisioner_registry     >                              attic-read
  get   mesh-provisioner_needs        attic.>
  watch mesh-provisioner_needs        attic.>                        attic-read
  get   mesh-provisioner_applied      attic.>
  watch mesh-provisioner_applied      attic.>                        attic-read
  get   mesh-provisioner_collect      attic.>
  watch mesh-provisioner_collect      attic.>                        attic-read
  get   mesh-controller_assignments   attic.>
  watch mesh-controller_assignments   attic.>                        attic-read
  get   mesh-controller_config        attic.>
  watch mesh-controller_config        attic.>                        attic-read
  get   mesh-vault_credentials        attic.>
  watch mesh-vault_credentials        attic.>                        attic-read
  get   mesh-provisioner_collect      *.contribution=3Apostgres-database.*
  watch mesh-provisioner_collect      *.contribution=3Apostgres-database.*  attic-consumers=postgres=2Ddatabase
  get   mesh-controller_files         FILE-OF-ATTIC.*
  get   mesh-seats                    >
  watch mesh-seats                    >                              attic-read
  ask   mesh-controller.enroll.attic  mesh-controller.enroll.attic
  ask   mesh-controller.facts.attic   mesh-controller.facts.attic
  ask   mesh-vault.consumers.attic    mesh-vault.consumers.attic
  ask   mesh-vault.pin.attic          mesh-vault.pin.attic
  ask   mesh-vault.secret.attic       mesh-vault.secret.attic
cellar
  write mesh-provisioner_needs        cellar.>
  write mesh-provisioner_applied      cellar.>
  write mesh-provisioner_collect      cellar.>
  write proxy_bound                   attic.notes.route.web
  get   mesh-provisioner_registry     >
  watch mesh-provisioner_registry     >                              cellar-read
  get   mesh-provisioner_needs        cellar.>
  watch mesh-provisioner_needs        cellar.>                       cellar-read
  get   mesh-provisioner_applied      cellar.>
  watch mesh-provisioner_applied      cellar.>                       cellar-read
  get   mesh-provisioner_collect      cellar.>
  watch mesh-provisioner_collect      cellar.>                       cellar-read
  get   mesh-controller_assignments   cellar.>
  watch mesh-controller_assignments   cellar.>                       cellar-read
  get   mesh-controller_config        cellar.>
  watch mesh-controller_config        cellar.>                       cellar-read
  get   mesh-vault_credentials        cellar.>
  watch mesh-vault_credentials        cellar.>                       cellar-read
  get   postgres_bound                cellar.>
  watch postgres_bound                cellar.>                       cellar-read
  get   mesh-provisioner_collect      *.contribution=3Aroute.*
  watch mesh-provisioner_collect      *.contribution=3Aroute.*       cellar-consumers=route
  get   mesh-seats                    >
  watch mesh-seats                    >                              cellar-read
  ask   mesh-controller.enroll.cellar mesh-controller.enroll.cellar
  ask   mesh-controller.facts.cellar  mesh-controller.facts.cellar
  ask   mesh-vault.consumers.cellar   mesh-vault.consumers.cellar
  ask   mesh-vault.pin.cellar         mesh-vault.pin.cellar
  ask   mesh-vault.secret.cellar      mesh-vault.secret.cellar
module=cellar=proxy
  write proxy_bound                   attic.notes.route.web
  write mesh-seats                    proxy-leader
  get   mesh-seats                    proxy-leader
  get   mesh-provisioner_needs        attic.notes.bound.web
operator=ada
  get   mesh-provisioner_registry     >
  whole mesh-provisioner_registry     >
  get   mesh-provisioner_needs        >
  whole mesh-provisioner_needs        >
  get   mesh-provisioner_applied      >
  whole mesh-provisioner_applied      >
  get   mesh-provisioner_collect      >
  whole mesh-provisioner_collect      >
  get   mesh-controller_assignments   >
  whole mesh-controller_assignments   >
  get   mesh-controller_config        >
  whole mesh-controller_config        >
  get   mesh-controller_plan          >
  whole mesh-controller_plan          >
  get   mesh-vault_credentials        >
  whole mesh-vault_credentials        >
  get   mesh-seats                    >
  whole mesh-seats                    >
  get   postgres_bound                >
  whole postgres_bound                >
  get   proxy_bound                   >
  whole proxy_bound                   >
  ask   mesh-controller.apply         mesh-controller.apply.operator=ada
  ask   mesh-controller.invite        mesh-controller.invite.operator=ada
  ask   mesh-controller.plan          mesh-controller.plan.operator=ada
  ask   mesh-controller.status        mesh-controller.status.operator=ada
  ask   mesh-controller.upload        mesh-controller.upload.operator=ada
  ask   mesh-provisioner.provisioning mesh-provisioner.provisioning.operator=ada
  ask   mesh-vault.escrow             mesh-vault.escrow.operator=ada
  ask   mesh-vault.escrowed           mesh-vault.escrowed.operator=ada
  ask   mesh-vault.list               mesh-vault.list.operator=ada
  ask   mesh-vault.put                mesh-vault.put.operator=ada
  ask   mesh-vault.recipients         mesh-vault.recipients.operator=ada
  ask   mesh-vault.rotate             mesh-vault.rotate.operator=ada
  ask   $SRV.PING                     $SRV.PING
  ask   $SRV.INFO                     $SRV.INFO
  ask   $SRV.STATS                    $SRV.STATS
  ask   $SRV.PING.mesh-vault          $SRV.PING.mesh-vault
invited=loft
  ask   mesh-controller.join.invited=loft  mesh-controller.join.invited=loft
invited=operator=bob
  ask   mesh-controller.join.invited=operator=bob  mesh-controller.join.invited=operator=bob
seat=mesh-vault
  write mesh-vault_credentials        >
  fence mesh-vault_credentials        >
  write mesh-seats                    mesh-vault
  get   mesh-controller_assignments   >
  watch mesh-controller_assignments   >                              *
  newest mesh-controller_assignments >
  get   mesh-provisioner_applied      >
  watch mesh-provisioner_applied      >                              *
  newest mesh-provisioner_applied    >
  get   mesh-vault_credentials        >
  watch mesh-vault_credentials        >                              *
  newest mesh-vault_credentials      >
  get   mesh-seats                    >
  watch mesh-seats                    >                              *
  newest mesh-seats                  >
  get   mesh-controller_plan          current
  watch mesh-controller_plan          current                        *
  newest mesh-controller_plan        >
seat=mesh-provisioner
  write mesh-provisioner_registry     >
  fence mesh-provisioner_registry     >
  write mesh-seats                    mesh-provisioner
  get   mesh-provisioner_needs        >
  watch mesh-provisioner_needs        >                              *
  newest mesh-provisioner_needs      >
  get   mesh-provisioner_applied      >
  watch mesh-provisioner_applied      >                              *
  newest mesh-provisioner_applied    >
  get   mesh-provisioner_collect      >
  watch mesh-provisioner_collect      >                              *
  newest mesh-provisioner_collect    >
  get   mesh-provisioner_registry     >
  watch mesh-provisioner_registry     >                              *
  newest mesh-provisioner_registry   >
  get   mesh-seats                    >
  watch mesh-seats                    >                              *
  newest mesh-seats                  >
seat=mesh-server
  ask   mesh-vault.confirm-escrow.seat=mesh-server  mesh-vault.confirm-escrow.seat=mesh-server
";

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) what: String,
    /// The bucket, or the verb as the account says it.
    pub(crate) bucket: String,
    /// The keys, or the verb as `BUS` hears it.
    pub(crate) keys: String,
    /// What a consumer is called.
    pub(crate) consumer: Option<String>,
}

/// The rows of every account, `FILE-OF-ATTIC` filled in.
pub(crate) fn table(file: &str) -> Vec<(String, Vec<Row>)> {
    let mut accounts: Vec<(String, Vec<Row>)> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [account] => accounts.push((account.to_owned(), Vec::new())),
            [what, bucket, keys, ref consumer @ ..] => {
                let row = Row {
                    what: what.to_owned(),
                    bucket: bucket.to_owned(),
                    keys: keys.replace("FILE-OF-ATTIC", file),
                    consumer: consumer.first().map(|name| (*name).to_owned()),
                };
                accounts.last_mut().unwrap().1.push(row);
            }
            _ => panic!("{line}"),
        }
    }
    accounts
}

/// Whether a right to some keys is one to a key, or to the keys that fit another filter.
pub(crate) fn covers(keys: &str, key: &str) -> bool {
    let (mut keys, mut key) = (keys.split('.'), key.split('.'));
    loop {
        match (keys.next(), key.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some("*"), Some(word)) if word != ">" => {}
            (Some(granted), Some(word)) if granted == word => {}
            _ => return false,
        }
    }
}
