//! Proofs that a browser has its key, in the form of `DPoP` (RFC 9449): a small signed text that names the method, the
//! address and the time of one request.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use octroi_core::principal::hash_token;
use octroi_gateway::KeyThumbprint;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The header of a proof.
pub(super) const HEADER: &str = "dpop";

/// A longer text is no proof.
const BYTES_MAX: usize = 4 << 10;
/// A longer id is no id.
const ID_BYTES_MAX: usize = 64;

/// What a valid proof says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verified {
    /// The thumbprint of the key that signed it.
    pub(super) key: KeyThumbprint,
    pub(super) id: String,
    pub(super) made_at_ms: i64,
}

#[derive(Deserialize)]
struct Header {
    typ: String,
    alg: String,
    jwk: Key,
}

#[derive(Deserialize)]
struct Key {
    kty: String,
    crv: String,
    x: String,
    y: String,
}

#[derive(Deserialize)]
struct Claims {
    htm: String,
    htu: String,
    iat: f64,
    jti: String,
}

/// Checks a proof for a request with this method and address. Whether it was made just now, and not used before, is
/// not checked here.
pub(super) fn verify(text: &str, method: &str, url: &str) -> Result<Verified, &'static str> {
    if text.is_empty() {
        return Err("there is none");
    }
    if text.len() > BYTES_MAX {
        return Err("it is too long");
    }
    let (signed, signature) = text.rsplit_once('.').ok_or("it is no signed text")?;
    let (header, claims) = signed.split_once('.').ok_or("it is no signed text")?;
    let header: Header = part(header)?;
    if header.typ != "dpop+jwt" || header.alg != "ES256" {
        return Err("its kind is not dpop+jwt with ES256");
    }
    let (point, thumbprint) = header.jwk.read().ok_or("its key is not one of P-256")?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "its signature cannot be read")?;
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| "its signature is wrong")?;
    let claims: Claims = part(claims)?;
    if claims.htm != method || claims.htu != url {
        return Err("it is for another request");
    }
    if claims.jti.is_empty() || claims.jti.len() > ID_BYTES_MAX {
        return Err("it has no id");
    }
    let made_at_ms = milliseconds(claims.iat).ok_or("its time is none")?;
    Ok(Verified { key: thumbprint, id: claims.jti, made_at_ms })
}

impl Key {
    /// The point in the form that signatures are checked with, and the thumbprint of RFC 7638.
    fn read(&self) -> Option<([u8; 65], KeyThumbprint)> {
        if self.kty != "EC" || self.crv != "P-256" {
            return None;
        }
        let mut point = [4; 65];
        for (written, place) in [(&self.x, 1), (&self.y, 33)] {
            let bytes = URL_SAFE_NO_PAD.decode(written).ok()?;
            point
                .get_mut(place..place + 32)
                .filter(|part| part.len() == bytes.len())?
                .copy_from_slice(&bytes);
        }
        let [x, y] = [&point[1..33], &point[33..]].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        Some((point, hash_token(&canonical)))
    }
}

fn part<T: DeserializeOwned>(text: &str) -> Result<T, &'static str> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| "it cannot be read")?;
    serde_json::from_slice(&bytes).map_err(|_| "a part of it is missing")
}

/// Seconds since 1970, which may have a fraction, in milliseconds.
fn milliseconds(seconds: f64) -> Option<i64> {
    const LATEST_S: f64 = 1e11;
    #[expect(clippy::cast_possible_truncation, reason = "it was just checked to fit")]
    (0.0..LATEST_S).contains(&seconds).then(|| (seconds * 1_000.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::{Value, json};

    use super::*;

    const URL: &str = "http://127.0.0.1:7878/ui/token";

    struct Browser {
        pair: EcdsaKeyPair,
        random: SystemRandom,
    }

    impl Browser {
        fn new() -> Self {
            let random = SystemRandom::new();
            let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random)
                .unwrap();
            Self { pair, random }
        }

        fn header(&self) -> Value {
            let point = self.pair.public_key().as_ref();
            let [x, y] = [&point[1..33], &point[33..]].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
            json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": {"kty": "EC", "crv": "P-256", "x": x, "y": y}})
        }

        fn sign(&self, header: &Value, claims: &Value) -> String {
            let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
            let signed = format!("{header}.{claims}");
            let signature = self.pair.sign(&self.random, signed.as_bytes()).unwrap();
            format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
        }
    }

    fn claims() -> Value {
        json!({"htm": "POST", "htu": URL, "iat": 1_700_000_000.25, "jti": "a"})
    }

    fn with(mut value: Value, path: &str, new: Value) -> Value {
        *value.pointer_mut(path).unwrap() = new;
        value
    }

    #[test]
    fn a_proof_says_who_made_it_and_when() {
        let browser = Browser::new();
        let proof = verify(&browser.sign(&browser.header(), &claims()), "POST", URL).unwrap();
        assert_eq!((proof.id.as_str(), proof.made_at_ms), ("a", 1_700_000_000_250));
        let again = verify(&browser.sign(&browser.header(), &claims()), "POST", URL).unwrap();
        assert_eq!(again.key, proof.key, "the same key");
        let other = Browser::new();
        let others = verify(&other.sign(&other.header(), &claims()), "POST", URL).unwrap();
        assert_ne!(others.key, proof.key);
    }

    #[test]
    fn whatever_is_not_exactly_a_proof_is_refused() {
        let (browser, other) = (Browser::new(), Browser::new());
        let header = browser.header();
        let good = browser.sign(&header, &claims());
        let (signed, _) = good.rsplit_once('.').unwrap();
        let none = URL_SAFE_NO_PAD.encode(with(header.clone(), "/alg", json!("none")).to_string());
        for (name, text) in [
            ("empty", String::new()),
            ("garbage", "a.b.c".to_owned()),
            ("unsigned", format!("{signed}.")),
            ("another's key", other.sign(&header, &claims())),
            ("no algorithm", format!("{none}.{}", signed.split_once('.').unwrap().1)),
            ("another algorithm", browser.sign(&with(header.clone(), "/alg", json!("HS256")), &claims())),
            ("another kind", browser.sign(&with(header.clone(), "/typ", json!("JWT")), &claims())),
            ("another curve", browser.sign(&with(header.clone(), "/jwk/crv", json!("P-384")), &claims())),
            ("a short point", browser.sign(&with(header.clone(), "/jwk/x", json!("AAAA")), &claims())),
            (
                "a point off the curve",
                browser.sign(&with(header.clone(), "/jwk/x", json!("A".repeat(43))), &claims()),
            ),
            ("another method", browser.sign(&header, &with(claims(), "/htm", json!("GET")))),
            (
                "another address",
                browser.sign(&header, &with(claims(), "/htu", json!("http://127.0.0.1:1/ui/token"))),
            ),
            ("no id", browser.sign(&header, &with(claims(), "/jti", json!("")))),
            ("a long id", browser.sign(&header, &with(claims(), "/jti", json!("a".repeat(65))))),
            ("no time", browser.sign(&header, &with(claims(), "/iat", json!("now")))),
            ("a wild time", browser.sign(&header, &with(claims(), "/iat", json!(1e300)))),
            ("long", format!("{}{good}", "a".repeat(5_000))),
        ] {
            assert!(verify(&text, "POST", URL).is_err(), "{name}");
        }
        assert!(verify(&good, "POST", URL).is_ok());
    }
}
