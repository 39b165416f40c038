//! Orders there and back, and cut short.

use super::*;

fn order(env: &[(&str, &str)]) -> Order {
    let head = Head {
        exec: vec!["notes".into(), "serve".into()],
        folder: "/srv".into(),
        run_as: Some(RunAs { uid: 1, gid: 2, groups: vec![2, 3] }),
        stop_signal: StopSignal::Int,
        stop_deadline: Duration::from_secs(3),
        log: None,
        record: None,
        mark: "attic.notes.server@1".into(),
    };
    let env =
        env.iter().map(|(name, value)| ((*name).to_owned(), Secret::from((*value).to_owned()))).collect();
    Order { head, env }
}

#[test]
fn an_order_arrives_as_it_was_given() {
    let sent = order(&[("A", ""), ("B", "a$b${x}#'\"\\ é\n=x")]);
    let arrived = Order::decode(&sent.encode().unwrap()).unwrap();
    assert_eq!(arrived.head, sent.head);
    let values =
        |order: &Order| order.env.iter().map(|(n, v)| (n.clone(), v.expose().to_vec())).collect::<Vec<_>>();
    assert_eq!(values(&arrived), values(&sent));
}

#[test]
fn an_order_cut_short_is_none() {
    let bytes = order(&[("NAME", "value")]).encode().unwrap();
    for length in 0..bytes.len() {
        let Some(cut) = Order::decode(&bytes[..length]) else { continue };
        assert!(cut.env.is_empty(), "half an entry was taken at {length}");
    }
}

#[test]
fn what_no_process_can_be_given_is_an_error_without_the_value() {
    for (name, value) in [("A", "sent\0inel"), ("", "sentinel"), ("A=B", "sentinel")] {
        let error = order(&[(name, value)]).encode().unwrap_err();
        assert!(!error.to_string().contains("inel"), "{error}");
    }
}
