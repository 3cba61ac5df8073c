// One call: every gate with its reason, what was sent and answered, and what another policy would decide.

import { useState } from "react";
import type { CallDetail as Detail } from "@/api/types";
import { callLine, toolName } from "@/lib/snippets";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import {
  Button,
  Code,
  Command,
  Duration,
  Exact,
  Facts,
  JsonView,
  Link,
  Notice,
  PageHeader,
  Section,
  TimeAgo,
  Untrusted,
} from "@/ui";
import { Effects, Risk } from "../approvals/words";
import { WhatIf, type WhatIfPort } from "./WhatIf";
import { Decision, Outcome } from "./words";

export function CallView({ call, whatIf }: { call: Detail; whatIf: WhatIfPort }) {
  const t = useText();
  const [isAsking, setAsking] = useState(false);
  return (
    <article>
      <PageHeader
        title={<Untrusted text={toolName(call.tool)} length={200} />}
        text={<Outcome value={call.outcome} />}
        actions={call.duration_ms !== null && <Duration ms={call.duration_ms} />}
      />
      <div className="page-body">
        <About call={call} />
        <Section
          title={t("call.why")}
          actions={
            call.request.is_whole &&
            call.caller.agent !== null && (
              <Button isSmall aria-expanded={isAsking} onClick={() => setAsking(!isAsking)}>
                {t("call.what_if")}
              </Button>
            )
          }
        >
          {call.decided.reason !== null && (
            <Notice tone={call.decided.decision?.startsWith("deny") ? "warn" : "info"}>
              <Untrusted text={call.decided.reason} />
              {call.decided.rule !== null && (
                <code>
                  <Untrusted text={call.decided.rule} />
                </code>
              )}
            </Notice>
          )}
          {isAsking && <WhatIf call={call} port={whatIf} />}
          <Gates gates={call.gates} />
        </Section>
        <Request call={call} />
        <Answer answer={call.answer} />
        <Events call={call} />
        {call.request.is_whole && (
          <Section title={t("call.again")}>
            <div>
              <Command line={callLine(call.tool, call.request.arguments, call.caller.agent)} />
            </div>
          </Section>
        )}
      </div>
    </article>
  );
}

function About({ call }: { call: Detail }) {
  const t = useText();
  const { caller, request } = call;
  return (
    <Facts
      rows={[
        [t("activity.at"), <Exact key="at" at={call.at_ms} />],
        caller.agent !== null && [
          t("activity.agent"),
          <Link key="agent" to={urls.agent(caller.agent)}>
            <Untrusted text={caller.agent} isLine />
          </Link>,
        ],
        caller.owner !== null && [t("call.owner"), <Untrusted key="owner" text={caller.owner} isLine />],
        caller.person !== null && [t("call.person"), <Untrusted key="person" text={caller.person} isLine />],
        caller.session !== null && [
          t("activity.session"),
          <Link key="session" to={urls.activity({ session: caller.session })}>
            <Untrusted text={caller.session} isLine />
          </Link>,
        ],
        call.server !== null && [
          t("activity.server"),
          <Link key="server" to={urls.server(call.server)}>
            <Untrusted text={call.server} isLine />
          </Link>,
        ],
        request.risk !== null && [t("approvals.risk"), <Risk key="risk" level={request.risk} />],
        [t("approvals.effects"), <Effects key="effects" tags={request.side_effects} />],
        request.mode !== null && [t("call.mode"), <Untrusted key="mode" text={request.mode} isLine />],
        call.approval !== null && [
          t("call.approval"),
          <Link key="approval" to={urls.approval(call.approval, { part: "history" })}>
            {t("approvals.open")}
          </Link>,
        ],
        [
          t("call.record"),
          <Link key="record" to={urls.record(call.seq)}>
            {t("call.record_number", { number: call.seq })}
          </Link>,
        ],
      ]}
    />
  );
}

function Gates({ gates }: { gates: Detail["gates"] }) {
  const t = useText();
  if (gates.length === 0) return <p className="muted">{t("call.no_gates")}</p>;
  return (
    <ol className="steps">
      {gates.map((gate, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the gates of one call never change places
        <li key={i}>
          <span className="strong">
            <Untrusted text={gate.gate} isLine />
          </span>
          <Decision value={gate.outcome} />
          <div className="steps-text muted">
            {gate.reason !== null && <Untrusted text={gate.reason} />}
            {gate.by !== null && (
              <code>
                <Untrusted text={gate.by} />
              </code>
            )}
            {gate.answered_by !== null && (
              <span>
                {t("call.answered_by")} <Untrusted text={gate.answered_by} isLine />
              </span>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

function Request({ call }: { call: Detail }) {
  const t = useText();
  const { arguments: args, other_params: other, is_whole } = call.request;
  const isEmpty = args === null || (typeof args === "object" && Object.keys(args).length === 0);
  return (
    <Section title={t("approvals.arguments")}>
      {isEmpty ? (
        <p className="muted">{t("approvals.no_arguments")}</p>
      ) : typeof args === "string" ? (
        <Code text={args} label={t("approvals.arguments")} />
      ) : (
        <div className="panel panel--pad">
          <JsonView value={args} />
        </div>
      )}
      {!is_whole && <p className="muted">{t("call.shortened")}</p>}
      {other !== null && other !== undefined && (
        <>
          <h3>{t("approvals.other")}</h3>
          <div className="panel panel--pad">
            <JsonView value={other} />
          </div>
        </>
      )}
    </Section>
  );
}

function Answer({ answer }: { answer: Detail["answer"] }) {
  const t = useText();
  const format = useFormat();
  return (
    <Section title={t("call.answer")}>
      {answer === null ? (
        <p className="muted">{t("call.no_answer")}</p>
      ) : (
        <>
          <Facts
            rows={[
              [t("activity.outcome"), <Outcome key="outcome" value={answer.outcome} />],
              answer.bytes !== null && [t("facts.size"), format.bytes(answer.bytes)],
            ]}
          />
          {answer.summary !== null && <Code text={answer.summary} label={t("call.answer")} />}
        </>
      )}
    </Section>
  );
}

function Events({ call }: { call: Detail }) {
  const t = useText();
  const first = call.events[0]?.at_ms ?? call.at_ms;
  return (
    <Section title={t("call.events")}>
      <ol className="steps">
        {call.events.map(event => (
          <li key={event.seq}>
            <Link to={urls.record(event.seq)} className="mono">
              <Untrusted text={event.kind} isLine />
            </Link>
            <span className="muted nowrap">
              {event.at_ms === first ? (
                <TimeAgo at={event.at_ms} />
              ) : (
                <span>
                  +<Duration ms={event.at_ms - first} />
                </span>
              )}
            </span>
            <div className="steps-text">
              <Untrusted text={event.what} isLine />{" "}
              <span className="muted">
                <Untrusted text={event.by} isLine />
              </span>
              {event.reason !== null && <Untrusted text={event.reason} />}
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}
