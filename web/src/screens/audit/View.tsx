// Audit records with every filter in the address, and the chosen one with all that belongs to its call.

import { ClipboardList, ShieldCheck } from "lucide-react";
import type { ReactNode } from "react";
import type { AuditRecord, AuditVerification } from "@/api/types";
import { toolName } from "@/lib/snippets";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import {
  Badge,
  Button,
  type Column,
  EmptyState,
  Exact,
  Facts,
  FilterBar,
  Input,
  JsonView,
  Link,
  Notice,
  PageHeader,
  Section,
  SplitView,
  Table,
  TimeAgo,
  Untrusted,
  useIsNarrow,
} from "@/ui";
import { Decision } from "../activity/words";

export const AUDIT_FILTERS = ["agent", "server", "tool", "session", "call"] as const;
export type AuditFilter = (typeof AUDIT_FILTERS)[number];

export interface AuditViewProps {
  records: readonly AuditRecord[];
  filters: Partial<Record<AuditFilter, string>>;
  text: string;
  selected: number | null;
  detail: ReactNode | null;
  isOlder: boolean;
  next: number | null;
  onFilter(values: Record<string, string | null>): void;
  verification: AuditVerification | null;
  isVerifying: boolean;
  onVerify(): void;
}

export function AuditView(props: AuditViewProps) {
  const { filters, text, onFilter, verification } = props;
  const t = useText();
  const chips = AUDIT_FILTERS.flatMap(key => {
    const value = filters[key];
    return value === undefined ? [] : [{ key, name: t(`audit.${key}`), value }];
  });
  return (
    <div className="screen">
      <PageHeader
        title={t("nav.audit")}
        actions={
          <>
            {props.isOlder && <Button onClick={() => onFilter({ before: null })}>{t("audit.newest")}</Button>}
            <Button
              isBusy={props.isVerifying}
              icon={<ShieldCheck size={14} aria-hidden />}
              onClick={props.onVerify}
            >
              {t("audit.verify")}
            </Button>
          </>
        }
      />
      {verification && <Verification of={verification} />}
      <div className="page-tools">
        <FilterBar
          chips={chips}
          onRemove={key => onFilter({ [key]: null, before: null })}
          onClear={() =>
            onFilter(Object.fromEntries([...AUDIT_FILTERS, "q", "before"].map(key => [key, null])))
          }
        >
          <Input
            type="search"
            key={text}
            defaultValue={text}
            placeholder={t("audit.search")}
            aria-label={t("audit.search")}
            onKeyDown={event => {
              if (event.key === "Enter") onFilter({ q: event.currentTarget.value || null, before: null });
            }}
          />
        </FilterBar>
      </div>
      <SplitView
        label={t("audit.chosen")}
        detail={props.detail}
        onClose={() => onFilter({ record: null })}
        list={<Records {...props} />}
      />
    </div>
  );
}

function Verification({ of }: { of: AuditVerification }) {
  const t = useText();
  const format = useFormat();
  return (
    <div className="page-tools">
      <Notice tone={of.intact ? "ok" : "danger"} role="status">
        <strong>{t(of.intact ? "audit.intact" : "audit.broken")}</strong>
        <span>
          {t("audit.verified", {
            records: format.number(of.records),
            first: format.number(of.first_seq),
            last: format.number(of.last_seq),
            checkpoints: format.number(of.checkpoints),
          })}
        </span>
        {of.problems.map(problem => (
          <Untrusted key={problem} text={problem} />
        ))}
        <code className="wrap-anywhere">{of.root}</code>
      </Notice>
    </div>
  );
}

function Records({ records, selected, onFilter, next, filters, text }: AuditViewProps) {
  const t = useText();
  const isPhone = useIsNarrow(560);
  const columns: Column<AuditRecord>[] = [
    {
      key: "seq",
      label: t("audit.number"),
      width: "72px",
      isEnd: true,
      cell: one => <span className="mono">{one.seq}</span>,
    },
    {
      key: "at",
      label: t("activity.at"),
      width: "88px",
      cell: one => one.at_ms !== undefined && <TimeAgo at={one.at_ms} />,
    },
    {
      key: "kind",
      label: t("audit.kind"),
      width: "minmax(130px, 1fr)",
      cell: one =>
        one.unreadable ? (
          <Badge tone="danger">{t("audit.unreadable")}</Badge>
        ) : (
          <Untrusted text={one.kind ?? ""} isLine className="mono" />
        ),
    },
    {
      key: "actor",
      label: t("audit.actor"),
      width: "minmax(90px, 1fr)",
      cell: one => one.actor && <Untrusted text={one.actor.id} isLine />,
    },
    {
      key: "tool",
      label: t("activity.tool"),
      width: "minmax(120px, 1.4fr)",
      cell: one => (
        <Untrusted text={one.tool === undefined ? (one.server ?? "") : toolName(one.tool)} isLine />
      ),
    },
    {
      key: "decision",
      label: t("activity.decision"),
      width: "120px",
      cell: one => one.decision !== undefined && <Decision value={one.decision} />,
    },
  ];
  const shown = isPhone || selected !== null ? columns.slice(0, 3) : columns;
  return (
    <Table
      label={t("nav.audit")}
      columns={shown}
      rows={records}
      keyOf={one => String(one.seq)}
      selected={selected === null ? null : String(selected)}
      onOpen={one => onFilter({ record: String(one.seq) })}
      foot={
        next !== null && (
          <Button onClick={() => onFilter({ before: String(next) })}>{t("audit.older")}</Button>
        )
      }
      empty={
        <EmptyState
          icon={ClipboardList}
          title={t(Object.keys(filters).length > 0 || text !== "" ? "audit.none_filtered" : "audit.none")}
        />
      }
    />
  );
}

/** A record, and the others of its call. */
export function RecordView({ records, seq }: { records: readonly AuditRecord[]; seq: number }) {
  const t = useText();
  const chosen = records.find(one => one.seq === seq) ?? records[0];
  if (!chosen) return <EmptyState title={t("audit.none_filtered")} />;
  const link = (to: string, text: string) => (
    <Link key={to} to={to}>
      <Untrusted text={text} isLine />
    </Link>
  );
  return (
    <article>
      <PageHeader title={t("call.record_number", { number: chosen.seq })} text={<code>{chosen.kind}</code>} />
      <div className="page-body">
        <Facts
          rows={[
            chosen.at_ms !== undefined && [t("activity.at"), <Exact key="at" at={chosen.at_ms} />],
            chosen.actor != null && [
              t("audit.actor"),
              <Untrusted key="actor" text={`${chosen.actor.kind} ${chosen.actor.id}`} />,
            ],
            chosen.agent !== undefined && [t("activity.agent"), link(urls.agent(chosen.agent), chosen.agent)],
            chosen.server !== undefined && [
              t("activity.server"),
              link(urls.server(chosen.server), chosen.server),
            ],
            chosen.tool !== undefined && [t("activity.tool"), <Untrusted key="tool" text={chosen.tool} />],
            chosen.session !== undefined && [
              t("activity.session"),
              <Untrusted key="session" text={chosen.session} />,
            ],
            chosen.decision !== undefined && [
              t("activity.decision"),
              <Decision key="decision" value={chosen.decision} />,
            ],
            chosen.call !== undefined && [t("audit.call"), link(urls.call(chosen.call), chosen.call)],
          ]}
        />
        <Section title={t("audit.context")}>
          <div className="panel panel--pad">
            <JsonView value={chosen.context ?? {}} />
          </div>
        </Section>
        {records.length > 1 && (
          <Section title={t("audit.same_call")}>
            <ul className="timeline">
              {records.map(one => (
                <li key={one.seq}>
                  {link(urls.record(one.seq), String(one.seq))}
                  <Untrusted text={one.kind ?? ""} isLine className="mono" />
                  {one.at_ms !== undefined && <TimeAgo at={one.at_ms} />}
                </li>
              ))}
            </ul>
          </Section>
        )}
      </div>
    </article>
  );
}
