//! Opening connections, and refusing those of members' servers to addresses that are not public.
//!
//! A name is resolved once. Only addresses that passed the filter are connected to, so an answer that changes between
//! check and use changes nothing; the address that was connected to is checked once more all the same.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use octroi_core::outward::AllowedHosts;
use tokio::net::TcpStream;
use tower::Service;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// Finds the addresses of a host.
pub(crate) type Resolve =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// Where connections may lead.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    /// Wherever the configuration says.
    Anywhere,
    /// To public addresses, and to these.
    PublicAnd(Arc<ArcSwap<AllowedHosts>>),
}

/// Nothing that may be connected to has this name. The same whether it has no address or only others: whoever asks must
/// not learn which names a network knows.
#[derive(Debug, thiserror::Error)]
#[error("`{host}` has no public address")]
pub(crate) struct NotPublic {
    pub(crate) host: String,
}

impl Reach {
    fn check(&self, host: &str, address: IpAddr) -> Result<(), NotPublic> {
        match self {
            Self::Anywhere => Ok(()),
            Self::PublicAnd(allowed) if allowed.load().permits(host, address) => Ok(()),
            Self::PublicAnd(_) => Err(NotPublic { host: host.to_owned() }),
        }
    }
}

/// Opens TCP connections.
#[derive(Clone)]
pub(crate) struct OutwardConnector {
    http: HttpConnector<Resolver>,
    reach: Reach,
}

impl OutwardConnector {
    pub(crate) fn new(reach: Reach, resolve: Resolve) -> Self {
        let mut http = HttpConnector::new_with_resolver(Resolver { reach: reach.clone(), resolve });
        http.set_nodelay(true);
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT_TIMEOUT));
        Self { http, reach }
    }
}

/// Asks the operating system.
pub(crate) fn system_resolver() -> Resolve {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.collect())
        })
    })
}

impl Service<Uri> for OutwardConnector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let host = uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned();
        // The connector resolves no address, so the resolver below never sees one.
        if let Ok(address) = host.parse()
            && let Err(refused) = self.reach.check(&host, address)
        {
            return Box::pin(async { Err(refused.into()) });
        }
        let connecting = self.http.call(uri);
        let reach = self.reach.clone();
        Box::pin(async move {
            let stream = connecting.await?;
            if let Reach::PublicAnd(_) = reach {
                reach.check(&host, stream.inner().peer_addr()?.ip())?;
            }
            Ok(stream)
        })
    }
}

impl fmt::Debug for OutwardConnector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OutwardConnector").field("reach", &self.reach).finish_non_exhaustive()
    }
}

/// Resolves names to the addresses that may be connected to.
#[derive(Clone)]
pub(crate) struct Resolver {
    reach: Reach,
    resolve: Resolve,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let host = name.as_str().to_owned();
        let reach = self.reach.clone();
        let resolving = (self.resolve)(host.clone());
        Box::pin(async move {
            let found = match (resolving.await, &reach) {
                (Err(_), Reach::PublicAnd(_)) => Vec::new(),
                (found, _) => found?,
            };
            let usable: Vec<SocketAddr> =
                found.into_iter().filter(|found| reach.check(&host, found.ip()).is_ok()).collect();
            match reach {
                Reach::PublicAnd(_) if usable.is_empty() => Err(NotPublic { host }.into()),
                Reach::Anywhere | Reach::PublicAnd(_) => Ok(usable.into_iter()),
            }
        })
    }
}

/// The refusal behind an error of a connection, if it is one.
pub(crate) fn refusal<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a NotPublic> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(refusal) = error.downcast_ref::<NotPublic>() {
            return Some(refusal);
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests;
