// The policy of a level: edited, tested, replayed over past calls, and only then applied.

import { useState } from "react";
import type { Agent, Complaint, PolicyVersion, Replay, TestedPolicy } from "@/api/types";
import { toolName } from "@/lib/snippets";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import {
  Badge,
  Button,
  type Column,
  Diff,
  EmptyState,
  ErrorBox,
  Input,
  Link,
  Notice,
  PageHeader,
  Section,
  Select,
  Status,
  Table,
  TimeAgo,
  Untrusted,
} from "@/ui";
import { Decision } from "../activity/words";
import { Editor } from "./Editor";

export type Level = "floor" | "global" | "agent";

interface Run<T> {
  data: T | undefined;
  error: unknown;
  isBusy: boolean;
  run(): void;
}

export interface PoliciesViewProps {
  level: Level;
  agent: string | null;
  agents: readonly Agent[];
  onLevel(level: Level, agent: string | null): void;
  active: string;
  /** The file that has it, if one does; then it is changed there. */
  file: string | null;
  mayApply: boolean;
  text: string;
  onText(text: string): void;
  complaints: readonly Complaint[];
  test: Run<TestedPolicy>;
  replay: Run<Replay>;
  apply: Run<unknown>;
  history: readonly PolicyVersion[];
  proposals: readonly PolicyVersion[];
  onApprove(id: number): void;
  onReject(id: number, reason: string): void;
}

export function PoliciesView(props: PoliciesViewProps) {
  const { level, agent, agents, active, text, complaints, file } = props;
  const t = useText();
  const isChanged = text !== active;
  const isEditable = props.mayApply && file === null;
  return (
    <div className="screen">
      <PageHeader title={t("nav.policies")} />
      <div className="page-tools">
        <Select
          aria-label={t("policies.level")}
          value={level}
          options={[
            { value: "floor", label: t("agents.level.floor") },
            { value: "global", label: t("agents.level.global") },
            ...(agents.length > 0 ? [{ value: "agent", label: t("policies.level_agent") }] : []),
          ]}
          onChange={event => {
            const next = event.target.value as Level;
            props.onLevel(next, next === "agent" ? (agents[0]?.id ?? null) : null);
          }}
        />
        {level === "agent" && (
          <Select
            aria-label={t("approvals.agent")}
            value={agent ?? ""}
            options={agents.map(one => ({ value: one.id, label: one.name }))}
            onChange={event => props.onLevel("agent", event.target.value)}
          />
        )}
        <span className="muted">{t(`policies.about.${level}`)}</span>
      </div>
      <div className="page-body">
        <Proposals {...props} />
        {file !== null && (
          <Notice tone="info">
            {t("policies.in_file")}
            <code>
              <Untrusted text={file} />
            </code>
          </Notice>
        )}
        <Editor text={text} isReadOnly={!isEditable} complaints={complaints} onChange={props.onText} />
        <Actions {...props} isChanged={isChanged} />
        {isChanged && (
          <Section title={t("policies.diff")}>
            <Diff before={active} after={text} label={t("policies.diff")} />
          </Section>
        )}
        <Tests test={props.test} />
        <Replayed replay={props.replay} />
        <History {...props} isEditable={isEditable} />
      </div>
    </div>
  );
}

function Actions(props: PoliciesViewProps & { isChanged: boolean }) {
  const { test, replay, apply, complaints, isChanged } = props;
  const t = useText();
  return (
    <>
      <div className="button-row">
        <Button isBusy={test.isBusy} onClick={test.run}>
          {t("policies.test")}
        </Button>
        <Button isBusy={replay.isBusy} disabled={complaints.length > 0} onClick={replay.run}>
          {t("policies.replay")}
        </Button>
        {props.mayApply && props.file === null && (
          <Button
            look="primary"
            isBusy={apply.isBusy}
            disabled={!isChanged || complaints.length > 0}
            onClick={apply.run}
          >
            {t("policies.apply")}
          </Button>
        )}
        {isChanged && (
          <Button look="quiet" onClick={() => props.onText(props.active)}>
            {t("policies.discard")}
          </Button>
        )}
      </div>
      {apply.error != null && <ErrorBox error={apply.error} />}
    </>
  );
}

function Tests({ test }: Pick<PoliciesViewProps, "test">) {
  const t = useText();
  if (test.error != null) return <ErrorBox error={test.error} />;
  if (!test.data) return null;
  const { tests } = test.data;
  return (
    <Section title={t("policies.tests")}>
      {tests.length === 0 ? (
        <p className="muted">{t("policies.no_tests")}</p>
      ) : (
        <ul className="timeline">
          {tests.map(one => (
            <li key={`${one.line} ${one.name}`}>
              <Status tone={one.passed ? "ok" : "danger"}>
                {t(one.passed ? "policies.passed" : "policies.failed")}
              </Status>
              <Untrusted text={one.name} className="strong" />
              {!one.passed && (
                <span className="muted">
                  {t("policies.expected", { expected: one.expected })} <Untrusted text={one.got} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Replayed({ replay }: Pick<PoliciesViewProps, "replay">) {
  const t = useText();
  if (replay.error != null) return <ErrorBox error={replay.error} />;
  const { data } = replay;
  if (!data) return null;
  const unknown =
    data.cannot_tell.arguments_not_kept + data.cannot_tell.tool_gone + data.cannot_tell.unreadable;
  type Row = Replay["flips"][number];
  const columns: Column<Row>[] = [
    { key: "at", label: t("activity.at"), width: "88px", cell: flip => <TimeAgo at={flip.at_ms} /> },
    {
      key: "tool",
      label: t("activity.tool"),
      width: "minmax(140px, 2fr)",
      cell: flip => (
        <Link to={urls.record(flip.seq)}>
          <Untrusted text={toolName(flip.tool)} isLine />
        </Link>
      ),
    },
    {
      key: "agent",
      label: t("activity.agent"),
      width: "minmax(80px, 1fr)",
      cell: flip => <Untrusted text={flip.agent ?? ""} isLine />,
    },
    { key: "from", label: t("policies.from"), width: "124px", cell: flip => <Decision value={flip.from} /> },
    { key: "to", label: t("policies.to"), width: "124px", cell: flip => <Decision value={flip.to} /> },
    {
      key: "reason",
      label: t("approvals.reason"),
      width: "minmax(120px, 2fr)",
      cell: flip => <Untrusted text={flip.reason ?? flip.rule ?? ""} isLine className="muted" />,
    },
  ];
  return (
    <Section title={t("policies.replayed")}>
      <p>
        {t("policies.flips", { count: data.n_flipped, total: data.n_calls })}
        {unknown > 0 && <span className="muted"> {t("policies.cannot_tell", { count: unknown })}</span>}
      </p>
      {data.flips.length > 0 && (
        <div className="panel policy-flips">
          <Table
            label={t("policies.replayed")}
            columns={columns}
            rows={data.flips}
            keyOf={flip => String(flip.seq)}
          />
        </div>
      )}
    </Section>
  );
}

function Proposals({ proposals, onApprove, onReject }: PoliciesViewProps) {
  const t = useText();
  if (proposals.length === 0) return null;
  return (
    <Section title={t("policies.proposals")}>
      {proposals.map(one => (
        <Proposal key={one.id} of={one} onApprove={onApprove} onReject={onReject} />
      ))}
    </Section>
  );
}

function Proposal({
  of,
  onApprove,
  onReject,
}: Pick<PoliciesViewProps, "onApprove" | "onReject"> & { of: PolicyVersion }) {
  const t = useText();
  const [reason, setReason] = useState("");
  return (
    <article className="panel panel--pad section">
      <div className="section-head">
        <span className="button-row">
          <Badge tone="info">{t("policies.proposal", { number: of.id })}</Badge>
          <Untrusted text={of.author} isLine className="strong" />
          <TimeAgo at={of.created_at_ms} />
        </span>
      </div>
      {of.rationale !== null && <Untrusted text={of.rationale} />}
      {of.check?.complaints.map(one => (
        <Status key={`${one.line} ${one.message}`} tone="danger">
          <Untrusted text={one.message} />
        </Status>
      ))}
      <Diff before="" after={of.source} label={t("policies.diff")} />
      <div className="button-row">
        <Button look="primary" isSmall onClick={() => onApprove(of.id)}>
          {t("policies.approve")}
        </Button>
        <span className="policy-reason">
          <Input
            value={reason}
            aria-label={t("approvals.reason")}
            placeholder={t("approvals.reason")}
            onChange={event => setReason(event.target.value)}
          />
        </span>
        <Button
          look="danger"
          isSmall
          disabled={reason.trim() === ""}
          onClick={() => onReject(of.id, reason.trim())}
        >
          {t("policies.reject")}
        </Button>
      </div>
    </article>
  );
}

function History({ history, onText, isEditable }: PoliciesViewProps & { isEditable: boolean }) {
  const t = useText();
  return (
    <Section title={t("policies.history")}>
      {history.length === 0 && <EmptyState title={t("policies.no_history")} />}
      {history.map((version, i) => (
        <details key={version.id} className="panel panel--pad">
          <summary>
            {version.version !== null && <Badge>{version.version}</Badge>}{" "}
            <span className="muted">
              <Untrusted text={version.decided_by ?? version.author} isLine /> ·{" "}
              <TimeAgo at={version.decided_at_ms ?? version.created_at_ms} />
            </span>{" "}
            {version.rationale !== null && <Untrusted text={version.rationale} isLine />}
          </summary>
          <div className="page-stack">
            <Diff before={history[i + 1]?.source ?? ""} after={version.source} label={t("policies.diff")} />
            {isEditable && (
              <div>
                <Button isSmall onClick={() => onText(version.source)}>
                  {t("policies.take")}
                </Button>
              </div>
            )}
          </div>
        </details>
      ))}
    </Section>
  );
}
