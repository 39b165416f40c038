//! Tests of the table: what it comes to, and what is never in it.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use mesh_model::digest::Digest;

use super::*;

fn reach() -> NodeReach {
    NodeReach {
        providers: BTreeSet::from(["postgres".parse().unwrap()]),
        provides: vec![Provides {
            module: "reverse-proxy".parse().unwrap(),
            provisions: BTreeSet::from(["route".parse().unwrap()]),
            answers: Answered::Only(BTreeSet::from(["cellar.notes.route.web".parse().unwrap()])),
        }],
        files: BTreeSet::from([Digest::of(b"a file")]),
    }
}

fn lines(imports: &[Import]) -> String {
    let line = |import: &Import| match &import.local {
        Some(local) => format!("{} as {local}\n", import.subject),
        None => format!("{}\n", import.subject),
    };
    imports.iter().map(line).collect()
}

#[test]
fn a_node_gets_this_and_nothing_else() {
    let grants = Grants::of_node(&"attic".parse().unwrap(), &reach());
    assert_snapshot!(lines(&grants.imports()), @"
    $KV.mesh-provisioner_applied.attic.>
    $KV.mesh-provisioner_collect.attic.>
    $KV.mesh-provisioner_needs.attic.>
    $KV.reverse-proxy_bound.cellar.notes.route.web
    $JS.API.DIRECT.GET.KV_mesh-controller_assignments.$KV.mesh-controller_assignments.attic.>
    $JS.API.DIRECT.GET.KV_mesh-controller_config.$KV.mesh-controller_config.attic.>
    $JS.API.DIRECT.GET.KV_mesh-controller_files.$KV.mesh-controller_files.3e976d6acf20bedbc9b9375b9d39ce375a7a649e77e323af67417b7a7837bb75.*
    $JS.API.DIRECT.GET.KV_mesh-provisioner_applied.$KV.mesh-provisioner_applied.attic.>
    $JS.API.DIRECT.GET.KV_mesh-provisioner_collect.$KV.mesh-provisioner_collect.*.contribution=3Aroute.*
    $JS.API.DIRECT.GET.KV_mesh-provisioner_collect.$KV.mesh-provisioner_collect.attic.>
    $JS.API.DIRECT.GET.KV_mesh-provisioner_needs.$KV.mesh-provisioner_needs.attic.>
    $JS.API.DIRECT.GET.KV_mesh-provisioner_registry.$KV.mesh-provisioner_registry.>
    $JS.API.DIRECT.GET.KV_mesh-seats.$KV.mesh-seats.>
    $JS.API.DIRECT.GET.KV_mesh-vault_credentials.$KV.mesh-vault_credentials.attic.>
    $JS.API.DIRECT.GET.KV_postgres_bound.$KV.postgres_bound.attic.>
    $JS.API.CONSUMER.CREATE.KV_mesh-controller_assignments.attic-read.$KV.mesh-controller_assignments.attic.> as bus.API.CONSUMER.CREATE.KV_mesh-controller_assignments.attic-read.$KV.mesh-controller_assignments.attic.>
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-controller_assignments.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_mesh-controller_assignments.attic-read
    $JS.API.CONSUMER.DELETE.KV_mesh-controller_assignments.attic-read as bus.API.CONSUMER.DELETE.KV_mesh-controller_assignments.attic-read
    $JS.API.CONSUMER.CREATE.KV_mesh-controller_config.attic-read.$KV.mesh-controller_config.attic.> as bus.API.CONSUMER.CREATE.KV_mesh-controller_config.attic-read.$KV.mesh-controller_config.attic.>
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-controller_config.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_mesh-controller_config.attic-read
    $JS.API.CONSUMER.DELETE.KV_mesh-controller_config.attic-read as bus.API.CONSUMER.DELETE.KV_mesh-controller_config.attic-read
    $JS.API.CONSUMER.CREATE.KV_mesh-provisioner_applied.attic-read.$KV.mesh-provisioner_applied.attic.> as bus.API.CONSUMER.CREATE.KV_mesh-provisioner_applied.attic-read.$KV.mesh-provisioner_applied.attic.>
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_applied.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_applied.attic-read
    $JS.API.CONSUMER.DELETE.KV_mesh-provisioner_applied.attic-read as bus.API.CONSUMER.DELETE.KV_mesh-provisioner_applied.attic-read
    $JS.API.CONSUMER.CREATE.KV_mesh-provisioner_collect.attic-consumers=route.$KV.mesh-provisioner_collect.*.contribution=3Aroute.* as bus.API.CONSUMER.CREATE.KV_mesh-provisioner_collect.attic-consumers=route.$KV.mesh-provisioner_collect.*.contribution=3Aroute.*
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_collect.attic-consumers=route as bus.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_collect.attic-consumers=route
    $JS.API.CONSUMER.DELETE.KV_mesh-provisioner_collect.attic-consumers=route as bus.API.CONSUMER.DELETE.KV_mesh-provisioner_collect.attic-consumers=route
    $JS.API.CONSUMER.CREATE.KV_mesh-provisioner_collect.attic-read.$KV.mesh-provisioner_collect.attic.> as bus.API.CONSUMER.CREATE.KV_mesh-provisioner_collect.attic-read.$KV.mesh-provisioner_collect.attic.>
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_collect.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_collect.attic-read
    $JS.API.CONSUMER.DELETE.KV_mesh-provisioner_collect.attic-read as bus.API.CONSUMER.DELETE.KV_mesh-provisioner_collect.attic-read
    $JS.API.CONSUMER.CREATE.KV_mesh-provisioner_needs.attic-read.$KV.mesh-provisioner_needs.attic.> as bus.API.CONSUMER.CREATE.KV_mesh-provisioner_needs.attic-read.$KV.mesh-provisioner_needs.attic.>
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_needs.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_needs.attic-read
    $JS.API.CONSUMER.DELETE.KV_mesh-provisioner_needs.attic-read as bus.API.CONSUMER.DELETE.KV_mesh-provisioner_needs.attic-read
    $JS.API.CONSUMER.CREATE.KV_mesh-provisioner_registry.attic-read.$KV.mesh-provisioner_registry.> as bus.API.CONSUMER.CREATE.KV_mesh-provisioner_registry.attic-read.$KV.mesh-provisioner_registry.>
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_registry.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_mesh-provisioner_registry.attic-read
    $JS.API.CONSUMER.DELETE.KV_mesh-provisioner_registry.attic-read as bus.API.CONSUMER.DELETE.KV_mesh-provisioner_registry.attic-read
    $JS.API.CONSUMER.CREATE.KV_mesh-seats.attic-read.$KV.mesh-seats.> as bus.API.CONSUMER.CREATE.KV_mesh-seats.attic-read.$KV.mesh-seats.>
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-seats.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_mesh-seats.attic-read
    $JS.API.CONSUMER.DELETE.KV_mesh-seats.attic-read as bus.API.CONSUMER.DELETE.KV_mesh-seats.attic-read
    $JS.API.CONSUMER.CREATE.KV_mesh-vault_credentials.attic-read.$KV.mesh-vault_credentials.attic.> as bus.API.CONSUMER.CREATE.KV_mesh-vault_credentials.attic-read.$KV.mesh-vault_credentials.attic.>
    $JS.API.CONSUMER.MSG.NEXT.KV_mesh-vault_credentials.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_mesh-vault_credentials.attic-read
    $JS.API.CONSUMER.DELETE.KV_mesh-vault_credentials.attic-read as bus.API.CONSUMER.DELETE.KV_mesh-vault_credentials.attic-read
    $JS.API.CONSUMER.CREATE.KV_postgres_bound.attic-read.$KV.postgres_bound.attic.> as bus.API.CONSUMER.CREATE.KV_postgres_bound.attic-read.$KV.postgres_bound.attic.>
    $JS.API.CONSUMER.MSG.NEXT.KV_postgres_bound.attic-read as bus.API.CONSUMER.MSG.NEXT.KV_postgres_bound.attic-read
    $JS.API.CONSUMER.DELETE.KV_postgres_bound.attic-read as bus.API.CONSUMER.DELETE.KV_postgres_bound.attic-read
    mesh-controller.enroll.attic
    mesh-controller.facts.attic
    mesh-vault.consumers.attic
    mesh-vault.pin.attic
    mesh-vault.secret.attic
    ");
}

#[test]
fn an_operator_gets_every_bucket_but_files() {
    let grants = Grants::of_operator(&"local".parse().unwrap(), &OperatorReach::default());
    let text = lines(&grants.imports());
    assert!(!text.contains("mesh-controller_files"));
    assert!(!text.contains("mesh-vault.secret") && !text.contains("mesh-vault.consumers"));
    assert!(!text.lines().any(|line| line.starts_with("$KV.")), "it writes nothing");
}

#[test]
fn no_row_opens_more_than_it_says() {
    let node = Grants::of_node(&"attic".parse().unwrap(), &reach());
    let operator = Grants::of_operator(&"local".parse().unwrap(), &OperatorReach::default());
    for import in node.imports().into_iter().chain(operator.imports()) {
        let tokens: Vec<&str> = import.subject.split('.').collect();
        match tokens[..] {
            ["$JS", "API", "CONSUMER", "CREATE", stream, consumer, "$KV", ..] => {
                assert!(stream.starts_with("KV_") && !consumer.contains(['*', '>']), "{}", import.subject);
            }
            ["$JS", "API", "CONSUMER", "DELETE", stream, consumer]
            | ["$JS", "API", "CONSUMER", "MSG", "NEXT", stream, consumer] => {
                assert!(stream.starts_with("KV_") && !consumer.contains(['*', '>']), "{}", import.subject);
            }
            ["$JS", "API", "DIRECT", "GET", stream, "$KV", bucket, ..] => {
                assert_eq!(stream, format!("KV_{bucket}"));
            }
            // The whole of a bucket is for operators alone.
            ["$JS", "API", "DIRECT", "GET", stream] => {
                assert!(stream.starts_with("KV_") && stream != "KV_mesh-controller_files");
                assert!(!node.imports().contains(&import), "{}", import.subject);
            }
            ["$JS", ..] => panic!("{} is not to be granted", import.subject),
            _ => {}
        }
    }
}

#[test]
fn each_subject_is_imported_once() {
    let mut wide = reach();
    wide.provides.push(wide.provides[0].clone());
    let imports = Grants::of_node(&"attic".parse().unwrap(), &wide).imports();
    let different: BTreeSet<&Import> = imports.iter().collect();
    assert_eq!(different.len(), imports.len());
}

#[test]
fn what_a_seat_signs_in_with_fits_the_line_that_it_is_sent_in() {
    let key = nkeys::KeyPair::new_account();
    for seat in ["mesh-controller", "mesh-vault", "mesh-provisioner"] {
        let permissions = super::seat(&seat.parse().unwrap());
        let token = crate::jwt::user(&key, &key.public_key(), seat, 1_700_000_000, None, &permissions);
        assert!(token.len() < 3_500, "{seat}: {}", token.len());
    }
}
