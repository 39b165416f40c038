//! Contents are handed over once, in parts, and count when they are whole and right.

use data_encoding::BASE64;
use mesh_model::digest::Digest;
use mesh_model::wire::{Listed, PART, UploadAsk};

use crate::control::{Control, Mesh};

fn long() -> Vec<u8> {
    (0..PART * 2 + 1000).map(|i| u8::try_from(i % 251).expect("less than 256")).collect()
}

fn part(content: &[u8], part: usize) -> UploadAsk {
    let bytes = &content[part * PART..content.len().min((part + 1) * PART)];
    let parts = content.len().div_ceil(PART) as u64;
    UploadAsk::Part { digest: Digest::of(content), part: part as u64, parts, data: BASE64.encode(bytes) }
}

fn have(content: &[u8]) -> UploadAsk {
    UploadAsk::Have { have: vec![Listed { digest: Digest::of(content), size: content.len() as u64 }] }
}

#[tokio::test]
async fn a_content_in_parts_is_there_when_its_last_part_is() {
    let mut control = Control::start().await;
    let content = long();
    assert_eq!(control.upload(&have(&content)).await.unwrap().missing, [Digest::of(&content)]);
    for which in [2, 0] {
        assert_eq!(control.upload(&part(&content, which)).await.unwrap().missing, [Digest::of(&content)]);
    }
    assert_eq!(control.upload(&have(&content)).await.unwrap().missing, [Digest::of(&content)]);
    assert_eq!(control.upload(&part(&content, 1)).await.unwrap().missing, []);
    assert_eq!(control.upload(&have(&content)).await.unwrap().missing, []);
    let before = control.revisions().await;
    control.hand_over_content(&content).await;
    control.crash().await;
    control.start_controller().await;
    assert_eq!(control.upload(&have(&content)).await.unwrap().missing, [], "it is read back");
    control.hand_over_content(&content).await;
    assert_eq!(control.revisions().await, before, "what is there is not written again");
    control.stop().await;
}

#[tokio::test]
async fn what_is_not_what_it_says_is_refused() {
    let control = Control::start().await;
    let content = long();
    let mut wrong = content.clone();
    wrong[PART + 7] ^= 1;
    let UploadAsk::Part { part: which, parts, data, .. } = part(&wrong, 1) else { unreachable!() };
    let wrong = UploadAsk::Part { digest: Digest::of(&content), part: which, parts, data };
    control.upload(&part(&content, 0)).await.unwrap();
    control.upload(&wrong).await.unwrap();
    assert_eq!(control.upload(&part(&content, 2)).await.unwrap_err().code, "digest-mismatch");
    assert_eq!(control.upload(&have(&content)).await.unwrap().missing, [Digest::of(&content)]);
    control.hand_over_content(&content).await;

    let short = UploadAsk::Part { digest: Digest::of(b"a"), part: 0, parts: 1, data: BASE64.encode(b"b") };
    assert_eq!(control.upload(&short).await.unwrap_err().code, "digest-mismatch");
    let no_part = UploadAsk::Part { digest: Digest::of(b"a"), part: 0, parts: 2, data: BASE64.encode(b"a") };
    assert_eq!(control.upload(&no_part).await.unwrap_err().code, "bad-request");
    let no_text = UploadAsk::Part { digest: Digest::of(b"a"), part: 0, parts: 1, data: "?".to_owned() };
    assert_eq!(control.upload(&no_text).await.unwrap_err().code, "bad-request");
    control.hand_over_content(b"").await;
    control.stop().await;
}

#[tokio::test]
async fn a_description_whose_files_were_not_handed_over_is_refused_by_name() {
    let control = Control::start().await;
    let refused = control.apply_as(&control.operator, &Mesh::new(), None).await.unwrap_err();
    assert_eq!(refused.code, "missing-files");
    assert!(refused.message.contains("mesh.yaml"), "{}", refused.message);
    control.stop().await;
}
