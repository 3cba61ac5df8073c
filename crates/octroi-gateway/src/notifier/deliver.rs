//! The ways that a notice takes: a program, a webhook, the desktop.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::config::NotifySection;
use octroi_core::server::{Program, Remote};
use octroi_upstream::{PostTarget, run_once};
use tokio::time::timeout;

use super::{Notice, Notifier};

/// How long to wait before a webhook is tried again.
const TRY_AGAIN: [Duration; 2] = if cfg!(test) {
    [Duration::from_millis(10); 2]
} else {
    [Duration::from_secs(1), Duration::from_secs(4)]
};

/// What a program needs to reach the desktop, besides what every program gets.
const DESKTOP_VARIABLES: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"];

impl Notifier {
    /// Delivers a notice every configured way, at the same time.
    pub(super) async fn deliver(&self, notice: &Notice, settings: &NotifySection) {
        let json = Bytes::from(self.recorder.redact(&notice.json.to_string()));
        let text = self.recorder.redact(&notice.text);
        let command = async {
            if let Some(program) = &settings.command {
                self.note("command", self.run_program(program, &json, settings.timeout).await);
            }
        };
        let webhook = async {
            if let Some(remote) = &settings.webhook {
                self.note("webhook", self.post(remote, json.clone(), settings.timeout).await);
            }
        };
        let desktop = async {
            if settings.desktop {
                self.note("desktop", self.show(&text, settings.timeout).await);
            }
        };
        tokio::join!(command, webhook, desktop);
    }

    async fn run_program(&self, program: &Program, input: &[u8], limit: Duration) -> Result<(), String> {
        run_once("notify", program, input, limit, &self.context).await.map_err(|error| error.to_string())
    }

    /// Posts a notice. A receiver that is gone or busy is tried a few times more, one that refuses is not.
    async fn post(&self, remote: &Remote, body: Bytes, limit: Duration) -> Result<(), String> {
        let target = PostTarget::new(&self.context.http, remote).map_err(|error| error.to_string())?;
        let mut waits = TRY_AGAIN.into_iter();
        loop {
            let (why, may_pass) = match timeout(limit, target.post(body.clone())).await {
                Ok(Ok(200..300)) => return Ok(()),
                Ok(Ok(status)) => (format!("it answered HTTP {status}"), matches!(status, 429 | 500..)),
                Ok(Err(error)) => (error.to_string(), true),
                Err(_) => (format!("no answer within {} ms", limit.as_millis()), true),
            };
            match waits.next().filter(|_| may_pass) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(why),
            }
        }
    }

    async fn show(&self, text: &str, limit: Duration) -> Result<(), String> {
        let program = desktop_program(text);
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|directory| directory.join(&program.command).is_file()) {
            return Err(format!("`{}` is not installed here", program.command));
        }
        self.run_program(&program, b"", limit).await
    }
}

/// The program that shows a text on the desktop. The text is an argument of its own, never part of a script.
pub(super) fn desktop_program(text: &str) -> Program {
    const TITLE: &str = "Octroi";
    let (command, args) = if cfg!(target_os = "macos") {
        let script = "display notification (item 2 of argv) with title (item 1 of argv)";
        ("osascript", vec!["-e", "on run argv", "-e", script, "-e", "end run", TITLE, text])
    } else {
        ("notify-send", vec!["--app-name=Octroi", "--", TITLE, text])
    };
    let is_markup = command == "notify-send";
    let args =
        args.into_iter().map(|word| if is_markup && word == text { plain(word) } else { word.to_owned() });
    Program {
        command: command.to_owned(),
        args: args.collect(),
        env: std::collections::BTreeMap::new(),
        inherit_env: DESKTOP_VARIABLES.map(str::to_owned).to_vec(),
        cwd: Some(Path::new("/").to_path_buf()),
    }
}

/// Desktops on Linux may read the text as markup.
fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
