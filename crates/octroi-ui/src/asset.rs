//! A file in the form that a browser accepts.

use crate::File;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Brotli.
    Brotli,
    /// Gzip.
    Gzip,
}

impl Encoding {
    /// Its name in headers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }
}

/// A file of the interface.
#[derive(Clone, Copy)]
pub struct Asset {
    file: &'static File,
}

impl Asset {
    pub(crate) const fn new(file: &'static File) -> Self {
        Self { file }
    }

    /// The body in the best of the accepted forms, and how it is compressed.
    pub fn body(&self, accepted: &[Encoding]) -> (&'static [u8], Option<Encoding>) {
        let forms = [(Encoding::Brotli, self.file.brotli), (Encoding::Gzip, self.file.gzip)];
        forms
            .into_iter()
            .filter(|(encoding, _)| accepted.contains(encoding))
            .find_map(|(encoding, body)| Some((body?, Some(encoding))))
            .unwrap_or((self.file.plain, None))
    }

    /// Its media type.
    pub fn media_type(&self) -> &'static str {
        match self.file.path.rsplit('.').next().unwrap_or_default() {
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "woff2" => "font/woff2",
            "json" | "webmanifest" => "application/json",
            "txt" => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }

    /// Changes with the content: FNV-1a, which nobody has to trust, because the file comes from the binary itself.
    pub fn tag(&self) -> String {
        let hash = self.file.plain.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("\"{hash:016x}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FILE: File = File { path: "static/a.js", plain: b"plain", brotli: Some(b"br"), gzip: Some(b"gz") };

    #[test]
    fn the_best_accepted_form_is_served() {
        let asset = Asset::new(&FILE);
        for (accepted, expected) in [
            (&[][..], (&b"plain"[..], None)),
            (&[Encoding::Gzip], (b"gz", Some(Encoding::Gzip))),
            (&[Encoding::Gzip, Encoding::Brotli], (b"br", Some(Encoding::Brotli))),
        ] {
            assert_eq!(asset.body(accepted), expected, "{accepted:?}");
        }
        assert_eq!(asset.media_type(), "text/javascript; charset=utf-8");
        assert_eq!(asset.tag(), asset.tag());
    }
}
