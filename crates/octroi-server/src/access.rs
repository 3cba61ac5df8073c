//! Access to the HTTP endpoint: bearer tokens, and the Host and Origin checks that keep web pages out.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use octroi_core::Principal;
use octroi_core::network::Network;
use octroi_core::principal::{AdminToken, TokenHash};
use octroi_gateway::{Identity, TokenRefusal};
use tokio_util::sync::CancellationToken;

use crate::forwarded;

/// Which requests the HTTP endpoint admits.
#[derive(Clone, Debug, Default)]
pub struct AccessSettings {
    /// Host names besides the loopback ones under which clients may address Octroi.
    pub hosts: Vec<String>,
    /// Origins of web pages besides loopback ones that may call.
    pub origins: Vec<String>,
    /// The second token that tools for administrators require.
    pub admin_token: Option<AdminToken>,
    /// Proxies whose headers about the client are believed.
    pub trusted_proxies: Vec<Network>,
    /// Whether the REST interface is answered.
    pub is_rest_enabled: bool,
}

/// The access rules in effect. A new configuration replaces them as a whole.
pub struct Access {
    identity: Arc<Identity>,
    rules: ArcSwap<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    hosts: HashSet<String>,
    origins: HashSet<String>,
    admin_token: Option<AdminToken>,
    trusted_proxies: Vec<Network>,
    is_rest_enabled: bool,
}

/// Why a request is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessRefusal {
    /// It carries no bearer token.
    NoToken,
    /// It carries a token that belongs to no principal.
    UnknownToken,
    /// It carries the token of a service, which may read metrics only.
    Service,
    /// A web page of another origin sent it.
    Origin,
    /// Its Host header names another host: a sign of DNS rebinding.
    Host,
}

impl Access {
    /// Rules for the principals that are known. Until [`Access::replace`] is called, nothing but loopback is a
    /// known host.
    pub fn new(identity: Arc<Identity>) -> Self {
        Self { identity, rules: ArcSwap::default() }
    }

    /// Replaces the rules, starting with the next request.
    pub fn replace(&self, settings: &AccessSettings) {
        self.rules.store(Arc::new(Rules::new(settings)));
    }

    /// Ends with the token of a principal, and when Octroi stops.
    pub(crate) fn lease(&self, principal: &Principal) -> CancellationToken {
        self.identity.lease(principal)
    }

    /// The principal that sends this request, if it is admitted.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Principal, AccessRefusal> {
        self.check_sender(headers)?;
        self.authenticate(headers)
    }

    /// Whether the request carries the admin token. The token itself is not passed on.
    pub(crate) fn is_admin(&self, headers: &HeaderMap) -> bool {
        self.rules.load().is_admin(headers)
    }

    /// The address that a request comes from: the peer's, or what a trusted proxy says about its client.
    pub(crate) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let rules = self.rules.load();
        if rules.trusted_proxies.is_empty() {
            return peer;
        }
        forwarded::client_address(peer, headers, &rules.trusted_proxies)
    }

    /// Where the client of a trusted proxy reaches Octroi.
    pub(crate) fn client_base(&self, peer: IpAddr, headers: &HeaderMap) -> Option<Arc<str>> {
        let rules = self.rules.load();
        if rules.trusted_proxies.is_empty() {
            return None;
        }
        let base = forwarded::client_base(peer, headers, &rules.trusted_proxies, |host| rules.has_host(host));
        base.map(Into::into)
    }

    /// Whether connections from this address are those of a proxy, which many clients share.
    pub(crate) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.rules.load().trusted_proxies.iter().any(|proxy| proxy.contains(peer))
    }

    /// Whether the REST interface is answered.
    pub(crate) fn is_rest_enabled(&self) -> bool {
        self.rules.load().is_rest_enabled
    }

    /// Whether the configuration names this origin.
    pub(crate) fn names_origin(&self, origin: &HeaderValue) -> bool {
        origin.to_str().is_ok_and(|origin| self.rules.load().origins.contains(&origin.to_ascii_lowercase()))
    }

    /// Checks the headers that distinguish a web page from a client.
    pub(crate) fn check_sender(&self, headers: &HeaderMap) -> Result<(), AccessRefusal> {
        self.rules.load().check_sender(headers)
    }

    /// Checks that the Host header, if there is one, names this gateway.
    pub(crate) fn check_host(&self, headers: &HeaderMap) -> Result<(), AccessRefusal> {
        self.rules.load().check_host(headers)
    }

    /// The principal whose token has this hash.
    pub(crate) fn find(&self, token: &TokenHash) -> Option<Principal> {
        self.identity.authenticate_hash(token).ok()
    }

    /// The principal whose token the request carries.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<Principal, AccessRefusal> {
        let token = bearer(headers)?;
        let principal = self.identity.authenticate(token).map_err(|refusal| match refusal {
            TokenRefusal::Unknown | TokenRefusal::Expired => AccessRefusal::UnknownToken,
        })?;
        // A browser's access token is good for the page that got it and for nothing else.
        match principal.is_person().then(|| self.identity.origin_of_access(token)).flatten() {
            Some(own)
                if headers.get(header::ORIGIN).is_none_or(|origin| origin.as_bytes() != own.as_bytes()) =>
            {
                Err(AccessRefusal::Origin)
            }
            Some(_) | None => Ok(principal),
        }
    }
}

impl Rules {
    fn new(settings: &AccessSettings) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self {
            hosts: lower(&settings.hosts),
            origins: lower(&settings.origins),
            admin_token: settings.admin_token,
            trusted_proxies: settings.trusted_proxies.clone(),
            is_rest_enabled: settings.is_rest_enabled,
        }
    }

    fn is_admin(&self, headers: &HeaderMap) -> bool {
        let presented = headers.get("x-admin-token").and_then(|value| value.to_str().ok());
        presented.zip(self.admin_token.as_ref()).is_some_and(|(presented, token)| token.is(presented.trim()))
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), AccessRefusal> {
        if let Some(host) = headers.get(header::HOST) {
            let host = host.to_str().map_err(|_| AccessRefusal::Host)?.to_ascii_lowercase();
            if !self.has_host(&host) {
                return Err(AccessRefusal::Host);
            }
        }
        Ok(())
    }

    /// Whether clients may reach Octroi under this host.
    fn has_host(&self, host: &str) -> bool {
        let name = host_name(host);
        is_loopback(name) || self.hosts.contains(name) || self.hosts.contains(host)
    }

    fn check_sender(&self, headers: &HeaderMap) -> Result<(), AccessRefusal> {
        self.check_host(headers)?;
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().map_err(|_| AccessRefusal::Origin)?.to_ascii_lowercase();
            let uri: Option<Uri> = origin.parse().ok();
            let from_here = uri
                .as_ref()
                .and_then(Uri::host)
                .is_some_and(|host| is_loopback(host.trim_matches(['[', ']'])));
            if !from_here && !self.origins.contains(&origin) {
                return Err(AccessRefusal::Origin);
            }
        }
        Ok(())
    }
}

/// The bearer token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<&str, AccessRefusal> {
    let value = headers.get(header::AUTHORIZATION).ok_or(AccessRefusal::NoToken)?;
    let value = value.to_str().map_err(|_| AccessRefusal::UnknownToken)?;
    let (scheme, token) = value.split_once(' ').ok_or(AccessRefusal::NoToken)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(AccessRefusal::NoToken);
    }
    Ok(token.trim())
}

/// The name without the port.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(rest, |(name, _)| name);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use octroi_core::principal::hash_token;

    use super::*;

    fn rules() -> Rules {
        Rules::new(&AccessSettings {
            hosts: vec!["gate.example".into()],
            origins: vec!["https://app.example".into()],
            admin_token: Some(AdminToken::new(hash_token("root"))),
            ..AccessSettings::default()
        })
    }

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn pages_and_names_from_elsewhere_are_refused() {
        for (name, value, expected) in [
            (header::HOST, "127.0.0.1:7878", Ok(())),
            (header::HOST, "localhost", Ok(())),
            (header::HOST, "[::1]:7878", Ok(())),
            (header::HOST, "127.0.0.5", Ok(())),
            (header::HOST, "gate.example:443", Ok(())),
            (header::HOST, "evil.example", Err(AccessRefusal::Host)),
            (header::HOST, "localhost.evil.example", Err(AccessRefusal::Host)),
            (header::ORIGIN, "http://localhost:3000", Ok(())),
            (header::ORIGIN, "https://app.example", Ok(())),
            (header::ORIGIN, "https://evil.example", Err(AccessRefusal::Origin)),
            (header::ORIGIN, "http://localhost.evil.example", Err(AccessRefusal::Origin)),
            (header::ORIGIN, "null", Err(AccessRefusal::Origin)),
        ] {
            assert_eq!(rules().check_sender(&headers(&[(name.clone(), value)])), expected, "{name}: {value}");
        }
    }

    #[test]
    fn only_the_admin_token_makes_an_admin() {
        let name = || header::HeaderName::from_static("x-admin-token");
        assert!(rules().is_admin(&headers(&[(name(), "root")])));
        for wrong in ["", "roo", "roott", "ROOT", "secret"] {
            assert!(!rules().is_admin(&headers(&[(name(), wrong)])), "{wrong}");
        }
        assert!(!rules().is_admin(&headers(&[])));
        assert!(!Rules::default().is_admin(&headers(&[(name(), "root")])));
    }

    #[test]
    fn a_token_is_a_bearer_token() {
        for (value, expected) in [
            (Some("Bearer secret"), Ok("secret")),
            (Some("bearer secret"), Ok("secret")),
            (Some("Bearer  secret "), Ok("secret")),
            (Some("Bearer "), Ok("")),
            (Some("Basic secret"), Err(AccessRefusal::NoToken)),
            (Some("secret"), Err(AccessRefusal::NoToken)),
            (None, Err(AccessRefusal::NoToken)),
        ] {
            let pairs: Vec<_> = value.map(|value| (header::AUTHORIZATION, value)).into_iter().collect();
            assert_eq!(bearer(&headers(&pairs)), expected, "{value:?}");
        }
    }
}
