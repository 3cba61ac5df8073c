// The inbox: calls in a list, the chosen one beside it.

import { useMatch } from "@tanstack/react-router";
import type { Approval } from "../../api/types";
import { resource } from "../../api/uri";
import { urls } from "../../lib/urls";
import { useQueryOperation, useResource } from "../../mcp/hooks";
import { useText } from "../../messages";
import {
  type Column,
  EmptyState,
  Loaded,
  PageHeader,
  Select,
  SplitView,
  Table,
  TimeAgo,
  Untrusted,
  useLocation,
} from "../../ui";
import { approvalRoute, approvalsRoute } from ".";
import { ApprovalDetail } from "./ApprovalDetail";
import { ApprovalState, Risk } from "./states";

export function ApprovalsScreen() {
  const t = useText();
  const { view } = approvalsRoute.useSearch();
  const { navigate } = useLocation();
  const chosen = useMatch({ from: approvalRoute.id, shouldThrow: false })?.params.id ?? null;
  const query = { view };
  const list = (
    <>
      <PageHeader
        title={t("nav.approvals")}
        actions={
          <Select
            aria-label={t("approvals.view")}
            value={view ?? "waiting"}
            options={[
              { value: "waiting", label: t("approvals.waiting") },
              { value: "past", label: t("approvals.past") },
            ]}
            onChange={event =>
              navigate(urls.approvals({ view: event.target.value === "past" ? "past" : null }))
            }
          />
        }
      />
      {view === "past" ? <Past chosen={chosen} /> : <Waiting chosen={chosen} />}
    </>
  );
  return (
    <div className="screen">
      <SplitView
        list={list}
        detail={chosen === null ? null : <ApprovalDetail key={chosen} id={chosen} />}
        label={t("approvals.call")}
        onClose={() => navigate(urls.approvals(query))}
      />
    </div>
  );
}

interface PartProps {
  chosen: string | null;
}

function Waiting({ chosen }: PartProps) {
  const t = useText();
  const query = useResource(resource("pendingApprovals"));
  return (
    <Loaded query={query}>
      {approvals => (
        <List
          approvals={approvals}
          chosen={chosen}
          empty={<EmptyState title={t("approvals.none")} text={t("approvals.none_about")} />}
        />
      )}
    </Loaded>
  );
}

function Past({ chosen }: PartProps) {
  const t = useText();
  const query = useQueryOperation(
    "approvals_list",
    { part: "history", limit: 1_000 },
    { changesWith: [resource("pendingApprovals")] },
  );
  return (
    <Loaded query={query}>
      {({ approvals }) => (
        <List approvals={approvals} chosen={chosen} empty={<EmptyState title={t("approvals.none_past")} />} />
      )}
    </Loaded>
  );
}

interface ListProps extends PartProps {
  approvals: Approval[];
  empty: React.ReactNode;
}

function List({ approvals, chosen, empty }: ListProps) {
  const t = useText();
  const { navigate } = useLocation();
  const { view } = approvalsRoute.useSearch();
  const columns: Column<Approval>[] = [
    {
      key: "tool",
      label: t("approvals.tool"),
      width: "minmax(120px, 2fr)",
      cell: row => <Untrusted text={row.tool} isLine />,
    },
    {
      key: "caller",
      label: t("approvals.caller"),
      width: "minmax(90px, 1fr)",
      cell: row => <Untrusted text={row.principal} isLine />,
    },
    view === "past"
      ? {
          key: "state",
          label: t("approvals.state"),
          width: "130px",
          cell: row => <ApprovalState state={row.state} />,
        }
      : { key: "risk", label: t("approvals.risk"), width: "80px", cell: row => <Risk risk={row.risk} /> },
    {
      key: "requested",
      label: t("approvals.requested"),
      width: "96px",
      isEnd: true,
      cell: row => <TimeAgo at={row.requested_at} />,
    },
  ];
  return (
    <Table
      label={t("approvals.title")}
      columns={columns}
      rows={approvals}
      keyOf={row => row.id}
      selected={chosen}
      onOpen={row => navigate(urls.approval(row.id, { view }))}
      empty={empty}
    />
  );
}
