//! How much the redactor finds: made-up secrets of many kinds in many positions, and ordinary texts.
//!
//! No secret here is a real one; each is generated in the shape of its kind. `docs/audit.md` has the figures.

use std::collections::BTreeMap;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::*;

/// Five secrets of each kind.
const SECRETS_PER_KIND: usize = 5;
const ALL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &[u8] = b"0123456789abcdef";

/// A source of the same letters in every run.
struct Letters(u64);

impl Letters {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn some(&mut self, alphabet: &[u8], n: usize) -> String {
        let length = alphabet.len() as u64;
        (0..n).map(|_| char::from(alphabet[usize::try_from(self.next() % length).unwrap()])).collect()
    }

    /// Random letters with a digit among them, as long random texts have.
    fn token(&mut self, n: usize) -> String {
        format!("{}7{}", self.some(ALL, n / 2), self.some(ALL, n - n / 2 - 1))
    }

    /// As people choose passwords.
    fn password(&mut self) -> String {
        let words = ["dragon", "sunshine", "Winter", "tr0ubador", "blue-horse"];
        format!("{}{}!", words[usize::try_from(self.next() % 5).unwrap()], self.some(b"0123456789", 3))
    }
}

/// A text that holds a secret, and the secret.
type Case = (String, String);

fn alone(secret: String) -> Case {
    (secret.clone(), secret)
}

fn within(before: &str, secret: String, after: &str) -> Case {
    (format!("{before}{secret}{after}"), secret)
}

/// The name of a kind, and what makes a secret of it.
type Kind = (&'static str, fn(&mut Letters) -> Case);

/// A secret of each kind. The last kinds are those that nobody can tell from other text.
const KINDS: &[Kind] = &[
    ("AWS access key id", |letters| alone(format!("AKIA{}", letters.some(UPPER, 16)))),
    ("AWS secret key with its name", |letters| within("aws_secret_access_key = ", letters.token(40), "")),
    ("GitHub token", |letters| alone(format!("ghp_{}", letters.token(36)))),
    ("GitHub fine-grained token", |letters| {
        alone(format!("github_pat_{}_{}", letters.token(22), letters.token(59)))
    }),
    ("GitLab token", |letters| alone(format!("glpat-{}", letters.token(20)))),
    ("Slack token", |letters| {
        alone(format!("xoxb-{}-{}", letters.some(b"123456789", 12), letters.token(24)))
    }),
    ("Slack webhook", |letters| {
        let path = format!("T{}/B{}/{}", letters.some(UPPER, 8), letters.some(UPPER, 10), letters.token(24));
        within("https://hooks.slack.com/services/", path, "")
    }),
    ("Discord webhook", |letters| {
        let path = format!("{}/{}", letters.some(b"123456789", 18), letters.token(68));
        within("https://discord.com/api/webhooks/", path, "")
    }),
    ("Discord bot token", |letters| {
        alone(format!("M{}.{}.{}", letters.token(25), letters.some(ALL, 6), letters.token(38)))
    }),
    ("Telegram bot token", |letters| {
        alone(format!("{}:AA{}", letters.some(b"123456789", 10), letters.token(33)))
    }),
    ("Stripe key", |letters| alone(format!("sk_live_{}", letters.token(24)))),
    ("Stripe webhook secret", |letters| alone(format!("whsec_{}", letters.token(32)))),
    ("Google API key", |letters| alone(format!("AIza{}", letters.token(35)))),
    ("Google OAuth secret", |letters| alone(format!("GOCSPX-{}", letters.token(28)))),
    ("OpenAI key", |letters| alone(format!("sk-proj-{}", letters.token(48)))),
    ("Anthropic key", |letters| alone(format!("sk-ant-api03-{}", letters.token(80)))),
    ("Hugging Face token", |letters| alone(format!("hf_{}", letters.token(34)))),
    ("npm token", |letters| alone(format!("npm_{}", letters.token(36)))),
    ("PyPI token", |letters| alone(format!("pypi-AgEI{}", letters.token(100)))),
    ("RubyGems key", |letters| alone(format!("rubygems_{}", letters.some(HEX, 48)))),
    ("Docker Hub token", |letters| alone(format!("dckr_pat_{}", letters.token(27)))),
    ("DigitalOcean token", |letters| alone(format!("dop_v1_{}", letters.some(HEX, 64)))),
    ("SendGrid key", |letters| alone(format!("SG.{}.{}", letters.token(22), letters.token(43)))),
    ("Mailgun key", |letters| alone(format!("key-{}", letters.some(HEX, 32)))),
    ("Twilio key", |letters| alone(format!("SK{}", letters.some(HEX, 32)))),
    ("Shopify token", |letters| alone(format!("shpat_{}", letters.some(HEX, 32)))),
    ("Vault token", |letters| alone(format!("hvs.{}", letters.token(90)))),
    ("Terraform token", |letters| alone(format!("{}.atlasv1.{}", letters.some(ALL, 14), letters.token(67)))),
    ("Azure client secret", |letters| alone(format!("{}8Q~{}", letters.some(ALL, 3), letters.token(34)))),
    ("Databricks token", |letters| alone(format!("dapi{}", letters.some(HEX, 32)))),
    ("Linear key", |letters| alone(format!("lin_api_{}", letters.token(40)))),
    ("Octroi token", |letters| alone(format!("oct_agt_{}_{}", letters.token(8), letters.token(51)))),
    ("JSON Web Token", |letters| {
        alone(format!("eyJ{}.eyJ{}.{}", letters.token(33), letters.token(60), letters.token(43)))
    }),
    ("private key", |letters| {
        let body = format!("{}\n{}", letters.token(64), letters.token(64));
        within("-----BEGIN OPENSSH PRIVATE KEY-----\n", body, "\n-----END OPENSSH PRIVATE KEY-----")
    }),
    ("bearer header", |letters| within("Authorization: Bearer ", letters.token(32), "")),
    ("basic header", |letters| {
        within("curl -H 'Authorization: Basic ", letters.token(24), "' https://x.example")
    }),
    ("cookie header", |letters| within("Cookie: theme=dark; sid=", letters.token(32), "")),
    ("postgres URL", |letters| within("postgres://app:", letters.password(), "@db.internal:5432/app")),
    ("mysql URL", |letters| within("mysql://root:", letters.password(), "@127.0.0.1/shop")),
    ("mongodb URL", |letters| within("mongodb+srv://svc:", letters.password(), "@c0.abc.mongodb.net/?w=1")),
    ("amqp URL", |letters| within("amqps://guest:", letters.password(), "@mq:5671/vhost")),
    ("redis URL", |letters| within("redis://:", letters.password(), "@cache:6379/0")),
    ("JDBC URL", |letters| {
        within("jdbc:postgresql://db/app?user=app&password=", letters.password(), "&ssl=true")
    }),
    ("JDBC URL of Oracle", |letters| within("jdbc:oracle:thin:scott/", letters.password(), "@db:1521/orcl")),
    ("ADO connection string", |letters| {
        within("Server=db;Database=app;User Id=sa;Password=", letters.password(), ";Encrypt=true")
    }),
    ("Azure storage connection string", |letters| {
        let key = format!("{}==", letters.token(86));
        within("DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", key, ";EndpointSuffix=x")
    }),
    ("libpq keywords", |letters| within("host=db user=app password=", letters.password(), " dbname=app")),
    ("--password x", |letters| within("tool --user bob --password ", letters.password(), " --force")),
    ("--password=x", |letters| within("tool --password=", letters.password(), " --force")),
    ("--api-key x", |letters| within("tool --api-key ", letters.token(24), " list")),
    ("curl -u", |letters| within("curl -u bob:", letters.password(), " https://x.example")),
    ("mysql -p", |letters| within("mysqldump -u root -p", letters.password(), " shop")),
    ("sshpass -p", |letters| within("sshpass -p ", letters.password(), " ssh bob@host")),
    ("docker login -p", |letters| within("docker login -u bob -p ", letters.password(), " registry.example")),
    ("redis-cli -a", |letters| within("redis-cli -h cache -a ", letters.password(), " ping")),
    ("KEY=value", |letters| within("PGPASSWORD=", letters.password(), " psql -h db")),
    ("export KEY=value", |letters| within("export STRIPE_API_KEY=", letters.token(24), "")),
    ("YAML password", |letters| within("database:\n  password: ", letters.password(), "\n")),
    ("S3 presigned URL", |letters| {
        within("https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=", letters.some(HEX, 64), "")
    }),
    ("Azure SAS URL", |letters| {
        let signature = format!("{}%3D", letters.token(43));
        within("https://x.blob.core.windows.net/c/f?sv=2024-01-01&sr=b&sig=", signature, "&se=2027")
    }),
    ("URL with a token", |letters| within("https://x.example/f?id=5&token=", letters.token(24), "&x=1")),
    ("URL with a token as user", |letters| within("https://", letters.token(32), "@git.example/r.git")),
    // Of these the part behind a mark that could end them is the secret.
    ("password with an escaped quote", |letters| {
        within("got {\"user\":\"bob\",\"password\":\"Qx7a\\\"", letters.token(9), "\"} back")
    }),
    ("key with an escaped quote", |letters| {
        within("got {\"api_key\":\"Qx7a\\\"", letters.token(9), "\",\"n\":1} back")
    }),
    ("--password with an escaped quote", |letters| {
        within("tool --password \"Qx7a\\\"", letters.token(9), "\" --force")
    }),
    ("URL with a quote", |letters| within("https://bob:x'", letters.token(9), "@git.example/r.git")),
    ("URL with a bracket", |letters| within("https://bob:7<", letters.token(9), "@git.example/r.git")),
    ("JDBC URL with a quote", |letters| {
        within("jdbc:oracle:thin:scott/x'", letters.token(9), "@db:1521/orcl")
    }),
    ("password with &", |letters| within("password=Qx7a&", letters.token(9), "")),
    ("password with ;", |letters| within("password=Qx7a;", letters.token(9), "")),
    ("password with ,", |letters| within("password=Qx7a,", letters.token(9), "")),
    ("password with '", |letters| within("password=Qx7a'", letters.token(9), "")),
    ("password with |", |letters| within("password=Qx7a|", letters.token(9), "")),
    ("password with many marks", |letters| within("password: Qx7a)<;", letters.token(9), "")),
    ("secret of 2000 bytes", |letters| within("session_token=", letters.token(2_000), "")),
    // What has neither a shape nor a name around it.
    ("AWS secret key alone", |letters| alone(letters.token(40))),
    ("password in a sentence", |letters| within("the password is ", letters.password(), "")),
];

/// The text in ten positions.
fn positions(text: &str) -> Vec<(&'static str, String)> {
    let encoded = utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let long = "An ordinary sentence of some length. ".repeat(60);
    vec![
        ("a member", json!({"text": text, "n": 1}).to_string()),
        ("a sentence", json!({"text": format!("Please use {text} for this")}).to_string()),
        ("deep inside", json!({"a": [{"b": [[{"c": text}]]}]}).to_string()),
        ("after 2 KB", json!({"text": format!("{long}{text}")}).to_string()),
        ("JSON in a string", json!({"body": json!({"text": text}).to_string()}).to_string()),
        ("lines", json!({"text": format!("first line\n{text}\nlast line")}).to_string()),
        ("quotes", json!({"text": format!("he wrote \"{text}\" there")}).to_string()),
        ("percent-encoded", json!({"url": format!("https://x.example/?q={encoded}&r=1")}).to_string()),
        ("a list", json!(["first", text, "last"]).to_string()),
        ("a line of a log", format!("2026-11-18T08:00:00Z ERROR request failed: {text}")),
    ]
}

/// Whether a part of the secret that tells anything is left.
fn is_left(output: &str, secret: &str) -> bool {
    let encoded = utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string();
    let escaped = escaped(secret);
    let tail = secret.len().saturating_sub(12);
    let tail = secret.get(tail..).unwrap_or(secret);
    [secret, &encoded, &escaped, tail].into_iter().any(|form| output.contains(form))
}

#[test]
fn secrets_of_every_kind_are_found_in_every_position() {
    let redactor = Redactor::new(std::iter::empty());
    let mut letters = Letters(77_301);
    let (mut n_cases, mut n_secrets) = (0, 0);
    let mut misses: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (kind, make) in KINDS {
        for _ in 0..SECRETS_PER_KIND {
            let (text, secret) = make(&mut letters);
            n_secrets += 1;
            for (position, input) in positions(&text) {
                n_cases += 1;
                let redacted = redactor.redact(&input);
                let preview = redactor.preview(input.as_bytes(), usize::MAX);
                if is_left(&redacted, &secret) || is_left(&preview, &secret) {
                    let of_kind = misses.entry(kind).or_default();
                    if !of_kind.contains(&position) {
                        of_kind.push(position);
                    }
                }
            }
        }
    }
    assert!(n_secrets >= 200 && KINDS.len() >= 40 && n_cases == n_secrets * 10, "{n_secrets} {n_cases}");
    let found: Vec<String> =
        misses.iter().map(|(kind, positions)| format!("{kind}: {}", positions.join(", "))).collect();
    expect_test::expect![[r"
        AWS secret key alone: a member, a sentence, deep inside, after 2 KB, JSON in a string, lines, quotes, percent-encoded, a list, a line of a log
        password in a sentence: a member, a sentence, deep inside, after 2 KB, JSON in a string, lines, quotes, percent-encoded, a list, a line of a log"]]
    .assert_eq(&found.join("\n"));
    let figure = format!("{} kinds, {n_secrets} secrets, {n_cases} cases", KINDS.len());
    assert!(
        include_str!("../../../../docs/audit.md").contains(&figure),
        "docs/audit.md does not say: {figure}"
    );
}

#[test]
fn known_secrets_are_found_however_they_are_encoded() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use percent_encoding::AsciiSet;
    /// What `encodeURI` leaves as it is.
    const OF_WHOLE_URLS: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b';')
        .remove(b'/')
        .remove(b'?')
        .remove(b':')
        .remove(b'@')
        .remove(b'&')
        .remove(b'=')
        .remove(b'+')
        .remove(b'$')
        .remove(b',')
        .remove(b'#')
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'!')
        .remove(b'~')
        .remove(b'*')
        .remove(b'\'')
        .remove(b'(')
        .remove(b')');
    let mut letters = Letters(77);
    for _ in 0..50 {
        let secret = format!("{} /{}+?", letters.token(9), letters.token(9));
        let redactor = Redactor::new([secret.as_str()].into_iter());
        let every_byte = hex::encode(&secret).into_bytes();
        let every_byte: Vec<u8> = every_byte.chunks(2).flat_map(|two| [b'%', two[0], two[1]]).collect();
        let every_byte = String::from_utf8(every_byte).unwrap();
        for (form, encoded) in [
            ("as it is", secret.clone()),
            ("encodeURI", utf8_percent_encode(&secret, OF_WHOLE_URLS).to_string()),
            ("percent-encoded", utf8_percent_encode(&secret, NON_ALPHANUMERIC).to_string()),
            ("every byte percent-encoded", every_byte),
            ("base64", STANDARD.encode(&secret)),
            ("base64 for URLs", URL_SAFE.encode(&secret)),
            ("base64 with a user", STANDARD.encode(format!("bob:{secret}"))),
            ("hexadecimal", hex::encode(&secret)),
        ] {
            for (position, input) in positions(&format!("x {encoded} y")) {
                for output in
                    [redactor.redact(&input).into_owned(), redactor.preview(input.as_bytes(), 100_000)]
                {
                    let middle = &encoded[encoded.len() / 3..encoded.len() * 2 / 3];
                    assert!(!output.contains(middle), "{form}, {position}: {output}");
                }
            }
        }
    }
}

#[test]
fn ordinary_texts_stay_as_they_are() {
    let redactor = Redactor::new(std::iter::empty());
    for text in [
        "The password is required. Please enter your password: it must have 12 characters.",
        "Error: invalid token: unexpected end of input at line 5",
        "Use --password to set one, or --password-file /run/secrets/db to read it from a file.",
        "If --token is missing, the value of $TOKEN is used (--token=$TOKEN).",
        "mkdir -p src/deep/path && ssh -p 2222 host && docker run -p 8080:80 -u 1000:1000 nginx",
        "git log -p --author=ann; tar -pxzf x.tgz; psql -p 5432 -U postgres -d shop",
        "mysql -u root -p shop < dump.sql",
        "password = os.environ[\"DB_PASSWORD\"]; token = get_token(); secret = settings.secret",
        "const token = await fetchToken(user); let password = req.body.password;",
        "def login(user, password=None, token=None): return authenticate(user, password=password)",
        "def login(user: str, password: str)->None: pass; def ask(password=None): return f(password=None).run()",
        "max_tokens=4096, temperature=0.2, next_page_token: none",
        "see https://example.com:8443/path?a=1&page=2#top and http://localhost:3000/a@b",
        "mail ann@example.com or bob@example.com; ratio 3:4; at 12:30:05",
        "SELECT id, password_hash FROM users WHERE token IS NOT NULL ORDER BY created_at",
        "commit 5fddc3f0a1b2c3d4e5f60718293a4b5c6d7e8f90 changes 3 files",
        "uuid 550e8400-e29b-41d4-a716-446655440000, sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "The signature=inspect.signature(function) of a function has keyword arguments.",
        "Ask the key-value store for key-based access; the task-force met in sk-learn's room.",
        "secret_santa_list_for_the_whole_department_of_engineering",
        "Basic usage: run the tool. Bearer of bad news: it failed.",
        "100% of cases; 50%25 is encoded; caf%C3%A9 is a word; a%20b",
        "Cookie consent: every visitor sees the cookie policy.",
        "password policy: at least 12 characters; passwords: never reuse them",
        "kubectl get secret db-credentials -n prod -o yaml",
        "authorization: see the chapter about authorization",
        "postgres://localhost:5432/app and redis://cache:6379/0 need no password",
        "- item one\n- item two\n-- signed, the management",
        "chown -R app:app /srv && sudo -u postgres psql && rsync -u a:b c",
        "eyJ is how the base64 of a JSON object begins",
        "Pass: the test passed. PIN the message. OTP is on.",
        "links 'http://localhost:3000','ann@example.com' and <http://host:80>,<bob@example.com>",
        "the form http://host:PORT/x,'y@z' and <a href=\"http://h:80\">a@b</a>",
    ] {
        assert_eq!(redactor.redact(text), text);
        let json = json!({"text": text, "list": [text]}).to_string();
        assert_eq!(redactor.redact(&json), json);
        assert_eq!(redactor.preview(json.as_bytes(), 100_000), json);
    }
}

/// The processor time of this thread, which other work on the machine does not change.
fn processor_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::try_from(time).expect("it is positive")
}

#[test]
fn no_text_takes_longer_than_its_length_allows() {
    let redactor = Redactor::new(["known-secret-value"].into_iter());
    for piece in [
        "token:",
        "pin=",
        "sig=1",
        "sig=",
        "://",
        "--password ",
        "--password=",
        " -p",
        " -u a:",
        "cookie:",
        "EAAA_",
        "eyJ",
        "eyJaaaaaaaa.",
        "-----BEGIN ",
        "%41",
        "password=\"",
        "mysql -p ",
        "secret_",
        "Authorization: Digest a=",
        "\"--password\",",
    ] {
        let text = piece.repeat(100_000 / piece.len());
        let start = processor_time();
        let _ = redactor.redact(&text);
        let _ = redactor.preview(json!([text, "-x", text]).to_string().as_bytes(), 4_096);
        // Many times what it takes, and a small part of what quadratic cost would be.
        let took = processor_time().saturating_sub(start);
        assert!(took.as_secs() < 5, "{piece}: {took:?}");
    }
}
