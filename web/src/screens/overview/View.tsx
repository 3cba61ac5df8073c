// What needs a person first, then how things go.

import { CircleCheck, type LucideIcon } from "lucide-react";
import type { Attention, AttentionItem, CallStatistics } from "@/api/types";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import {
  Badge,
  type Column,
  Command,
  Duration,
  EmptyState,
  Link,
  PageHeader,
  Section,
  Status,
  Table,
  TimeAgo,
  TimeLeft,
  type Tone,
  Untrusted,
} from "@/ui";
import { Plot } from "@/ui/Plot";

export interface OverviewViewProps {
  attention: Attention;
  /** Of the last hour, by server; nothing until it is read. */
  stats: CallStatistics | null;
}

const TONES: Record<AttentionItem["kind"], Tone> = {
  approval: "info",
  pin: "warn",
  proposal: "info",
  configuration: "warn",
  server: "danger",
  token: "warn",
  problem: "danger",
};

/** Where somebody goes to do something about it. */
export function whereOf({ kind, id }: AttentionItem): string {
  switch (kind) {
    case "approval":
      return id === null ? urls.approvals() : urls.approval(id);
    case "pin":
      return urls.tools({ part: "quarantine", server: id?.split(" ")[0] ?? null });
    case "proposal":
      return id === null ? urls.policies() : urls.proposal(id);
    case "server":
      return id === null ? urls.servers() : urls.server(id);
    case "token":
      return urls.settings({ part: "tokens" });
    case "configuration":
    case "problem":
      return urls.settings();
  }
}

export function OverviewView({ attention, stats }: OverviewViewProps) {
  const t = useText();
  const isNew = attention.first_steps.some(step => !step.done);
  return (
    <div className="screen">
      <PageHeader title={t("nav.overview")} />
      <div className="page-body">
        {isNew && <FirstSteps steps={attention.first_steps} />}
        <Needs attention={attention} />
        {stats && <Numbers stats={stats} />}
      </div>
    </div>
  );
}

function FirstSteps({ steps }: { steps: Attention["first_steps"] }) {
  const t = useText();
  return (
    <Section title={t("overview.first")}>
      <ol className="panel attention">
        {steps.map(step => (
          <li key={step.step}>
            <Status tone={step.done ? "ok" : "idle"}>
              {t(step.done ? "overview.step_done" : "overview.step_open")}
            </Status>
            <span className="strong">{nameOf(t, step.step)}</span>
            {!step.done && <Hint text={step.hint} />}
          </li>
        ))}
      </ol>
    </Section>
  );
}

const STEPS = ["server_added", "client_connected", "call_seen", "decision_made"] as const;

function nameOf(t: ReturnType<typeof useText>, step: string): string {
  const known = STEPS.find(one => one === step);
  return known ? t(`overview.step.${known}`) : step;
}

/** A hint is a sentence; what it has in backticks is a command to copy. */
function Hint({ text }: { text: string }) {
  const command = /`([^`]+)`/.exec(text)?.[1];
  return command === undefined ? <Untrusted text={text} className="muted" /> : <Command line={command} />;
}

function Needs({ attention }: { attention: Attention }) {
  const t = useText();
  const { items, counts } = attention;
  const nMore = counts.reduce((sum, one) => sum + one.n, 0) - items.length;
  return (
    <Section title={t("overview.attention")}>
      {items.length === 0 ? (
        <div className="panel">
          <EmptyState
            icon={CircleCheck as LucideIcon}
            title={t("overview.calm")}
            text={t("overview.calm_text")}
          />
        </div>
      ) : (
        <ul className="panel attention">
          {items.map(item => (
            <li key={`${item.kind} ${item.id ?? item.title}`}>
              <Badge tone={TONES[item.kind]}>{t(`overview.kind.${item.kind}`)}</Badge>
              <Link to={whereOf(item)} className="strong attention-title">
                <Untrusted text={item.title} isLine />
              </Link>
              {item.agent !== null && <Untrusted text={item.agent} isLine className="muted" />}
              {item.reason !== null && (
                <Untrusted text={item.reason} isLine className="muted attention-reason" />
              )}
              <span className="faint attention-time">
                {item.until_ms !== null ? (
                  <TimeLeft until={item.until_ms} />
                ) : (
                  item.since_ms !== null && <TimeAgo at={item.since_ms} />
                )}
              </span>
            </li>
          ))}
          {nMore > 0 && <li className="muted">{t("overview.more", { count: nMore })}</li>}
        </ul>
      )}
    </Section>
  );
}

function Numbers({ stats }: { stats: CallStatistics }) {
  const t = useText();
  const format = useFormat();
  const times = stats.series.map(at => at.at_ms);
  const perMinute = (value: number) => (value * 60_000) / stats.step_ms;
  const { total } = stats;
  const rate = (n: number) => (total.calls + total.denials === 0 ? 0 : n / (total.calls + total.denials));
  return (
    <>
      <div className="grid-2">
        <div className="panel panel--pad">
          <Plot
            title={t("overview.calls")}
            summary={t("overview.last_hour", { count: total.calls })}
            times={times}
            series={[
              {
                label: t("overview.calls"),
                color: "accent",
                isFilled: true,
                values: stats.series.map(at => perMinute(at.calls)),
              },
            ]}
            write={format.compact}
          />
        </div>
        <div className="panel panel--pad">
          <Plot
            title={t("overview.failures")}
            summary={t("overview.rates", {
              errors: format.percent(rate(total.errors)),
              denials: format.percent(rate(total.denials)),
            })}
            times={times}
            series={[
              {
                label: t("overview.errors"),
                color: "danger",
                values: stats.series.map(at => perMinute(at.errors)),
              },
              {
                label: t("overview.denials"),
                color: "warn",
                values: stats.series.map(at => perMinute(at.denials)),
              },
            ]}
            write={format.compact}
          />
        </div>
        <div className="panel panel--pad">
          <Plot
            title={t("overview.latency")}
            {...(total.p95_ms !== null && { summary: format.duration(total.p95_ms) })}
            times={times}
            series={[
              { label: t("overview.p50"), color: "ok", values: stats.series.map(at => at.p50_ms) },
              { label: t("overview.p95"), color: "accent", values: stats.series.map(at => at.p95_ms) },
            ]}
            write={value => format.duration(value)}
          />
        </div>
      </div>
      <Section title={t("overview.by_server")}>
        <div className="panel">
          <ByServer rows={stats.rows} />
        </div>
      </Section>
    </>
  );
}

function ByServer({ rows }: { rows: CallStatistics["rows"] }) {
  const t = useText();
  const format = useFormat();
  type Row = CallStatistics["rows"][number];
  const time = (ms: number | null) => (ms === null ? <span className="faint">–</span> : <Duration ms={ms} />);
  const columns: Column<Row>[] = [
    {
      key: "name",
      label: t("servers.name"),
      width: "minmax(120px, 2fr)",
      cell: row => (
        <Link to={urls.activity({ server: row.name })} className="strong">
          <Untrusted text={row.name} isLine />
        </Link>
      ),
    },
    {
      key: "calls",
      label: t("tools.calls"),
      width: "80px",
      isEnd: true,
      cell: row => format.number(row.calls),
    },
    {
      key: "errors",
      label: t("overview.error_rate"),
      width: "86px",
      isEnd: true,
      cell: row => format.percent(row.calls === 0 ? 0 : row.errors / row.calls),
    },
    {
      key: "denials",
      label: t("overview.denials"),
      width: "80px",
      isEnd: true,
      cell: row => format.number(row.denials),
    },
    { key: "p50", label: t("overview.p50"), width: "80px", isEnd: true, cell: row => time(row.p50_ms) },
    { key: "p95", label: t("overview.p95"), width: "80px", isEnd: true, cell: row => time(row.p95_ms) },
  ];
  return (
    <Table
      label={t("overview.by_server")}
      columns={columns}
      rows={rows}
      keyOf={row => row.name}
      empty={<EmptyState title={t("overview.no_calls")} />}
    />
  );
}
