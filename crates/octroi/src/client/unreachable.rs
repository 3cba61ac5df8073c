//! Why a gateway was not reached, in words that name the mistake: plain HTTP against TLS, a certificate, a name.

use std::error::Error;
use std::io;

use octroi_api::ErrorCode;

use crate::failure::Failure;

/// The failure of a request to this endpoint that got no answer.
pub(super) fn unreachable(url: &str, error: &(dyn Error + 'static)) -> Failure {
    let (message, hint) = match Mistake::find(url, error) {
        Some(Mistake::NoTls) => (
            format!("what listens at {url} does not speak TLS"),
            format!("write {}", url.replacen("https://", "http://", 1)),
        ),
        Some(Mistake::NoPlainHttp) => (
            format!("what listens at {url} does not answer in plain HTTP"),
            format!("if the gateway has a certificate, write {}", url.replacen("http://", "https://", 1)),
        ),
        Some(Mistake::Certificate) => (
            format!("the certificate of {url} is not trusted here"),
            "trust its certificate, or the authority that signed it, with --ca-file FILE".to_owned(),
        ),
        Some(Mistake::Name) => {
            (format!("cannot find the host of {url}"), "check the name in --url or OCTROI_URL".to_owned())
        }
        None => (
            format!("cannot reach the gateway at {url}"),
            "is it running? start one with `octroi up`".to_owned(),
        ),
    };
    Failure {
        causes: Failure::from_error(error).causes,
        ..Failure::of(ErrorCode::GatewayGone, message).hint(hint)
    }
}

/// What answers at the endpoint, if it is no gateway: another program, or another path.
pub(super) fn no_gateway(url: &str, status: hyper::StatusCode) -> Failure {
    Failure::of(ErrorCode::GatewayGone, format!("what answers at {url} is not a gateway: HTTP {status}"))
        .hint("the address of a gateway ends in /mcp, as in http://127.0.0.1:7878/mcp")
}

enum Mistake {
    NoTls,
    NoPlainHttp,
    Certificate,
    Name,
}

impl Mistake {
    fn find(url: &str, error: &(dyn Error + 'static)) -> Option<Self> {
        let is_tls = url.starts_with("https://");
        let mut next = Some(error);
        while let Some(error) = next {
            match tls_error(error) {
                Some(rustls::Error::InvalidCertificate(_)) => return Some(Self::Certificate),
                Some(rustls::Error::InvalidMessage(_)) => return Some(Self::NoTls),
                _ => {}
            }
            let http = error.downcast_ref::<hyper::Error>();
            if !is_tls && http.is_some_and(|error| error.is_parse() || error.is_incomplete_message()) {
                return Some(Self::NoPlainHttp);
            }
            if error.to_string() == "dns error" {
                return Some(Self::Name);
            }
            next = error.source();
        }
        None
    }
}

/// The error of TLS that an error holds. Errors of IO hold others that are not among their sources.
fn tls_error<'a>(mut error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    loop {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        error = error.downcast_ref::<io::Error>()?.get_ref()?;
    }
}
