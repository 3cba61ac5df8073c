// All servers in a dense table.

import { Plus, Server } from "lucide-react";
import type { ServerStatus } from "@/api/types";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import {
  Badge,
  Button,
  type Column,
  Duration,
  EmptyState,
  FilterBar,
  Input,
  Link,
  Notice,
  PageHeader,
  Select,
  type Sort,
  Switch,
  Table,
  Untrusted,
  useIsNarrow,
} from "@/ui";
import { ServerHealth } from "./words";

export interface ServersViewProps {
  servers: readonly ServerStatus[];
  problems: readonly string[];
  query: string;
  scope: string | null;
  sort: Sort | null;
  onFilter(values: { q?: string | null; scope?: string | null; sort?: string | null }): void;
  onOpen(name: string): void;
  onAdd(): void;
  onToggle(server: ServerStatus, enabled: boolean): void;
}

/** Whether a server may be used, as it is switched. */
export function isEnabled(server: ServerStatus): boolean {
  return server.enabled_for_me ?? server.enabled ?? server.state !== "disabled";
}

export function ServersView(props: ServersViewProps) {
  const { servers, problems, query, scope, sort, onFilter } = props;
  const t = useText();
  const format = useFormat();
  const isPhone = useIsNarrow(560);
  const shown = servers.filter(
    server =>
      (scope === null || server.scope === scope) &&
      (query === "" || `${server.name} ${server.title ?? ""}`.toLowerCase().includes(query.toLowerCase())),
  );
  const columns: Column<ServerStatus>[] = [
    {
      key: "name",
      label: t("servers.name"),
      width: "minmax(110px, 2fr)",
      sort: server => server.name,
      cell: server => (
        <Link to={urls.server(server.name)} className="strong">
          <Untrusted text={server.name} isLine />
        </Link>
      ),
    },
    {
      key: "health",
      label: t("servers.health"),
      width: "120px",
      sort: server => `${server.state === "failed" ? 0 : 1}${server.health}`,
      cell: server => <ServerHealth server={server} />,
    },
    {
      key: "scope",
      label: t("servers.scope"),
      width: "100px",
      sort: server => server.scope ?? "",
      cell: server =>
        server.scope === "user" ? (
          <Badge tone="accent">{t("servers.own")}</Badge>
        ) : (
          <Badge>{t("servers.shared")}</Badge>
        ),
    },
    {
      key: "transport",
      label: t("servers.transport"),
      width: "78px",
      sort: server => server.transport,
      cell: server => server.transport,
    },
    {
      key: "tools",
      label: t("servers.tools"),
      width: "72px",
      isEnd: true,
      sort: server => server.tools,
      cell: server => format.number(server.tools),
    },
    {
      key: "quarantined",
      label: t("servers.quarantined"),
      width: "84px",
      isEnd: true,
      sort: server => server.quarantined,
      cell: server =>
        server.quarantined > 0 ? (
          <Link to={urls.tools({ part: "quarantine", server: server.name })}>
            <Badge tone="warn">{server.quarantined}</Badge>
          </Link>
        ) : (
          <span className="faint">–</span>
        ),
    },
    {
      key: "latency",
      label: t("servers.latency"),
      width: "80px",
      isEnd: true,
      sort: server => server.latency_ms ?? Number.MAX_SAFE_INTEGER,
      cell: server =>
        server.latency_ms === undefined ? (
          <span className="faint">–</span>
        ) : (
          <Duration ms={server.latency_ms} />
        ),
    },
    {
      key: "calls",
      label: t("servers.in_flight"),
      width: "78px",
      isEnd: true,
      sort: server => server.in_flight,
      cell: server => `${server.in_flight}${server.waiting > 0 ? ` + ${server.waiting}` : ""}`,
    },
    {
      key: "enabled",
      label: t("servers.enabled"),
      width: "64px",
      cell: server => (
        <Switch
          label={t("servers.switch", { name: server.name })}
          isLabelHidden
          checked={isEnabled(server)}
          onChange={event => props.onToggle(server, event.target.checked)}
        />
      ),
    },
    {
      key: "error",
      label: t("servers.error"),
      width: "minmax(100px, 2fr)",
      cell: server =>
        server.error !== undefined && <Untrusted text={server.error} isLine className="muted" />,
    },
  ];
  return (
    <div className="screen">
      <PageHeader
        title={t("nav.servers")}
        actions={
          <Button look="primary" icon={<Plus size={14} aria-hidden />} onClick={props.onAdd}>
            {t("servers.add")}
          </Button>
        }
      />
      <div className="page-tools">
        <FilterBar chips={[]} onRemove={() => {}} onClear={() => {}}>
          <Input
            type="search"
            value={query}
            placeholder={t("servers.search")}
            aria-label={t("servers.search")}
            onChange={event => onFilter({ q: event.target.value })}
          />
          <Select
            aria-label={t("servers.scope")}
            value={scope ?? ""}
            options={[
              { value: "", label: t("servers.any_scope") },
              { value: "system", label: t("servers.shared") },
              { value: "user", label: t("servers.own") },
            ]}
            onChange={event => onFilter({ scope: event.target.value })}
          />
        </FilterBar>
      </div>
      {problems.length > 0 && (
        <div className="page-tools">
          <Notice tone="warn">
            {problems.map(problem => (
              <Untrusted key={problem} text={problem} />
            ))}
          </Notice>
        </div>
      )}
      <Table
        label={t("nav.servers")}
        columns={
          isPhone ? columns.filter(column => ["name", "health", "enabled"].includes(column.key)) : columns
        }
        rows={shown}
        keyOf={server => server.id ?? server.name}
        onOpen={server => props.onOpen(server.name)}
        sort={sort}
        onSort={next => onFilter({ sort: `${next.isDescending ? "-" : ""}${next.key}` })}
        empty={
          query !== "" || scope !== null ? (
            <EmptyState icon={Server} title={t("servers.none_filtered")} />
          ) : (
            <EmptyState
              icon={Server}
              title={t("servers.none")}
              text={t("servers.none_text")}
              command="octroi import"
            >
              <Button look="primary" onClick={props.onAdd}>
                {t("servers.add")}
              </Button>
            </EmptyState>
          )
        }
      />
    </div>
  );
}
