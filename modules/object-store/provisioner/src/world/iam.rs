//! Who may come in: the filer's gRPC service `iam_pb.SeaweedIdentityAccessManagement`, as far as it is used here.
//!
//! Of each message only the fields that are used stand here, with the numbers of `weed/pb/iam.proto`. An update replaces the
//! whole user, and this program never sends one back that it has read.

use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

const SERVICE: &str = "/iam_pb.SeaweedIdentityAccessManagement";

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Nothing {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Key {
    #[prost(string, tag = "1")]
    pub(super) access: String,
    #[prost(string, tag = "2")]
    pub(super) secret: String,
    #[prost(string, tag = "3")]
    pub(super) status: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Identity {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) keys: Vec<Key>,
    #[prost(string, repeated, tag = "3")]
    pub(super) actions: Vec<String>,
    #[prost(bool, tag = "5")]
    pub(super) disabled: bool,
    #[prost(string, repeated, tag = "6")]
    pub(super) service_accounts: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    pub(super) policies: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Everybody {
    #[prost(message, repeated, tag = "1")]
    pub(super) identities: Vec<Identity>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Configuration {
    #[prost(message, optional, tag = "1")]
    pub(super) configuration: Option<Everybody>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Create {
    #[prost(message, optional, tag = "1")]
    pub(super) identity: Option<Identity>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Update {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) identity: Option<Identity>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Delete {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

/// Asks the filer one thing. `bearer` says who asks.
pub(super) async fn ask<Q, A>(
    channel: Channel,
    bearer: MetadataValue<Ascii>,
    method: &'static str,
    question: Q,
) -> Result<A, tonic::Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    // A thousand consumers are some 400 KB, and a user is never cut in two.
    let mut grpc = Grpc::new(channel).max_decoding_message_size(256 << 20);
    grpc.ready().await.map_err(|error| tonic::Status::unavailable(error.to_string()))?;
    let path: PathAndQuery = format!("{SERVICE}/{method}").parse().expect("it is a path");
    let mut request = tonic::Request::new(question);
    request.metadata_mut().insert("authorization", bearer);
    let codec: ProstCodec<Q, A> = ProstCodec::default();
    Ok(grpc.unary(request, path, codec).await?.into_inner())
}
