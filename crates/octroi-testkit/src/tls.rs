//! HTTPS for tests: certificates that are good for a century, and a client that trusts what it is told.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The authority that signed [`SERVER`] and [`OTHER`].
pub const AUTHORITY: &str = include_str!("tls/ca.pem");
/// A certificate for `localhost`, `gate.example` and 127.0.0.1, and its key.
pub const SERVER: Pair = Pair { cert: include_str!("tls/server.pem"), key: include_str!("tls/server.key") };
/// Another one for the same names.
pub const OTHER: Pair = Pair { cert: include_str!("tls/other.pem"), key: include_str!("tls/other.key") };
/// One for `localhost` and 127.0.0.1 that signed itself, as `openssl req -x509` makes it.
pub const SELF_SIGNED: Pair = Pair { cert: include_str!("tls/self.pem"), key: include_str!("tls/self.key") };

/// A certificate and its key, as PEM.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The certificate.
    pub cert: &'static str,
    /// The key.
    pub key: &'static str,
}

impl Pair {
    /// Writes `cert.pem` and `key.pem`, both as a whole, the key for its owner only.
    ///
    /// # Panics
    ///
    /// If the directory cannot be written.
    pub fn write(self, directory: &Path) {
        use std::os::unix::fs::OpenOptionsExt as _;
        for (name, text) in [("cert.pem", self.cert), ("key.pem", self.key)] {
            let new = directory.join(format!("{name}.new"));
            let mut options = std::fs::OpenOptions::new();
            let file = options.write(true).create(true).truncate(true).mode(0o600).open(&new);
            io::Write::write_all(&mut file.expect("a file"), text.as_bytes())
                .expect("the file can be written");
            std::fs::rename(new, directory.join(name)).expect("the file can be replaced");
        }
    }

    /// The certificate as it comes over the wire.
    ///
    /// # Panics
    ///
    /// Never: it is one of this crate.
    pub fn der(self) -> Vec<u8> {
        CertificateDer::from_pem_slice(self.cert.as_bytes()).expect("a certificate").to_vec()
    }
}

/// A connection to `127.0.0.1:PORT`, trusting [`AUTHORITY`], as a client that offers these protocols.
pub async fn connect(address: &str, protocols: &[&str]) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::from_pem_slice(AUTHORITY.as_bytes()));
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, TcpStream::connect(address).await?).await
}

/// The certificate that the other side presented.
pub fn presented(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    let certificates = stream.get_ref().1.peer_certificates();
    certificates.and_then(<[_]>::first).map(|own| own.to_vec()).unwrap_or_default()
}

/// Sends one request with `Connection: close` and reads the response as a text.
pub async fn exchange(stream: &mut TlsStream<TcpStream>, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}
