// Every tool of every server, and the definitions that are kept out.

import { Wrench } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import type { ToolSummary } from "@/api/types";
import { rank } from "@/lib/fuzzy";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import {
  Badge,
  type Column,
  Count,
  EmptyState,
  FilterBar,
  type FilterChip,
  Input,
  PageHeader,
  Select,
  type Sort,
  SplitView,
  Status,
  Table,
  Tabs,
  Untrusted,
  useIsNarrow,
} from "@/ui";
import { Risk } from "../approvals/words";

export const RISKS = ["low", "medium", "high", "critical"] as const;

export type ToolsPart = "catalogue" | "quarantine";

export interface ToolsViewProps {
  part: ToolsPart;
  tools: readonly ToolSummary[];
  /** Calls in the last day, by id. */
  hits: ReadonlyMap<string, number>;
  quarantine: ReactNode;
  nQuarantined: number;
  query: string;
  server: string | null;
  risk: string | null;
  sort: Sort | null;
  onFilter(values: Record<string, string | null>): void;
  selected: string | null;
  detail: ReactNode | null;
  onOpen(id: string): void;
  onClose(): void;
}

export function ToolsView(props: ToolsViewProps) {
  const t = useText();
  return (
    <div className="screen tools-screen">
      <PageHeader title={t("nav.tools")} />
      <Tabs<ToolsPart>
        label={t("nav.tools")}
        active={props.part}
        onChange={part => props.onFilter({ part: part === "catalogue" ? null : part })}
        tabs={[
          { key: "catalogue", label: t("tools.catalogue"), content: <Catalogue {...props} /> },
          {
            key: "quarantine",
            label: (
              <>
                {t("tools.quarantine")}
                <Count value={props.nQuarantined} label={String(props.nQuarantined)} />
              </>
            ),
            content: props.quarantine,
          },
        ]}
      />
    </div>
  );
}

function Catalogue(props: ToolsViewProps) {
  const { tools, query, server, risk, onFilter } = props;
  const t = useText();
  const found = useMemo(() => {
    const fits = tools.filter(
      tool => (server === null || tool.source_id === server) && (risk === null || tool.risk_level === risk),
    );
    if (query.trim() === "") return fits;
    return rank(
      fits,
      query,
      tool => `${tool.source_id}.${tool.name} ${(tool.description ?? "").slice(0, 300)}`,
      500,
    );
  }, [tools, query, server, risk]);
  const servers = useMemo(() => [...new Set(tools.map(tool => tool.source_id))].sort(), [tools]);
  const chips: FilterChip[] = [];
  if (server !== null) chips.push({ key: "server", name: t("tools.server"), value: server });
  const known = RISKS.find(one => one === risk);
  if (known) chips.push({ key: "risk", name: t("approvals.risk"), value: t(`risk.${known}`) });
  return (
    <>
      <div className="page-tools">
        <FilterBar
          chips={chips}
          onRemove={key => onFilter({ [key]: null })}
          onClear={() => onFilter({ server: null, risk: null, q: null })}
        >
          <Input
            type="search"
            value={query}
            placeholder={t("tools.search")}
            aria-label={t("tools.search")}
            onChange={event => onFilter({ q: event.target.value })}
          />
          {server === null && (
            <Select
              aria-label={t("tools.server")}
              value=""
              options={[
                { value: "", label: t("tools.any_server") },
                ...servers.map(value => ({ value, label: value })),
              ]}
              onChange={event => onFilter({ server: event.target.value })}
            />
          )}
          {risk === null && (
            <Select
              aria-label={t("approvals.risk")}
              value=""
              options={[
                { value: "", label: t("tools.any_risk") },
                ...RISKS.map(value => ({ value, label: t(`risk.${value}`) })),
              ]}
              onChange={event => onFilter({ risk: event.target.value })}
            />
          )}
        </FilterBar>
      </div>
      <SplitView
        label={t("tools.chosen")}
        detail={props.detail}
        onClose={props.onClose}
        list={<List {...props} tools={found} isFiltered={found.length < tools.length} />}
      />
    </>
  );
}

function List({
  tools,
  hits,
  selected,
  sort,
  onFilter,
  onOpen,
  isFiltered,
}: ToolsViewProps & { isFiltered: boolean }) {
  const t = useText();
  const format = useFormat();
  const isNarrow = useIsNarrow();
  const columns: Column<ToolSummary>[] = [
    {
      key: "name",
      label: t("tools.name"),
      width: "minmax(140px, 1.4fr)",
      sort: tool => tool.name,
      cell: tool => <Untrusted text={tool.name} isLine className="strong" />,
    },
    {
      key: "server",
      label: t("tools.server"),
      width: "minmax(80px, 0.8fr)",
      sort: tool => tool.source_id,
      cell: tool => <Untrusted text={tool.source_id} isLine />,
    },
    {
      key: "risk",
      label: t("approvals.risk"),
      width: "78px",
      sort: tool => RISKS.indexOf(tool.risk_level),
      cell: tool => <Risk level={tool.risk_level} />,
    },
    {
      key: "visible",
      label: t("tools.seen"),
      width: "104px",
      sort: tool => Number(tool.visible),
      cell: tool => (
        <Status tone={tool.visible ? "ok" : "idle"}>
          {t(tool.visible ? "tools.visible" : "tools.hidden")}
        </Status>
      ),
    },
    {
      key: "calls",
      label: t("tools.calls"),
      width: "64px",
      isEnd: true,
      sort: tool => hits.get(tool.tool_id) ?? 0,
      cell: tool => format.number(hits.get(tool.tool_id) ?? 0),
    },
    {
      key: "description",
      label: t("tools.description"),
      width: "minmax(200px, 3fr)",
      cell: tool => <Untrusted text={tool.description ?? ""} isLine className="muted" />,
    },
  ];
  const shown = selected === null && !isNarrow ? columns : columns.slice(0, 3);
  return (
    <Table
      label={t("nav.tools")}
      columns={shown}
      rows={tools}
      keyOf={tool => tool.tool_id}
      selected={selected}
      onOpen={tool => onOpen(tool.tool_id)}
      sort={sort}
      onSort={next => onFilter({ sort: `${next.isDescending ? "-" : ""}${next.key}` })}
      empty={
        isFiltered ? (
          <EmptyState icon={Wrench} title={t("tools.none_filtered")} />
        ) : (
          <EmptyState
            icon={Wrench}
            title={t("tools.none")}
            text={t("tools.none_text")}
            command="octroi tools"
          />
        )
      }
    />
  );
}

export function ToolBadges({ tool }: { tool: Pick<ToolSummary, "visible" | "enabled"> }) {
  const t = useText();
  return tool.visible ? <Badge tone="ok">{t("tools.visible")}</Badge> : <Badge>{t("tools.hidden")}</Badge>;
}
