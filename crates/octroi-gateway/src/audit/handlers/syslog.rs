//! Syslog, local or remote: RFC 5424 in datagrams, or in one stream with octet counting.

use std::io;
use std::path::PathBuf;

use octroi_core::audit::Level;
use octroi_core::config::SyslogAddress;
use octroi_core::time::show_time;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpStream, UdpSocket, UnixDatagram};
use tokio::sync::Mutex;

use super::delivery::Delivery;
use super::{AuditHandler, Handling};

/// Security and authorization messages.
const FACILITY: u8 = 10;
/// The maximum size of a datagram.
const DATAGRAM_BYTES: usize = 60_000;

/// A syslog receiver.
pub(super) struct Syslog {
    address: SyslogAddress,
    process: u32,
    /// Kept from one batch to the next.
    stream: Mutex<Option<TcpStream>>,
}

impl Syslog {
    pub(super) fn new(address: &SyslogAddress) -> Self {
        Self { address: address.clone(), process: std::process::id(), stream: Mutex::default() }
    }

    async fn send(&self, events: &[Delivery]) -> io::Result<()> {
        match &self.address {
            SyslogAddress::Udp(address) => {
                let target = tokio::net::lookup_host(address).await?.next();
                let target = target.ok_or_else(|| io::Error::other("the name has no address"))?;
                let own = if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(own).await?;
                socket.connect(target).await?;
                for event in events {
                    socket.send(self.message(event, DATAGRAM_BYTES).as_bytes()).await?;
                }
            }
            SyslogAddress::Unix(path) => self.send_here(path, events).await?,
            SyslogAddress::Tcp(address) => {
                let mut kept = self.stream.lock().await;
                let mut stream = match kept.take() {
                    Some(stream) if is_open(&stream) => stream,
                    _ => TcpStream::connect(address).await?,
                };
                let mut bytes = Vec::new();
                for event in events {
                    let message = self.message(event, usize::MAX);
                    bytes.extend_from_slice(format!("{} ", message.len()).as_bytes());
                    bytes.extend_from_slice(message.as_bytes());
                }
                stream.write_all(&bytes).await?;
                stream.flush().await?;
                *kept = Some(stream);
            }
        }
        Ok(())
    }

    async fn send_here(&self, path: &PathBuf, events: &[Delivery]) -> io::Result<()> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        for event in events {
            socket.send(self.message(event, DATAGRAM_BYTES).as_bytes()).await?;
        }
        Ok(())
    }

    /// One message. If it is too long, the context is dropped.
    pub(super) fn message(&self, event: &Delivery, bytes_max: usize) -> String {
        let severity = match event.level() {
            Level::Info => 6,
            Level::Warn => 4,
            Level::Error => 3,
        };
        let priority = FACILITY * 8 + severity;
        let at = show_time(i64::try_from(event.at_ms()).unwrap_or(i64::MAX));
        let head = format!("<{priority}>1 {at} - octroi {} {} - ", self.process, event.kind());
        let mut text = event.to_json();
        if head.len() + text.len() > bytes_max {
            text = without_context(&text);
        }
        let mut message = head + &text;
        // A name of this length is not legitimate; truncating is better than losing the message.
        let mut end = message.len().min(bytes_max);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message
    }
}

fn without_context(text: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.insert("context".to_owned(), serde_json::json!({"left_out": "too large"}));
    }
    value.to_string()
}

/// Whether the peer has not closed the stream. It never sends anything, so readable means closed.
fn is_open(stream: &TcpStream) -> bool {
    let mut byte = [0];
    matches!(stream.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

impl AuditHandler for Syslog {
    fn handle<'a>(&'a self, events: &'a [Delivery]) -> Handling<'a> {
        Box::pin(async move { Ok(self.send(events).await?) })
    }
}
