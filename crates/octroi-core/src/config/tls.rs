//! What `[server]` says about TLS, and about proxies that end it in front of Octroi.

use std::path::PathBuf;

use serde_json::json;

use super::reader::TableReader;
use crate::network::Network;

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and its chain, as PEM.
    pub cert: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

/// Reads `tls_cert` and `tls_key`: both or none. Octroi must not fall back to HTTP because one is missing.
pub(super) fn files(reader: &mut TableReader<'_>) -> Option<TlsFiles> {
    const KEYS: [&str; 2] = ["tls_cert", "tls_key"];
    let [cert, key] = KEYS.map(|name| reader.path(name));
    let [has_cert, has_key] = KEYS.map(|name| reader.has(name));
    if has_cert != has_key {
        let (written, missing) = if has_cert { (KEYS[0], KEYS[1]) } else { (KEYS[1], KEYS[0]) };
        let origin = reader.origin(written);
        reader.log.error(&origin, format!("`{written}` needs `{missing}` beside it"));
    }
    Some(TlsFiles { cert: cert?, key: key? })
}

/// Reads the networks of trusted proxies. One that is no network is left out: nobody is trusted by mistake.
pub(super) fn trusted_proxies(reader: &mut TableReader<'_>) -> Vec<Network> {
    const NAME: &str = "trusted_proxies";
    let mut networks = Vec::new();
    for (filled, origin) in reader.all_located(NAME) {
        match filled.value.parse() {
            Ok(network) => networks.push(network),
            Err(error) => {
                let message = format!("`{}` in `{NAME}` is no network: {error}", filled.redacted);
                let hint = "write networks as in [\"10.0.0.0/8\", \"fd00::/8\"]".to_owned();
                reader.log.error_with_hint(&origin, message, hint);
            }
        }
    }
    reader.show(NAME, json!(networks.iter().map(Network::to_string).collect::<Vec<_>>()));
    networks
}
