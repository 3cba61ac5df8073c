//! TLS for clients: the certificate in use, which can be replaced while connections go on, and the handshake.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use arc_swap::ArcSwap;
use octroi_gateway::error_message;
use octroi_mcp::{RpcError, code};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::connection::{Connection, Phase};

/// The first byte of a TLS handshake; no method of HTTP begins with it.
const HANDSHAKE: u8 = 0x16;
/// How much of a plain request is read before it is answered, and for how long afterwards.
const PLAIN_BYTES: usize = 16 << 10;
const PLAIN_REST: Duration = Duration::from_secs(1);
const HTTPS_ONLY: &str =
    "this port speaks HTTPS only; use its address with https:// instead of http:// before it";

/// A certificate with its private key, ready for handshakes.
#[derive(Clone)]
pub struct Certificate {
    config: Arc<ServerConfig>,
    own: CertificateDer<'static>,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The file of the certificate holds none.
    #[error("there is no certificate in it, only PEM blocks of `BEGIN CERTIFICATE` count")]
    NoCertificate,
    /// The file of the key holds none that can be used.
    #[error("there is no private key in it that can be used; an encrypted one cannot")]
    NoKey,
    /// Certificate and key do not fit, or one of them is of an unknown kind.
    #[error("the certificate and its private key cannot be used together")]
    Pair(#[source] rustls::Error),
}

impl Certificate {
    /// Reads a chain and a key, both as PEM. They are checked against each other.
    pub fn read(chain: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.map_err(|_| CertificateError::NoCertificate)?;
        let own = chain.first().cloned().ok_or(CertificateError::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CertificateError::NoKey)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(CertificateError::Pair)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(CertificateError::Pair)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), own })
    }

    /// The certificate itself without its chain, as DER.
    pub fn own(&self) -> &[u8] {
        &self.own
    }
}

/// The certificate for new connections. Connections that are open keep the one they began with.
pub struct Tls {
    current: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Starts with this certificate.
    pub fn new(certificate: &Certificate) -> Arc<Self> {
        Arc::new(Self { current: ArcSwap::new(Arc::clone(&certificate.config)) })
    }

    /// Replaces the certificate.
    pub fn replace(&self, certificate: &Certificate) {
        self.current.store(Arc::clone(&certificate.config));
    }

    /// Makes the handshake with a client; `None` if there will be no connection. Its time is limited like that of the
    /// headers of a request.
    pub(crate) async fn accept(&self, stream: TcpStream, state: &Connection) -> Option<TlsStream<TcpStream>> {
        let mut first = [0];
        match unless_ended(state, stream.peek(&mut first)).await?.ok()? {
            0 => return None,
            _ if first[0] == HANDSHAKE => {}
            _ => {
                unless_ended(state, answer_plain(stream)).await;
                return None;
            }
        }
        let acceptor = TlsAcceptor::from(self.current.load_full());
        match unless_ended(state, acceptor.accept(stream)).await? {
            Ok(stream) => {
                state.enter(Phase::Head);
                Some(stream)
            }
            Err(error) => {
                tracing::debug!(client.address = %state.address, %error, "a TLS handshake failed");
                None
            }
        }
    }
}

/// Runs until a connection must end, because it takes too long or makes room for others.
async fn unless_ended<T>(state: &Connection, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        state.wake_on_end(context.waker());
        if state.ending().is_some() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}

/// Says that this is a port for HTTPS. What the client sends meanwhile is read: a connection that is closed with
/// unread data is reset, and the answer may be lost with it.
async fn answer_plain(mut stream: TcpStream) {
    let mut request = vec![0; PLAIN_BYTES];
    let _ = stream.read(&mut request).await;
    let _ = stream.write_all(&plain_answer()).await;
    let _ = stream.shutdown().await;
    let rest = async { while stream.read(&mut request).await.is_ok_and(|n_read| n_read > 0) {} };
    let _ = tokio::time::timeout(PLAIN_REST, rest).await;
}

fn plain_answer() -> Vec<u8> {
    let body = error_message(None, &RpcError::new(code::INVALID_REQUEST, HTTPS_ONLY));
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), &body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pair_is_refused_with_a_reason() {
        const CERTIFICATE: &[u8] = include_bytes!("../../octroi-testkit/src/tls/server.pem");
        const KEY: &[u8] = include_bytes!("../../octroi-testkit/src/tls/server.key");
        const OTHER_KEY: &[u8] = include_bytes!("../../octroi-testkit/src/tls/other.key");
        assert!(Certificate::read(CERTIFICATE, KEY).is_ok());
        for (chain, key, reason) in [
            (&b""[..], KEY, "there is no certificate in it"),
            (KEY, KEY, "there is no certificate in it"),
            (b"-----BEGIN CERTIFICATE-----\nnonsense", KEY, "there is no certificate in it"),
            (CERTIFICATE, b"", "there is no private key in it"),
            (CERTIFICATE, CERTIFICATE, "there is no private key in it"),
            (CERTIFICATE, OTHER_KEY, "cannot be used together"),
            (
                b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                KEY,
                "cannot be used together",
            ),
        ] {
            let error =
                Certificate::read(chain, key).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(reason), "{reason}: {error}");
        }
    }
}
