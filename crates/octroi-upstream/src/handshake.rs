//! Era detection, and the handshake in the detected era.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::server::EraChoice;
use octroi_mcp::capability::Abilities;
use octroi_mcp::{Envelope, Era, Id, Method, RpcError, Version, code, envelope, meta};
use serde_json::Value;

use crate::error::UpstreamError;
use crate::identity::{ServerIdentity, SpokenEras, modern_meta, negotiated_version};
use crate::mux::{ChannelAnswer, Mux};

/// How long a server may take to answer the probe. After that it is treated as a legacy server that ignores
/// unknown methods; if it answers the probe late after all, that answer still counts.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

/// Octroi's name and capabilities, for the handshake.
#[derive(Clone, Debug)]
pub(crate) struct Introduction {
    pub(crate) client_info: Bytes,
    pub(crate) capabilities: Bytes,
}

impl Introduction {
    pub(crate) fn initialize_params(&self) -> Bytes {
        Bytes::from(format!(
            r#"{{"protocolVersion":"{}","capabilities":{},"clientInfo":{}}}"#,
            Version::LATEST_LEGACY,
            String::from_utf8_lossy(&self.capabilities),
            String::from_utf8_lossy(&self.client_info),
        ))
    }

    pub(crate) fn discover_params(&self) -> String {
        format!("{{{}}}", modern_meta(&self.client_info))
    }
}

/// The result of a probe.
#[derive(Debug)]
pub(crate) enum Probe {
    /// The server is modern.
    Modern(Box<ServerIdentity>),
    /// It is not, or that is unknown; try the legacy handshake.
    Legacy,
}

/// Parses the answer to `server/discover`.
pub(crate) fn read_probe(answer: &Envelope) -> Result<Probe, UpstreamError> {
    if let Some(result) = answer.result() {
        return Ok(match read_discovery(&result) {
            Some(identity) => Probe::Modern(Box::new(identity)),
            None => Probe::Legacy,
        });
    }
    match answer.error() {
        Some(error) if code::is_modern_only(error.code) => refused_version(&error),
        Some(_) | None => Ok(Probe::Legacy),
    }
}

/// A modern server that does not support our version: usable only if it also supports a legacy one.
fn refused_version(error: &RpcError) -> Result<Probe, UpstreamError> {
    let supported: Vec<&str> = error
        .data
        .as_ref()
        .and_then(|data| data.get("supported")?.as_array())
        .map(|versions| versions.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let speaks_legacy = supported
        .iter()
        .filter_map(|version| Version::parse(version))
        .any(|version| version.era() == Era::Legacy);
    if speaks_legacy {
        return Ok(Probe::Legacy);
    }
    let message = format!(
        "it speaks {}, Octroi speaks {} and older; its message: {}",
        if supported.is_empty() { "no version it names".to_owned() } else { supported.join(", ") },
        Version::LATEST_MODERN,
        error.message
    );
    Err(UpstreamError::Refused(RpcError::new(error.code, message)))
}

fn read_discovery(result: &[u8]) -> Option<ServerIdentity> {
    let value: Value = serde_json::from_slice(result).ok()?;
    let versions = value.get("supportedVersions")?.as_array()?;
    if !versions.iter().any(|version| version.as_str() == Some(Version::LATEST_MODERN.as_str())) {
        return None;
    }
    Some(ServerIdentity {
        era: Era::Modern,
        version: Version::LATEST_MODERN,
        info: value
            .get("_meta")
            .and_then(|meta| meta.get(meta::SERVER_INFO))
            .map(|info| Bytes::from(info.to_string())),
        capabilities: value.get("capabilities").cloned().unwrap_or_default(),
        instructions: value.get("instructions").and_then(Value::as_str).map(str::to_owned),
        spoken: SpokenEras::default(),
        abilities: Abilities::ALL,
    })
}

/// Parses the answer to `initialize`.
pub(crate) fn read_initialized(result: &[u8]) -> Result<ServerIdentity, UpstreamError> {
    let version = negotiated_version(result)?;
    let value: Value = serde_json::from_slice(result)
        .map_err(|_| UpstreamError::Protocol("the server's handshake cannot be read".to_owned()))?;
    Ok(ServerIdentity {
        era: Era::Legacy,
        version,
        info: value.get("serverInfo").map(|info| Bytes::from(info.to_string())),
        capabilities: value.get("capabilities").cloned().unwrap_or_default(),
        instructions: value.get("instructions").and_then(Value::as_str).map(str::to_owned),
        spoken: SpokenEras::default(),
        abilities: Abilities::ALL,
    })
}

/// Runs the handshake over a shared channel.
pub(crate) async fn over_channel(
    mux: &Arc<Mux>,
    choice: EraChoice,
    introduction: &Introduction,
) -> Result<ServerIdentity, UpstreamError> {
    let discover = || ask(mux, Method::Discover, introduction.discover_params().into_bytes());
    let initialize = || ask(mux, Method::Initialize, introduction.initialize_params().to_vec());
    match choice {
        EraChoice::Modern => match read_probe(&discover().await?)? {
            Probe::Modern(identity) => Ok(*identity),
            Probe::Legacy => Err(UpstreamError::Protocol(
                "the server does not speak the modern era that its entry pins it to".to_owned(),
            )),
        },
        EraChoice::Legacy => finish(mux, &initialize().await?).await,
        EraChoice::Auto => {
            let probe = discover();
            tokio::pin!(probe);
            if let Ok(answer) = tokio::time::timeout(PROBE_PATIENCE, &mut probe).await {
                return match read_probe(&answer?)? {
                    Probe::Modern(identity) => Ok(*identity),
                    Probe::Legacy => finish(mux, &initialize().await?).await,
                };
            }
            // Either slow to start, or a legacy server that ignores the probe. The first valid answer to
            // either request decides.
            let handshake = initialize();
            tokio::pin!(handshake);
            tokio::select! {
                // The probe first: a modern server that was slow to start answers it and refuses the
                // handshake at the same time.
                biased;
                answer = &mut probe => match read_probe(&answer?)? {
                    Probe::Modern(identity) => Ok(*identity),
                    Probe::Legacy => finish(mux, &handshake.await?).await,
                },
                answer = &mut handshake => {
                    let refused = match finish(mux, &answer?).await {
                        Err(refused @ UpstreamError::Refused(_)) => refused,
                        finished => return finished,
                    };
                    match tokio::time::timeout(PROBE_PATIENCE, probe).await {
                        Ok(Ok(answer)) => match read_probe(&answer)? {
                            Probe::Modern(identity) => Ok(*identity),
                            Probe::Legacy => Err(refused),
                        },
                        Ok(Err(_)) | Err(_) => Err(refused),
                    }
                }
            }
        }
    }
}

async fn finish(mux: &Arc<Mux>, answer: &Envelope) -> Result<ServerIdentity, UpstreamError> {
    let Some(result) = answer.result() else {
        return Err(UpstreamError::refused(answer.error()));
    };
    let identity = read_initialized(&result)?;
    let message = envelope::notification(&Method::Initialized, b"{}");
    mux.send(message).await.map_err(UpstreamError::Closed)?;
    Ok(identity)
}

async fn ask(mux: &Arc<Mux>, method: Method, params: Vec<u8>) -> Result<Envelope, UpstreamError> {
    let receiver = mux.register(None, false);
    let message = envelope::request(&Id::number(receiver.id), &method, &params);
    mux.send(message).await.map_err(UpstreamError::Closed)?;
    match receiver.answer.await {
        Ok(ChannelAnswer::Message(answer)) => Ok(answer),
        Ok(ChannelAnswer::TooLarge { limit }) => Err(UpstreamError::TooLarge { limit }),
        Ok(ChannelAnswer::NotTaken(reason)) => Err(UpstreamError::NotTaken(reason)),
        Err(_) => Err(UpstreamError::Closed(mux.reason())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(json: &str) -> Result<Probe, UpstreamError> {
        read_probe(&Envelope::parse(Bytes::copy_from_slice(json.as_bytes())).unwrap())
    }

    #[test]
    fn only_a_modern_answer_makes_a_server_modern() {
        for (answer, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#,
                "modern",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25"],"capabilities":{}}}"#,
                "legacy",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "legacy"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}"#, "legacy"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"?"}}"#, "legacy"),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"?"}}"#, "legacy"),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?","data":{"supported":["2025-11-25"]}}}"#,
                "legacy",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?","data":{"supported":["2027-01-01"]}}}"#,
                "error",
            ),
        ] {
            let found = match probe(answer) {
                Ok(Probe::Modern(_)) => "modern",
                Ok(Probe::Legacy) => "legacy",
                Err(_) => "error",
            };
            assert_eq!(found, expected, "{answer}");
        }
    }

    #[test]
    fn a_refusal_differs_from_an_invalid_answer() {
        let refused = probe(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2027-01-01"]}}}"#,
        );
        let text = refused.unwrap_err().to_string();
        assert_eq!(
            text,
            "the server refused: it speaks 2027-01-01, Octroi speaks 2026-07-28 and older; its message: no"
        );
    }

    #[test]
    fn a_handshake_with_an_unknown_version_fails_clearly() {
        let error = negotiated_version(br#"{"protocolVersion":"2030-01-01"}"#).unwrap_err();
        assert!(error.to_string().contains("2030-01-01"));
        assert_eq!(negotiated_version(br#"{"protocolVersion":"2024-11-05"}"#).unwrap(), Version::V2024_11_05);
    }
}
