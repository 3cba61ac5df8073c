// One call: what it would do, why it asks, and the decision.

import { useEffect, useState } from "react";
import type { Approval } from "../../api/types";
import { resource } from "../../api/uri";
import { oneLine } from "../../lib/untrusted";
import { urls } from "../../lib/urls";
import { useOperation, useQueryOperation } from "../../mcp/hooks";
import { useText } from "../../messages";
import {
  Badge,
  Button,
  Code,
  EmptyState,
  Facts,
  Field,
  JsonView,
  KeyHint,
  Loaded,
  Section,
  Textarea,
  TimeAgo,
  TimeLeft,
  Untrusted,
  useLocation,
  useToast,
} from "../../ui";
import { ApprovalState, Risk } from "./states";
import "./approvals.css";

export function ApprovalDetail({ id }: { id: string }) {
  const t = useText();
  const query = useQueryOperation("approvals_get", { id }, { changesWith: [resource("pendingApprovals")] });
  if (query.error?.failure.code === "not_found") return <EmptyState title={t("approvals.gone")} />;
  return <Loaded query={query}>{approval => <Detail approval={approval} />}</Loaded>;
}

function Detail({ approval }: { approval: Approval }) {
  const t = useText();
  const caller = approval.agent_id ?? approval.principal;
  const { decided_by, decided_at, reason } = approval;
  return (
    <article className="page-body approval">
      <header>
        <h2>
          <Untrusted text={t("approvals.wants", { caller, tool: approval.tool })} />
        </h2>
        <p className="approval-line">
          <ApprovalState state={approval.state} />
          <TimeAgo at={approval.requested_at} />
          <code className="muted">{approval.id}</code>
        </p>
      </header>
      <Facts
        rows={[
          [t("approvals.caller"), <Untrusted key="caller" text={approval.principal} />],
          [t("approvals.risk"), <Risk key="risk" risk={approval.risk} />],
          [t("approvals.effects"), <Effects key="effects" effects={approval.side_effects} />],
          [
            t("approvals.why"),
            approval.reasons.map(reason => (
              <p key={reason}>
                <Untrusted text={reason} />
              </p>
            )),
          ],
          approval.state === "pending" && [
            t("approvals.expires"),
            <TimeLeft key="left" until={approval.expires_at} />,
          ],
          decided_by !== null && [
            t("approvals.decided_by"),
            <span key="by" className="approval-line">
              <Untrusted text={decided_by} />
              {decided_at && <TimeAgo at={decided_at} />}
            </span>,
          ],
          reason !== null && [t("approvals.reason"), <Untrusted key="reason" text={reason} />],
        ]}
      />
      <Section title={t("approvals.arguments")}>
        <Arguments approval={approval} />
      </Section>
      {approval.other_params != null && (
        <Section title={t("approvals.other")}>
          <JsonView value={approval.other_params} />
        </Section>
      )}
      {approval.state === "pending" && <Decision approval={approval} />}
    </article>
  );
}

function Effects({ effects }: { effects: string[] }) {
  const t = useText();
  if (effects.length === 0) return t("approvals.no_effects");
  return (
    <span className="approval-line">
      {effects.map(effect => (
        <Badge key={effect}>
          <Untrusted text={effect} isLine />
        </Badge>
      ))}
    </span>
  );
}

function Arguments({ approval }: { approval: Approval }) {
  const t = useText();
  if (approval.arguments_kept === "removed")
    return <p className="muted">{t("approvals.arguments_removed")}</p>;
  if (approval.arguments_kept === "unreadable") {
    return <p className="muted">{t("approvals.arguments_unreadable")}</p>;
  }
  const value = argumentsOf(approval);
  if (isNothing(value)) return <p className="muted">{t("approvals.no_arguments")}</p>;
  // A tree would show other numbers than were sent.
  if (approval.arguments && /\d{16,}|[eE][+-]?\d{3}/.test(approval.arguments)) {
    return <Code text={approval.arguments} label={t("approvals.arguments")} />;
  }
  return <JsonView value={value} masked={approval.masked ?? []} />;
}

function argumentsOf(approval: Approval): unknown {
  if (!approval.arguments) return approval.args;
  try {
    return JSON.parse(approval.arguments) as unknown;
  } catch {
    return approval.arguments;
  }
}

function isNothing(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

type Choice = "approve" | "deny_continue" | "deny_abort";

function Decision({ approval }: { approval: Approval }) {
  const t = useText();
  const toast = useToast();
  const { navigate } = useLocation();
  const [reason, setReason] = useState("");
  const { mutate, isPending, variables } = useOperation("agents_decide_request");
  const decide = (decision: Choice) => {
    if (isPending) return;
    const given = reason.trim();
    mutate(
      { call_id: approval.id, decision, ...(given !== "" && { reason: given }) },
      {
        onSuccess: () => {
          const tool = oneLine(approval.tool, 80);
          toast.done({
            title: t(decision === "approve" ? "approvals.approved" : "approvals.denied", { tool }),
          });
          navigate(urls.approvals());
        },
        onError: ({ failure: { message, hint } }) =>
          toast.failed({ title: oneLine(message, 200), ...(hint && { description: oneLine(hint, 200) }) }),
      },
    );
  };
  useKeys({ a: () => decide("approve"), d: () => decide("deny_continue") });
  const isBusy = (decision: Choice) => isPending && variables?.decision === decision;
  return (
    <footer className="decision">
      {approval.approvers && (
        <p className="muted">{t("approvals.for_others", { who: oneLine(approval.approvers, 200) })}</p>
      )}
      <Field label={t("approvals.reason")} help={t("approvals.reason_about")}>
        <Textarea value={reason} rows={2} onChange={event => setReason(event.currentTarget.value)} />
      </Field>
      <div className="decision-buttons">
        <Button look="primary" isBusy={isBusy("approve")} onClick={() => decide("approve")}>
          {t("approvals.approve")}
          <KeyHint keys="A" />
        </Button>
        <Button isBusy={isBusy("deny_continue")} onClick={() => decide("deny_continue")}>
          {t("approvals.deny")}
          <KeyHint keys="D" />
        </Button>
        <Button look="quiet" isBusy={isBusy("deny_abort")} onClick={() => decide("deny_abort")}>
          {t("approvals.deny_stop")}
        </Button>
      </div>
    </footer>
  );
}

/** Keys that do something while nobody types. */
function useKeys(keys: Record<string, () => void>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof Element &&
        event.target.closest("input, textarea, select, [role=menu]") !== null;
      if (event.metaKey || event.ctrlKey || event.altKey || event.repeat || isTyping) return;
      keys[event.key]?.();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  });
}
