// Agents, and what each is doing.

import { Bot } from "lucide-react";
import type { ReactNode } from "react";
import type { Agent } from "@/api/types";
import { useText } from "@/messages";
import {
  Badge,
  type Column,
  Count,
  EmptyState,
  PageHeader,
  SplitView,
  Status,
  Table,
  Untrusted,
  useIsNarrow,
} from "@/ui";

interface AgentsViewProps {
  agents: readonly Agent[];
  selected: string | null;
  detail: ReactNode | null;
  onOpen(id: string): void;
  onClose(): void;
}

/** What an agent is doing; a pause comes before everything. */
export function AgentState({ agent }: { agent: Agent }) {
  const t = useText();
  if (agent.paused) return <Status tone="warn">{t("agents.paused")}</Status>;
  if (agent.run_phase === "waiting_approval")
    return <Status tone="info">{t("agents.phase.waiting_approval")}</Status>;
  if (agent.run_phase === "waiting_tool") return <Status tone="ok">{t("agents.phase.waiting_tool")}</Status>;
  return (
    <Status tone={agent.live ? "ok" : "idle"}>
      {t(agent.live ? "agents.connected" : "agents.phase.idle")}
    </Status>
  );
}

export function AgentsView({ agents, selected, detail, onOpen, onClose }: AgentsViewProps) {
  const t = useText();
  const isPhone = useIsNarrow(560);
  const columns: Column<Agent>[] = [
    {
      key: "name",
      label: t("agents.name"),
      width: "minmax(130px, 2fr)",
      cell: agent => <Untrusted text={agent.name} isLine className="strong" />,
    },
    {
      key: "state",
      label: t("approvals.state"),
      width: "150px",
      cell: agent => <AgentState agent={agent} />,
    },
    {
      key: "pending",
      label: t("agents.pending"),
      width: "70px",
      cell: agent => (
        <Count
          value={agent.pending_approvals}
          label={t("shell.pending", { count: agent.pending_approvals })}
        />
      ),
    },
    {
      key: "owner",
      label: t("agents.owner"),
      width: "minmax(80px, 1fr)",
      cell: agent => <Untrusted text={agent.owner} isLine />,
    },
    { key: "mode", label: t("agents.mode"), width: "96px", cell: agent => t(`agents.mode.${agent.mode}`) },
    {
      key: "profile",
      label: t("agents.profile"),
      width: "92px",
      cell: agent => (
        <Badge tone={agent.profile === "open" ? "warn" : "idle"}>
          {t(`agents.profile.${agent.profile}`)}
        </Badge>
      ),
    },
    {
      key: "project",
      label: t("agents.project"),
      width: "minmax(100px, 1fr)",
      cell: agent => <Untrusted text={agent.project ?? ""} isLine />,
    },
  ];
  const shown = isPhone || selected !== null ? columns.slice(0, 3) : columns;
  return (
    <div className="screen">
      <PageHeader title={t("nav.agents")} />
      <SplitView
        label={t("agents.chosen")}
        detail={detail}
        onClose={onClose}
        list={
          <Table
            label={t("nav.agents")}
            columns={shown}
            rows={agents}
            keyOf={agent => agent.id}
            selected={selected}
            onOpen={agent => onOpen(agent.id)}
            empty={
              <EmptyState
                icon={Bot}
                title={t("agents.none")}
                text={t("agents.none_text")}
                command="octroi agents create NAME"
              />
            }
          />
        }
      />
    </div>
  );
}
