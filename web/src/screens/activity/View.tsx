// Calls as they come, newest first, with every filter in the address.

import { Activity } from "lucide-react";
import type { ReactNode } from "react";
import type { Call } from "@/api/types";
import { toolName } from "@/lib/snippets";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import {
  Button,
  type Column,
  Duration,
  EmptyState,
  FilterBar,
  type FilterChip,
  Input,
  Link,
  PageHeader,
  Select,
  SplitView,
  Table,
  TimeAgo,
  Untrusted,
  useIsNarrow,
} from "@/ui";
import { Decision, OUTCOME_NAMES, Outcome } from "./words";

export const FILTERS = ["agent", "server", "tool", "decision", "outcome", "session"] as const;
export type Filter = (typeof FILTERS)[number];
export type Filters = Partial<Record<Filter, string>>;

export interface ActivityViewProps {
  calls: readonly Call[];
  filters: Filters;
  onFilter(values: Partial<Record<Filter | "before", string | null>>): void;
  selected: string | null;
  onOpen(id: string): void;
  onClose(): void;
  detail: ReactNode | null;
  /** Whether these are not the newest. */
  isOlder: boolean;
  /** Where older ones begin. */
  next: number | null;
}

const DECISIONS = ["allow", "ask", "deny_continue", "deny_abort"] as const;

export function ActivityView(props: ActivityViewProps) {
  const { filters, onFilter, next, isOlder } = props;
  const t = useText();
  const chips = FILTERS.flatMap<FilterChip>(key => {
    const value = filters[key];
    if (value === undefined || key === "tool") return [];
    return [{ key, name: t(`activity.${key}`), value: labelOf(t, key, value) }];
  });
  const clear = () => onFilter(Object.fromEntries([...FILTERS, "before"].map(key => [key, null])));
  return (
    <div className="screen">
      <PageHeader
        title={t("nav.activity")}
        actions={
          isOlder && <Button onClick={() => onFilter({ before: null })}>{t("activity.newest")}</Button>
        }
      />
      <div className="page-tools">
        <FilterBar chips={chips} onRemove={key => onFilter({ [key]: null, before: null })} onClear={clear}>
          <Input
            type="search"
            defaultValue={filters.tool ?? ""}
            key={filters.tool ?? ""}
            placeholder={t("activity.tool_search")}
            aria-label={t("activity.tool_search")}
            onKeyDown={event => {
              if (event.key === "Enter") onFilter({ tool: event.currentTarget.value || null, before: null });
            }}
          />
          {filters.decision === undefined && (
            <Select
              aria-label={t("activity.decision")}
              value=""
              options={[
                { value: "", label: t("activity.any_decision") },
                ...DECISIONS.map(value => ({ value, label: t(`decision.${value}`) })),
              ]}
              onChange={event => onFilter({ decision: event.target.value, before: null })}
            />
          )}
          {filters.outcome === undefined && (
            <Select
              aria-label={t("activity.outcome")}
              value=""
              options={[
                { value: "", label: t("activity.any_outcome") },
                ...OUTCOME_NAMES.map(value => ({ value, label: t(`outcome.${value}`) })),
              ]}
              onChange={event => onFilter({ outcome: event.target.value, before: null })}
            />
          )}
        </FilterBar>
      </div>
      <SplitView
        label={t("activity.chosen")}
        detail={props.detail}
        onClose={props.onClose}
        list={
          <Calls
            {...props}
            hasFilters={Object.keys(filters).length > 0}
            foot={
              next !== null && (
                <Button onClick={() => onFilter({ before: String(next) })}>{t("activity.older")}</Button>
              )
            }
          />
        }
      />
    </div>
  );
}

function labelOf(t: ReturnType<typeof useText>, key: Filter, value: string): string {
  if (key === "decision") {
    const known = DECISIONS.find(one => one === value);
    if (known) return t(`decision.${known}`);
  }
  if (key === "outcome") {
    const known = OUTCOME_NAMES.find(one => one === value);
    if (known) return t(`outcome.${known}`);
  }
  return value;
}

type CallsProps = Pick<ActivityViewProps, "calls" | "selected" | "onOpen" | "filters"> & {
  hasFilters: boolean;
  foot: ReactNode;
};

function Calls({ calls, selected, onOpen, hasFilters, foot, filters }: CallsProps) {
  const t = useText();
  const isNarrow = useIsNarrow();
  const isPhone = useIsNarrow(560);
  const isBeside = selected !== null && !isNarrow;
  const columns: Column<Call>[] = [
    { key: "at", label: t("activity.at"), width: "84px", cell: call => <TimeAgo at={call.at_ms} /> },
    {
      key: "tool",
      label: t("activity.tool"),
      width: isBeside ? "minmax(110px, 2fr)" : "minmax(150px, 2fr)",
      cell: call => <Untrusted text={toolName(call.tool)} isLine className="strong" />,
    },
    {
      key: "agent",
      label: t("activity.agent"),
      width: isBeside ? "minmax(70px, 1fr)" : "minmax(90px, 1fr)",
      cell: call =>
        call.caller.agent === null ? (
          <Untrusted text={call.caller.person ?? call.caller.owner ?? ""} isLine />
        ) : (
          <Link to={urls.activity({ ...filters, agent: call.caller.agent })}>
            <Untrusted text={call.caller.agent} isLine />
          </Link>
        ),
    },
    {
      key: "decision",
      label: t("activity.decision"),
      width: "112px",
      cell: call => <Decision value={call.decided.decision} />,
    },
    {
      key: "outcome",
      label: t("activity.outcome"),
      width: "106px",
      cell: call => <Outcome value={call.outcome} />,
    },
    {
      key: "duration",
      label: t("activity.duration"),
      width: "72px",
      isEnd: true,
      cell: call =>
        call.duration_ms === null ? <span className="faint">–</span> : <Duration ms={call.duration_ms} />,
    },
  ];
  // Beside a chosen call there is room for the essential only.
  const left = isPhone ? ["agent", "decision", "duration"] : isBeside ? ["decision", "duration"] : [];
  const shown = columns.filter(column => !left.includes(column.key));
  return (
    <Table
      label={t("nav.activity")}
      columns={shown}
      rows={calls}
      keyOf={call => call.id}
      selected={selected}
      onOpen={call => onOpen(call.id)}
      foot={foot}
      empty={
        hasFilters ? (
          <EmptyState icon={Activity} title={t("activity.none_filtered")} />
        ) : (
          <EmptyState
            icon={Activity}
            title={t("activity.none")}
            text={t("activity.none_text")}
            command="octroi connect"
          />
        )
      }
    />
  );
}
