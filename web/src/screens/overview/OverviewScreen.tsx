// What needs a person first, then the servers.

import type { ReactNode } from "react";
import type { ServerStatus } from "../../api/types";
import { resource } from "../../api/uri";
import { usePendingCount } from "../../app/Frame";
import { oneLine } from "../../lib/untrusted";
import { urls } from "../../lib/urls";
import { useResource } from "../../mcp/hooks";
import { useText } from "../../messages";
import {
  type Column,
  EmptyState,
  Link,
  Loaded,
  Notice,
  PageHeader,
  Section,
  Status,
  Table,
  type Tone,
  Untrusted,
} from "../../ui";
import "./overview.css";

const HEALTH = {
  healthy: "ok",
  degraded: "warn",
  unhealthy: "danger",
  unknown: "idle",
} as const satisfies Record<ServerStatus["health"], Tone>;

export function OverviewScreen() {
  const t = useText();
  return (
    <div className="screen">
      <PageHeader title={t("nav.overview")} />
      <div className="page-body">
        <Attention />
        <Servers />
      </div>
    </div>
  );
}

function Attention() {
  const t = useText();
  const nPending = usePendingCount();
  const nHeld = useResource(resource("heldPins")).data?.count ?? 0;
  const tokens = useResource(resource("tokens")).data?.tokens ?? [];
  const servers = useResource(resource("servers")).data?.servers ?? [];
  const nExpiring = tokens.filter(token => token.state === "expiring").length;
  const items: { key: string; content: ReactNode }[] = [];
  if (nPending > 0) {
    const text = <Status tone="accent">{t("overview.approvals", { count: nPending })}</Status>;
    items.push({ key: "approvals", content: <Link to={urls.approvals()}>{text}</Link> });
  }
  if (nHeld > 0) {
    items.push({ key: "held", content: <Status tone="warn">{t("overview.held", { count: nHeld })}</Status> });
  }
  for (const server of servers.filter(({ health }) => health === "unhealthy" || health === "degraded")) {
    const words = { server: oneLine(server.name, 80), health: t(`health.${server.health}`) };
    items.push({
      key: `server ${server.name}`,
      content: (
        <>
          <Status tone={HEALTH[server.health]}>{t("overview.server", words)}</Status>
          {server.error && <Untrusted text={server.error} className="muted" />}
        </>
      ),
    });
  }
  if (nExpiring > 0) {
    const text = t("overview.tokens", { count: nExpiring });
    items.push({ key: "tokens", content: <Status tone="info">{text}</Status> });
  }
  return (
    <Section title={t("overview.attention")}>
      {items.length === 0 ? (
        <div className="panel panel--pad">
          <Status tone="ok">{t("overview.nothing")}</Status>
          <p className="muted">{t("overview.nothing_about")}</p>
        </div>
      ) : (
        <ul className="panel attention">
          {items.map(item => (
            <li key={item.key}>{item.content}</li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Servers() {
  const t = useText();
  const query = useResource(resource("servers"));
  const columns: Column<ServerStatus>[] = [
    {
      key: "name",
      label: t("server.name"),
      width: "minmax(120px, 2fr)",
      cell: row => <Untrusted text={row.title ?? row.name} isLine />,
    },
    {
      key: "health",
      label: t("server.health"),
      width: "minmax(110px, 1fr)",
      cell: row => <Health server={row} />,
    },
    { key: "tools", label: t("server.tools"), width: "72px", isEnd: true, cell: row => row.tools },
    {
      key: "latency",
      label: t("server.latency"),
      width: "84px",
      isEnd: true,
      cell: row => (typeof row.latency_ms === "number" ? t("unit.ms", { count: row.latency_ms }) : ""),
    },
  ];
  return (
    <Section title={t("overview.servers")}>
      <Loaded query={query}>
        {({ servers, problems }) => (
          <>
            {problems.length > 0 && (
              <Notice tone="warn">
                <strong>{t("overview.problems")}</strong>
                {problems.map(problem => (
                  <Untrusted key={problem} text={problem} />
                ))}
              </Notice>
            )}
            <div className="panel">
              <Table
                label={t("overview.servers")}
                columns={columns}
                rows={servers}
                keyOf={row => row.name}
                empty={
                  <EmptyState
                    title={t("overview.no_servers")}
                    text={t("overview.no_servers_about")}
                    command="octroi up --demo"
                  />
                }
              />
            </div>
          </>
        )}
      </Loaded>
    </Section>
  );
}

function Health({ server }: { server: ServerStatus }) {
  const t = useText();
  if (server.state === "disabled") return <Status tone="idle">{t("lifecycle.disabled")}</Status>;
  return <Status tone={HEALTH[server.health]}>{t(`health.${server.health}`)}</Status>;
}
