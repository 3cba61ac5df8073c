//! The reference page of errors.

use std::fmt::Write as _;

use super::{NOTICE, cell};
use crate::error::{ErrorCode, Exit};
use crate::messages::{Language, Texts};
use crate::route::Subject;

/// `docs/errors.md`.
pub fn errors() -> String {
    let mut page = String::from("# Errors\n\n");
    page.push_str(NOTICE);
    page.push_str(
        "\nEvery error has a stable code, a message for people and a hint. Programs compare the code.\n\
         In a JSON-RPC error it is `data.code`; in a result of `tools/call` with `isError` it is \
         `_meta[\"octroi/error\"].code`. Both also have `hint`, and `reason` for a denial by a gate or a rule.\n\n\
         ## Codes\n\n\
         | Code | JSON-RPC | In `tools/call` | HTTP | Exit code | Fault | Retry | Meaning | Hint | Hint for agents |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let spec = code.spec();
        let answered = if spec.in_result { "result with `isError`" } else { "error" };
        let _ = writeln!(
            page,
            "| `{}` | {} | {answered} | {} | {} | {} | {} | {} | {} | {} |",
            spec.word,
            spec.rpc,
            spec.http,
            spec.exit.code(),
            spec.fault.as_str(),
            spec.retry.as_str(),
            cell(spec.about),
            cell(spec.hint),
            cell(spec.agent_hint.unwrap_or_default()),
        );
    }
    page.push_str(
        "\n*HTTP* is the status where Octroi refuses the request itself, before anybody reads what it asks for \
         (token, Host, Origin, limits, body, headers, protocol version), and the status in REST. Every other JSON-RPC \
         error and result travels with status 200, except `method_not_found` in the modern era.\n\n\
         *Hint for agents* is what agents get instead, where they cannot follow the hint themselves.\n\n\
         If a server reports an unknown resource, clients of the legacy era get the code -32002. *Fault* says who can \
         fix the error: the client, this gateway, or a server behind it. *Retry* says whether the same request can \
         succeed when it is repeated: `yes` immediately, `after` some time or a decision.\n\n\
         Denials (-32950, -32951, -32953 to -32955) are sent as results with `isError` where `errors = \"result\"` is set \
         under `[policy]` or for a token.\n\n\
         [REST](rest.md) answers errors as problem details, with the texts below.\n\n\
         ## Exit codes of the command line\n\n| Exit code | Meaning |\n|---|---|\n",
    );
    for exit in Exit::ALL {
        let _ = writeln!(page, "| {} | {} |", exit.code(), exit.about());
    }
    page.push_str(
        "\n## Texts\n\nThe titles and messages of REST and of the web interface, in English and Chinese. `{details}` stands \
         for the exact text of the error. About servers, some are more exact.\n\n\
         | Code | Title | Message | 标题 | 说明 |\n|---|---|---|---|---|\n",
    );
    for (subject, about) in [(Subject::Anything, ""), (Subject::Server, " (server)")] {
        for code in ErrorCode::ALL {
            let [english, chinese] = Language::ALL.map(|language| Texts::of(code, subject, language));
            if subject == Subject::Server && english == Texts::of(code, Subject::Anything, Language::English)
            {
                continue;
            }
            let texts = [english.title, english.message, chinese.title, chinese.message].map(cell);
            let _ = writeln!(page, "| `{code}`{about} | {} |", texts.join(" | "));
        }
    }
    page
}
