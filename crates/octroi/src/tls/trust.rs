//! Whom a client trusts over HTTPS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper_rustls::HttpsConnectorBuilder;
use hyper_rustls::builderstates::WantsSchemes;
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::failure::Failure;

/// The connection of an HTTP client, with or without TLS.
pub(crate) type HttpsConnector = hyper_rustls::HttpsConnector<HttpConnector>;

/// Whom a client trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// What this machine trusts; `SSL_CERT_FILE` replaces that.
    System,
    /// The certificates in this file, and what they have signed.
    File(PathBuf),
    /// The one certificate in this file, under any name and at any time: the gateway of a data directory wrote it there.
    Exactly(PathBuf),
}

/// A connector to gateways.
pub(crate) fn connector(trust: &Trust) -> Result<HttpsConnector, Failure> {
    let no_tls = |error: &dyn std::fmt::Display| Failure::new("cannot set up TLS").cause(error);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = HttpsConnectorBuilder::new();
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::System => {
            let builder = builder
                .with_provider_and_platform_verifier(rustls::crypto::ring::default_provider())
                .map_err(|error| no_tls(&error))?;
            return Ok(wrapped(builder));
        }
        Trust::File(file) => Arc::new(OfFile::read(file, &provider)?),
        Trust::Exactly(file) => Arc::new(Exactly { file: file.clone(), provider: Arc::clone(&provider) }),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| no_tls(&error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(wrapped(builder.with_tls_config(config)))
}

fn wrapped(builder: HttpsConnectorBuilder<WantsSchemes>) -> HttpsConnector {
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    http.enforce_http(false);
    builder.https_or_http().enable_http1().wrap_connector(http)
}

/// Trusts the certificates of a file, and what they have signed. A server may also present one of them itself, whoever
/// signed it: self-signed ones are usually marked as those of an authority, which servers must not have otherwise.
#[derive(Debug)]
struct OfFile {
    certificates: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl OfFile {
    fn read(file: &Path, provider: &Arc<CryptoProvider>) -> Result<Self, Failure> {
        let unusable = |cause: &dyn std::fmt::Display| {
            Failure::new(format!("cannot use the certificates in {}", file.display()))
                .cause(cause)
                .hint("give a file with certificates as PEM to --ca-file or OCTROI_CA_FILE")
        };
        let text = std::fs::read(file).map_err(|error| unusable(&error))?;
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let certificates = certificates.map_err(|error| unusable(&error))?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let signed =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
        Ok(Self { certificates, signed: signed.map_err(|error| unusable(&error))? })
    }
}

impl ServerCertVerifier for OfFile {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.signed.verify_server_cert(own, intermediates, name, ocsp_response, now) {
            // The library finds these errors last: its time and everything else about it was checked before.
            Err(Error::InvalidCertificate(error))
                if self.certificates.iter().any(|known| known == own) && is_about_authority(&error) =>
            {
                rustls::client::verify_server_name(&ParsedCertificate::try_from(own)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, own, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, own, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// Whether the one thing wrong with a server's certificate is who signed it, or that it may sign others. The library
/// names the latter only in a text.
fn is_about_authority(error: &CertificateError) -> bool {
    match error {
        CertificateError::UnknownIssuer => true,
        CertificateError::Other(error) => error.to_string().contains("CaUsedAsEndEntity"),
        _ => false,
    }
}

/// Trusts the one certificate of a file, as it is now: the gateway may have replaced it since the last connection.
#[derive(Debug)]
struct Exactly {
    file: PathBuf,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Exactly {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let known = std::fs::read(&self.file).map_err(|error| Error::General(error.to_string()))?;
        if known == own.as_ref() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General(
                "this is not the certificate of the gateway that uses the data directory".to_owned(),
            ))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, own, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, own, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
