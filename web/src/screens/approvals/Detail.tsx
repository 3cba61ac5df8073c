// One call: what it would do, why somebody is asked, how it differs from the last one.

import type { Approval, ApprovalContext, CallFacts } from "@/api/types";
import { losesNumbers, parse } from "@/lib/json";
import { toolName } from "@/lib/snippets";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import {
  Button,
  Code,
  Diff,
  Facts,
  JsonView,
  Link,
  Notice,
  PageHeader,
  Section,
  TimeAgo,
  TimeLeft,
  Untrusted,
} from "@/ui";
import { DecisionPanel, type DecisionPort } from "./Decision";
import { ApprovalState, Effects, Risk } from "./words";

export interface DetailProps {
  approval: Approval;
  /** What helps to decide; nothing until it is read. */
  context: ApprovalContext | null;
  revealed: ReadonlyMap<string, string>;
  onReveal(path: string): void;
  port: DecisionPort;
  /** Takes the rule back that was saved with the decision. */
  onForgetRule(): void;
}

export function Detail({ approval, context, revealed, onReveal, port, onForgetRule }: DetailProps) {
  const t = useText();
  return (
    <article className="approval">
      <PageHeader
        title={<Untrusted text={toolName(approval.tool)} length={200} />}
        text={<ApprovalState state={approval.state} />}
        actions={
          approval.state === "pending" && (
            <span className="muted">
              {t("approvals.left")} <TimeLeft until={approval.expires_at} />
            </span>
          )
        }
      />
      <div className="page-body">
        <About approval={approval} />
        <FactNotes facts={context?.facts ?? null} />
        <Section title={t("approvals.arguments")}>
          <Arguments approval={approval} revealed={revealed} onReveal={onReveal} />
        </Section>
        {approval.state !== "pending" && <Outcome approval={approval} onForgetRule={onForgetRule} />}
        {context?.last_call && (
          <Section
            title={t("approvals.diff")}
            actions={
              <Link to={urls.call(context.last_call.id)}>
                <TimeAgo at={context.last_call.at_ms} />
              </Link>
            }
          >
            <Diff
              before={context.last_call.arguments}
              after={argumentsOf(approval)}
              label={t("approvals.diff")}
            />
          </Section>
        )}
        {context && context.similar.length > 0 && <Similar context={context} />}
      </div>
      {approval.state === "pending" && <DecisionPanel key={approval.id} approval={approval} port={port} />}
    </article>
  );
}

function About({ approval }: { approval: Approval }) {
  const t = useText();
  return (
    <Facts
      rows={[
        [
          t("approvals.agent"),
          approval.agent_id === null ? (
            <Untrusted key="who" text={approval.principal} isLine />
          ) : (
            <Link key="who" to={urls.agent(approval.agent_id)}>
              <Untrusted text={approval.agent_id} isLine />
            </Link>
          ),
        ],
        approval.agent_id !== null && [
          t("approvals.owner"),
          <Untrusted key="owner" text={approval.principal} isLine />,
        ],
        [t("approvals.risk"), <Risk key="risk" level={approval.risk} />],
        [t("approvals.effects"), <Effects key="effects" tags={approval.side_effects} />],
        [
          t("approvals.why"),
          <ul key="why">
            {approval.reasons.map(reason => (
              <li key={reason}>
                <Untrusted text={reason} />
              </li>
            ))}
          </ul>,
        ],
        approval.approvers !== undefined && [
          t("approvals.approvers"),
          <Untrusted key="approvers" text={approval.approvers} />,
        ],
        [t("approvals.requested"), <TimeAgo key="requested" at={approval.requested_at} />],
        [
          t("approvals.records"),
          <Link key="records" to={urls.call(approval.invocation_id)}>
            {t("approvals.open_call")}
          </Link>,
        ],
      ]}
    />
  );
}

/** What the arguments would touch, with what is out of the ordinary first. */
function FactNotes({ facts }: { facts: CallFacts | null }) {
  const t = useText();
  const format = useFormat();
  if (!facts) return null;
  const alarming = [
    ["facts.outside", facts.paths_outside_project],
    ["facts.secrets", facts.secrets],
  ] as const;
  const plain = [
    ["facts.paths", facts.paths.filter(path => !facts.paths_outside_project.includes(path))],
    ["facts.hosts", facts.hosts],
    ["facts.sql", facts.sql_verbs],
    ["facts.shell", facts.shell_heads],
  ] as const;
  return (
    <Section title={t("facts.title")}>
      {alarming.map(
        ([key, values]) =>
          values.length > 0 && (
            <Notice key={key} tone="danger">
              <strong>{t(key)}</strong>
              <Untrusted text={values.join("\n")} lines={6} />
            </Notice>
          ),
      )}
      {facts.is_first_use && <Notice tone="warn">{t("facts.first")}</Notice>}
      <Facts
        rows={[
          ...plain.map(([key, values]) =>
            values.length === 0
              ? null
              : ([
                  t(key),
                  <Untrusted key={key} text={values.join("\n")} lines={6} className="mono" />,
                ] as const),
          ),
          [t("facts.size"), format.bytes(facts.payload_bytes)],
          [t("facts.recent"), format.number(facts.calls_last_minute)],
        ]}
      />
    </Section>
  );
}

/** The arguments as a value; the short form of lists where there is no more. */
export function argumentsOf(approval: Approval): unknown {
  if (approval.arguments === null) return approval.args;
  const read = parse(approval.arguments);
  return read.ok ? read.value : approval.arguments;
}

function Arguments({
  approval,
  revealed,
  onReveal,
}: Pick<DetailProps, "approval" | "revealed" | "onReveal">) {
  const t = useText();
  if (approval.arguments_kept !== "whole") {
    return <p className="muted">{t(`approvals.arguments_${approval.arguments_kept}`)}</p>;
  }
  const value = argumentsOf(approval);
  const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
  // A tree would show another number than the one that is sent.
  const isText = approval.arguments !== null && losesNumbers(approval.arguments);
  const masked = approval.masked ?? [];
  const unnamed = masked.filter(one => isText || /(^|\/)#\d+/.test(one.path));
  return (
    <>
      {isEmpty && <p className="muted">{t("approvals.no_arguments")}</p>}
      {!isEmpty && isText && <Code text={approval.arguments ?? ""} label={t("approvals.arguments")} />}
      {!isEmpty && !isText && (
        <div className="panel panel--pad">
          <JsonView value={value} masked={masked} revealed={revealed} onReveal={onReveal} />
        </div>
      )}
      {approval.other_params !== null && approval.other_params !== undefined && (
        <>
          <h3>{t("approvals.other")}</h3>
          <div className="panel panel--pad">
            <JsonView
              value={approval.other_params}
              masked={masked}
              revealed={revealed}
              onReveal={onReveal}
              path="other_params"
            />
          </div>
        </>
      )}
      {unnamed.map(one => (
        <div key={one.path} className="button-row">
          <code>
            <Untrusted text={one.path} isLine />
          </code>
          {revealed.has(one.path) ? (
            <Untrusted text={revealed.get(one.path) ?? ""} className="mono" />
          ) : (
            <Button isSmall onClick={() => onReveal(one.path)}>
              {t("json.reveal")}
            </Button>
          )}
        </div>
      ))}
    </>
  );
}

function Outcome({ approval, onForgetRule }: Pick<DetailProps, "approval" | "onForgetRule">) {
  const t = useText();
  return (
    <Section title={t("approvals.decision")}>
      <Facts
        rows={[
          [t("approvals.state"), <ApprovalState key="state" state={approval.state} />],
          approval.decided_by !== null && [
            t("approvals.decided_by"),
            <Untrusted key="by" text={approval.decided_by} isLine />,
          ],
          approval.decided_at !== null && [
            t("approvals.decided_at"),
            <TimeAgo key="at" at={approval.decided_at} />,
          ],
          approval.reason !== null && [
            t("approvals.reason"),
            <Untrusted key="reason" text={approval.reason} />,
          ],
          approval.edited && [t("approvals.edited"), t("approvals.edited_yes")],
          approval.outcome !== null && [
            t("approvals.outcome"),
            <Untrusted key="outcome" text={approval.outcome} isLine />,
          ],
        ]}
      />
      {approval.remembered_rule !== null && (
        <>
          <h3>{t("approvals.rule_saved")}</h3>
          <Code text={approval.remembered_rule} label={t("approvals.rule_saved")} />
          <div>
            <Button onClick={onForgetRule}>{t("approvals.rule_remove")}</Button>
          </div>
        </>
      )}
    </Section>
  );
}

function Similar({ context }: { context: ApprovalContext }) {
  const t = useText();
  return (
    <Section title={t("approvals.similar")}>
      <ul className="timeline">
        {context.similar.map(past => (
          <li key={past.id}>
            <ApprovalState state={past.state} />
            <span className="muted">
              {past.by !== null && <Untrusted text={past.by} isLine />}{" "}
              {past.at !== null && <TimeAgo at={past.at} />}
            </span>
            {past.same_arguments && <span className="badge">{t("approvals.same_arguments")}</span>}
            {past.reason !== null && <Untrusted text={past.reason} />}
            <Link to={urls.approval(past.id, { part: "history" })}>{t("approvals.open")}</Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
