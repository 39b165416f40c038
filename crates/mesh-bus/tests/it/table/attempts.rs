//! All that anybody could think of trying, each with what has to come of it: every bucket, every key, every way.

use mesh_bus::account::Account;
use serde_json::{Value, json};

use crate::table::rows::{Row, covers};
use crate::table::scene::{KEYS, Scene, consumer_of};

/// What has to come of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expect {
    /// It is refused at once, and nothing has changed.
    Refused,
    /// Nothing comes of it.
    Nothing,
    /// It is answered.
    Answered,
    /// A verb is heard on this subject.
    Heard(String),
}

/// One question.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) subject: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) expect: Expect,
    /// The row that allows it.
    pub(crate) row: Option<Row>,
}

/// Who tries, and what it may.
pub(crate) struct Tries<'a> {
    pub(crate) account: &'a Account,
    pub(crate) rows: &'a [Row],
    /// A file of attic's.
    pub(crate) file: &'a str,
    out: Vec<Attempt>,
}

/// All attempts of one account.
pub(crate) fn all(account: &Account, rows: &[Row], file: &str) -> Vec<Attempt> {
    let mut tries = Tries { account, rows, file, out: Vec::new() };
    for bucket in Scene::buckets() {
        tries.keys(bucket.name());
        tries.whole(bucket.name());
        tries.consumers(bucket.name());
        tries.streams(bucket.name());
    }
    tries.verbs();
    tries.system();
    tries.out
}

impl Tries<'_> {
    /// What there is, what there is not, and what fits many.
    fn all_keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = KEYS.iter().map(|key| (*key).to_owned()).collect();
        for node in ["attic", "cellar", "loft", "nobody", "*", "module=cellar=proxy", "operator=ada"] {
            keys.extend(
                ["new", "*", ">", "notes.*", "notes.>", "*.route.web", "contribution=3Aroute.*"]
                    .map(|rest| format!("{node}.{rest}")),
            );
        }
        keys.extend([">", "*", "*.*", "*.>", "attic"].map(str::to_owned));
        keys.push(format!("{}.0", self.file));
        keys.push(format!("{}.*", self.file));
        keys
    }

    fn row(&self, what: &str, bucket: &str, key: &str) -> Option<Row> {
        let fits = |row: &&Row| row.what == what && row.bucket == bucket && covers(&row.keys, key);
        self.rows.iter().find(fits).cloned()
    }

    fn add(&mut self, row: Option<Row>, subject: String, headers: Vec<(&'static str, String)>, body: &str) {
        let expect = if row.is_some() { Expect::Answered } else { Expect::Refused };
        self.out.push(Attempt { subject, headers, body: body.to_owned(), expect, row });
    }

    fn refused(&mut self, subject: String, body: &str) {
        self.add(None, subject, Vec::new(), body);
    }

    /// A call of the account's own JetStream, which it does not have: of these the server says nothing. The users of `BUS`
    /// share one that answers.
    fn nothing(&mut self, subject: String) {
        let expect = if self.account.is_apart() { Expect::Nothing } else { Expect::Refused };
        let (headers, body) = (vec![], String::new());
        self.out.push(Attempt { subject, headers, body, expect, row: None });
    }

    fn keys(&mut self, bucket: &str) {
        for key in self.all_keys() {
            let (put, get) = (self.row("write", bucket, &key), self.row("get", bucket, &key));
            let subject = format!("$KV.{bucket}.{key}");
            self.add(put.clone(), subject.clone(), vec![], "tried");
            self.add(put, subject.clone(), vec![("KV-Operation", "DEL".to_owned())], "");
            // Each of these reaches beyond the one key, so nobody may: not with a key of their own either.
            let victim = || "$KV.mesh-provisioner_registry.secret".to_owned();
            for headers in [
                vec![("Nats-Rollup", "all".to_owned())],
                vec![("Nats-Rollup", "sub".to_owned())],
                vec![("KV-Operation", "PURGE".to_owned()), ("Nats-Rollup", "sub".to_owned())],
                vec![("Nats-TTL", "1s".to_owned())],
                vec![("Nats-Incr", "1".to_owned())],
                vec![
                    ("Nats-Schedule", "@at 2020-01-01T00:00:00Z".to_owned()),
                    ("Nats-Schedule-Target", victim()),
                ],
                vec![("Nats-Expected-Stream", "KV_elsewhere".to_owned())],
            ] {
                self.add(None, subject.clone(), headers, "tried");
            }
            // Who writes all of a bucket may write many keys as one.
            if self.row("fence", bucket, ">").is_none() {
                let batch = vec![("Nats-Batch-Id", "b".to_owned()), ("Nats-Batch-Sequence", "1".to_owned())];
                self.add(None, subject.clone(), batch, "tried");
            }
            let direct = format!("DIRECT.GET.KV_{bucket}.{subject}");
            self.add(get, format!("$JS.API.{direct}"), vec![], "");
            self.refused(format!("bus.API.{direct}"), "");
        }
    }

    /// The whole of a bucket, with no key in the subject.
    fn whole(&mut self, bucket: &str) {
        let (row, newest) = (self.row("whole", bucket, ">"), self.row("newest", bucket, ">"));
        let all = format!("$KV.{bucket}.>");
        for body in [
            json!({"seq": 1}),
            json!({"seq": 1, "batch": 10}),
            json!({"last_by_subj": all}),
            json!({"seq": 1, "batch": 10, "next_by_subj": all}),
            json!({"multi_last": [all], "batch": 10}),
        ] {
            self.add(row.clone(), format!("$JS.API.DIRECT.GET.KV_{bucket}"), vec![], &body.to_string());
            self.refused(format!("bus.API.DIRECT.GET.KV_{bucket}"), &body.to_string());
            self.refused(format!("bus.API.STREAM.MSG.GET.KV_{bucket}"), &body.to_string());
        }
        for body in [json!({"last_by_subj": all}), json!({"seq": 1, "next_by_subj": all})] {
            self.add(
                newest.clone(),
                format!("$JS.API.STREAM.MSG.GET.KV_{bucket}"),
                vec![],
                &body.to_string(),
            );
        }
        let fence = self.row("fence", bucket, ">");
        let is_fenced = bucket != "mesh-seats";
        for what in ["mark", "mesh-controller", "attic.notes"] {
            self.add(
                fence.clone().filter(|_| is_fenced),
                format!("mesh-fence.{bucket}.{what}"),
                vec![],
                "{}",
            );
        }
    }

    fn consumers(&mut self, bucket: &str) {
        let names = [
            "attic-read",
            "attic-consumers=postgres=2Ddatabase",
            "attic-consumers=route",
            "cellar-read",
            "cellar-consumers=route",
            "operator=ada-read",
            "module=cellar=proxy-read",
            "seat=mesh-vault-read",
            "seat=mesh-provisioner-read",
            "seat=mesh-controller-read",
            "new",
            "*",
        ];
        let filters = [
            "attic.>",
            "cellar.>",
            "loft.>",
            ">",
            "*.>",
            "*",
            "attic.notes",
            "cellar.notes",
            "*.contribution=3Aroute.*",
            "*.contribution=3Apostgres-database.*",
            "current",
            "proxy-leader",
        ];
        let mine = |name: &str, row: &&Row| {
            let named = row.consumer.as_deref();
            // No consumer can be called `*`.
            row.what == "watch"
                && row.bucket == bucket
                && name != "*"
                && (named == Some(name) || named == Some("*"))
        };
        for name in names {
            let row = self.rows.iter().find(|row| mine(name, row)).cloned();
            for api in ["$JS.API", "bus.API"] {
                let granted = row.clone().filter(|_| api == self.api());
                for filter in filters {
                    let (call, body) = consumer_of(bucket, name, filter);
                    let fits = granted.clone().filter(|row| covers(&row.keys, filter));
                    self.add(fits, format!("{api}.{call}"), vec![], &body);
                }
                let create = json!({"stream_name": format!("KV_{bucket}"), "config": {"name": name, "durable_name": name}});
                for call in ["CREATE", "DURABLE.CREATE"] {
                    self.refused(format!("{api}.CONSUMER.{call}.KV_{bucket}.{name}"), &create.to_string());
                }
                for call in ["INFO", "PAUSE", "UNPIN", "LEADER.STEPDOWN"] {
                    self.refused(format!("{api}.CONSUMER.{call}.KV_{bucket}.{name}"), "");
                }
                self.nothing(format!("{api}.CONSUMER.RESET.KV_{bucket}.{name}"));
                let next = format!("{api}.CONSUMER.MSG.NEXT.KV_{bucket}.{name}");
                self.add(granted.clone(), next, vec![], r#"{"batch":1,"no_wait":true}"#);
                self.add(granted, format!("{api}.CONSUMER.DELETE.KV_{bucket}.{name}"), vec![], "");
            }
            for ack in ["+NXT", "+TERM", "+ACK"] {
                self.refused(format!("$JS.ACK.KV_{bucket}.{name}.1.1.1.1.0"), ack);
            }
        }
        for api in ["$JS.API", "bus.API"] {
            for call in ["NAMES", "LIST", "CREATE"] {
                self.refused(
                    format!("{api}.CONSUMER.{call}.KV_{bucket}"),
                    r#"{"config":{"ack_policy":"none"}}"#,
                );
            }
        }
    }

    /// Where the account finds the API of consumers.
    fn api(&self) -> &'static str {
        if self.account.is_apart() { "bus.API" } else { "$JS.API" }
    }

    fn streams(&mut self, bucket: &str) {
        let wider = json!({"name": format!("KV_{bucket}"), "subjects": [format!("$KV.{bucket}.>")],
            "allow_rollup_hdrs": true});
        let other =
            json!({"name": "evil", "subjects": ["evil.>"], "sources": [{"name": format!("KV_{bucket}")}]});
        for api in ["$JS.API", "bus.API"] {
            for (call, body) in [
                ("STREAM.INFO", json!({"subjects_filter": ">"})),
                ("STREAM.CREATE", wider.clone()),
                ("STREAM.UPDATE", wider.clone()),
                ("STREAM.DELETE", json!({})),
                ("STREAM.PURGE", json!({})),
                ("STREAM.MSG.DELETE", json!({"seq": 1})),
                ("STREAM.SNAPSHOT", json!({"deliver_subject": "snapshot"})),
                ("STREAM.RESTORE", wider.clone()),
                ("STREAM.LEADER.STEPDOWN", json!({})),
                ("STREAM.PEER.REMOVE", json!({"peer": "x"})),
            ] {
                self.refused(format!("{api}.{call}.KV_{bucket}"), &body.to_string());
            }
            self.refused(format!("{api}.STREAM.CREATE.evil"), &other.to_string());
        }
    }

    fn verbs(&mut self) {
        let verbs = [
            "mesh-controller.apply",
            "mesh-controller.enroll",
            "mesh-controller.facts",
            "mesh-controller.invite",
            "mesh-controller.join",
            "mesh-controller.plan",
            "mesh-controller.status",
            "mesh-controller.upload",
            "mesh-controller.unheard-of",
            "mesh-provisioner.provisioning",
            "mesh-vault.confirm-escrow",
            "mesh-vault.consumers",
            "mesh-vault.escrow",
            "mesh-vault.escrowed",
            "mesh-vault.list",
            "mesh-vault.pin",
            "mesh-vault.put",
            "mesh-vault.recipients",
            "mesh-vault.rotate",
            "mesh-vault.secret",
            "$SRV.PING",
            "$SRV.INFO",
            "$SRV.STATS",
        ];
        let names = [
            "",
            ".attic",
            ".cellar",
            ".loft",
            ".module=cellar=proxy",
            ".operator=ada",
            ".operator=bob",
            ".invited=loft",
            ".invited=operator=bob",
            ".seat=mesh-controller",
            ".seat=mesh-server",
            ".mesh-vault",
            ".*",
            ".>",
        ];
        for verb in verbs {
            for name in names {
                self.verb(format!("{verb}{name}"));
            }
        }
        for subject in ["mesh-controller.*", "mesh-vault.>", "*.status", ">", "*.*.attic", "$SRV.>"] {
            self.verb(subject.to_owned());
        }
    }

    fn verb(&mut self, subject: String) {
        let asked = |row: &&Row| row.what == "ask" && row.bucket == subject;
        let row = self.rows.iter().find(asked).cloned();
        let is_operators = matches!(self.account, Account::Operator(_));
        let expect = match &row {
            Some(row) => Expect::Heard(row.keys.clone()),
            // Who runs and how it does is for operators to ask, by whichever name.
            None if is_operators && subject.starts_with("$SRV.") => Expect::Heard(subject.clone()),
            None => Expect::Refused,
        };
        self.out.push(Attempt { subject, headers: vec![], body: "{}".to_owned(), expect, row });
    }

    fn system(&mut self) {
        for subject in [
            "$SYS.REQ.SERVER.PING",
            "$SYS.REQ.SERVER.PING.JSZ",
            "$SYS.REQ.CLAIMS.LIST",
            "$SYS.REQ.CLAIMS.PACK",
            "$SYS.REQ.CLAIMS.UPDATE",
            "$SYS.REQ.CLAIMS.DELETE",
            "$SYS.DEBUG.SUBSCRIBERS",
            "$SYS.SERVER.ACCOUNT.X.CONNS",
            "$JS.API.INFO",
            "$JS.API.STREAM.NAMES",
            "$JS.API.STREAM.LIST",
            "bus.API.INFO",
            "bus.API.STREAM.NAMES",
            "bus.API.STREAM.LIST",
            "bus.API.>",
            "$JS.FC.KV_mesh-provisioner_applied.x.y",
            "$KV.>",
            "$KV.*.attic.notes",
            "$KV.KV_evil.attic.notes",
            "$KV.redis_bound.attic.notes",
            "$JS.API.DIRECT.GET.*.$KV.mesh-provisioner_applied.attic.notes",
            "$JS.API.DIRECT.GET.KV_mesh-controller_files.$KV.mesh-provisioner_applied.attic.notes",
            "$JS.API.DIRECT.GET.KV_mesh-provisioner_applied.$KV.mesh-controller_files.attic.notes",
        ] {
            self.refused(subject.to_owned(), "{}");
        }
        for call in ["META.LEADER.STEPDOWN", "SERVER.REMOVE", "ACCOUNT.PURGE.X", ">", "*.*"] {
            self.nothing(format!("$JS.API.{call}"));
        }
    }
}

/// What a bucket's own answer says of a body that it does not take.
pub(crate) fn said(payload: &[u8]) -> Option<Value> {
    serde_json::from_slice(payload).ok()
}
