// The calls that wait, and those that are decided.

import { Inbox as InboxIcon } from "lucide-react";
import type { Approval } from "@/api/types";
import { toolName } from "@/lib/snippets";
import { useText } from "@/messages";
import { Checkbox, type Column, EmptyState, Table, TimeAgo, TimeLeft, Untrusted } from "@/ui";
import { ApprovalState, Risk } from "./words";

interface InboxProps {
  part: "pending" | "history";
  approvals: readonly Approval[];
  selected: string | null;
  marked: ReadonlySet<string>;
  onOpen(id: string): void;
  onMark(id: string): void;
  hasFilters: boolean;
}

export function Inbox({ part, approvals, selected, marked, onOpen, onMark, hasFilters }: InboxProps) {
  const t = useText();
  const call: Column<Approval> = {
    key: "call",
    label: t("approvals.call"),
    width: "minmax(120px, 1fr)",
    cell: one => (
      <div className="two-lines">
        <Untrusted text={toolName(one.tool)} isLine className="strong" />
        <span className="muted truncate">
          <Untrusted text={one.agent_id ?? one.principal} isLine />
        </span>
      </div>
    ),
  };
  const pending: Column<Approval>[] = [
    {
      key: "mark",
      label: t("approvals.mark_column"),
      isLabelHidden: true,
      width: "20px",
      cell: one => (
        <Checkbox
          label={t("approvals.mark", { tool: toolName(one.tool) })}
          isLabelHidden
          checked={marked.has(one.id)}
          onChange={() => onMark(one.id)}
        />
      ),
    },
    call,
    { key: "risk", label: t("approvals.risk"), width: "78px", cell: one => <Risk level={one.risk} /> },
    {
      key: "left",
      label: t("approvals.left"),
      width: "92px",
      isEnd: true,
      cell: one => <TimeLeft until={one.expires_at} />,
    },
  ];
  const history: Column<Approval>[] = [
    call,
    {
      key: "state",
      label: t("approvals.decision"),
      width: "128px",
      cell: one => <ApprovalState state={one.state} />,
    },
    {
      key: "at",
      label: t("approvals.decided_at"),
      width: "92px",
      isEnd: true,
      cell: one => <TimeAgo at={one.decided_at ?? one.requested_at} />,
    },
  ];
  return (
    <Table
      label={t(part === "pending" ? "approvals.pending" : "approvals.history")}
      columns={part === "pending" ? pending : history}
      rows={approvals}
      keyOf={one => one.id}
      selected={selected}
      onOpen={one => onOpen(one.id)}
      onKey={(key, one) => key === "x" && part === "pending" && onMark(one.id)}
      rowHeight={52}
      isFit
      empty={
        hasFilters ? (
          <EmptyState icon={InboxIcon} title={t("approvals.none_filtered")} />
        ) : part === "pending" ? (
          <EmptyState icon={InboxIcon} title={t("approvals.none")} text={t("approvals.none_text")} />
        ) : (
          <EmptyState
            icon={InboxIcon}
            title={t("approvals.none_past")}
            command="octroi approvals --history"
          />
        )
      }
    />
  );
}
