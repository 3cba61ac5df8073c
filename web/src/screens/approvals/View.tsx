// Calls that wait for a person: the inbox, the chosen one, and what was decided.

import { Bell } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Approval } from "@/api/types";
import { toolName } from "@/lib/snippets";
import { useText } from "@/messages";
import {
  Button,
  Dialog,
  ErrorBox,
  FilterBar,
  Input,
  PageHeader,
  Select,
  SplitView,
  Tabs,
  Untrusted,
} from "@/ui";
import { Inbox } from "./Inbox";

export type Part = "pending" | "history";
export type ManyDecision = "approve" | "deny_continue" | "deny_abort";

export interface ApprovalsViewProps {
  part: Part;
  approvals: readonly Approval[];
  selected: string | null;
  detail: ReactNode | null;
  agent: string | null;
  query: string;
  onPart(part: Part): void;
  onOpen(id: string): void;
  onClose(): void;
  onFilter(values: { agent?: string | null; q?: string | null }): void;
  onDecideMany(ids: readonly string[], decision: ManyDecision, reason: string): void;
  isDeciding: boolean;
  error: unknown;
  /** Asks for permission to notify; nothing if it was given or refused. */
  onNotify: (() => void) | null;
}

export function ApprovalsView(props: ApprovalsViewProps) {
  const { part, approvals, selected, agent, query, onFilter } = props;
  const t = useText();
  const [marks, setMarks] = useState<ReadonlySet<string>>(new Set());
  const shown = approvals.filter(
    one =>
      (agent === null || one.agent_id === agent) &&
      (query === "" || toolName(one.tool).toLowerCase().includes(query.toLowerCase())),
  );
  // A call that was decided elsewhere is not marked any more.
  const marked = new Set(shown.filter(one => marks.has(one.id)).map(one => one.id));
  const mark = (id: string) => {
    const next = new Set(marked);
    if (!next.delete(id)) next.add(id);
    setMarks(next);
  };
  const agents = [...new Set(approvals.flatMap(one => one.agent_id ?? []))].sort();
  const inbox = (
    <Inbox
      part={part}
      approvals={shown}
      selected={selected}
      marked={marked}
      onOpen={props.onOpen}
      onMark={mark}
      hasFilters={agent !== null || query !== ""}
    />
  );
  return (
    <div className="screen">
      <PageHeader
        title={t("nav.approvals")}
        actions={
          props.onNotify && (
            <Button look="quiet" icon={<Bell size={14} aria-hidden />} onClick={props.onNotify}>
              {t("approvals.notify")}
            </Button>
          )
        }
      />
      <div className="page-tools">
        <FilterBar
          chips={agent === null ? [] : [{ key: "agent", name: t("approvals.agent"), value: agent }]}
          onRemove={() => onFilter({ agent: null })}
          onClear={() => onFilter({ agent: null, q: null })}
        >
          <Input
            type="search"
            value={query}
            placeholder={t("approvals.search")}
            aria-label={t("approvals.search")}
            onChange={event => onFilter({ q: event.target.value })}
          />
          {agent === null && agents.length > 1 && (
            <Select
              aria-label={t("approvals.agent")}
              value=""
              options={[
                { value: "", label: t("approvals.any_agent") },
                ...agents.map(value => ({ value, label: value })),
              ]}
              onChange={event => onFilter({ agent: event.target.value })}
            />
          )}
        </FilterBar>
      </div>
      {part === "pending" && marked.size > 0 && (
        <Many
          {...props}
          marked={shown.filter(one => marked.has(one.id))}
          onClear={() => setMarks(new Set())}
        />
      )}
      <div className="approvals-body">
        <SplitView
          label={t("approvals.chosen")}
          detail={props.detail}
          onClose={props.onClose}
          list={
            <Tabs
              label={t("nav.approvals")}
              active={part}
              onChange={props.onPart}
              tabs={[
                { key: "pending", label: t("approvals.pending"), content: part === "pending" && inbox },
                { key: "history", label: t("approvals.history"), content: part === "history" && inbox },
              ]}
            />
          }
        />
      </div>
    </div>
  );
}

type ManyProps = Pick<ApprovalsViewProps, "onDecideMany" | "isDeciding" | "error"> & {
  marked: readonly Approval[];
  onClear(): void;
};

/** Several at once: they are listed by tool before anything is decided. */
function Many({ marked, onDecideMany, isDeciding, error, onClear }: ManyProps) {
  const t = useText();
  const [decision, setDecision] = useState<ManyDecision | null>(null);
  const [reason, setReason] = useState("");
  const tools = new Map<string, number>();
  for (const one of marked) tools.set(one.tool, (tools.get(one.tool) ?? 0) + 1);
  const confirm = () => {
    if (decision === null) return;
    onDecideMany(
      marked.map(one => one.id),
      decision,
      reason.trim(),
    );
    setDecision(null);
    onClear();
  };
  return (
    <div className="page-tools" role="status">
      <strong>{t("approvals.marked", { count: marked.length })}</strong>
      <Button isSmall look="primary" isBusy={isDeciding} onClick={() => setDecision("approve")}>
        {t("approvals.approve")}
      </Button>
      <Button isSmall isBusy={isDeciding} onClick={() => setDecision("deny_continue")}>
        {t("approvals.deny")}
      </Button>
      <Button isSmall isBusy={isDeciding} onClick={() => setDecision("deny_abort")}>
        {t("approvals.deny_stop")}
      </Button>
      <Button isSmall look="quiet" onClick={onClear}>
        {t("approvals.unmark")}
      </Button>
      {error != null && <ErrorBox error={error} />}
      <Dialog
        isOpen={decision !== null}
        onClose={() => setDecision(null)}
        title={t(decision === "approve" ? "approvals.many_approve" : "approvals.many_deny", {
          count: marked.length,
        })}
        description={t("approvals.many_text")}
        foot={
          <>
            <Button onClick={() => setDecision(null)}>{t("common.cancel")}</Button>
            <Button look={decision === "approve" ? "primary" : "danger"} onClick={confirm}>
              {t(`approvals.many_do_${decision ?? "approve"}`)}
            </Button>
          </>
        }
      >
        <ul className="section">
          {[...tools].map(([tool, n]) => (
            <li key={tool} className="button-row">
              <span className="badge">{n}</span>
              <Untrusted text={toolName(tool)} isLine />
            </li>
          ))}
        </ul>
        <Input
          value={reason}
          aria-label={t("approvals.reason")}
          placeholder={t("approvals.reason")}
          onChange={event => setReason(event.target.value)}
        />
      </Dialog>
    </div>
  );
}
