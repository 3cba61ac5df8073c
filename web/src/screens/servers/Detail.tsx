// One server: how it is, its tools, its log, and how it is configured.

import { Pause, Play, RotateCw, Trash2 } from "lucide-react";
import { useState } from "react";
import type { LogLines, ServerCheck, ServerDetail, ServerHistory, ToolSummary } from "@/api/types";
import { isContainer, parse, toText } from "@/lib/json";
import { toMs } from "@/lib/time";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import {
  Badge,
  Button,
  ButtonLink,
  type Column,
  Command,
  Dialog,
  Diff,
  Duration,
  EmptyState,
  Facts,
  Field,
  Input,
  JsonView,
  Link,
  Menu,
  Notice,
  PageHeader,
  Section,
  Table,
  Tabs,
  Textarea,
  TimeAgo,
  Untrusted,
} from "@/ui";
import { Plot } from "@/ui/Plot";
import { Effects, Risk } from "../approvals/words";
import { isEnabled } from "./View";
import { ServerHealth } from "./words";

export const SERVER_TABS = ["overview", "tools", "logs", "configuration"] as const;
export type ServerTab = (typeof SERVER_TABS)[number];

export interface ServerViewProps {
  server: ServerDetail;
  tab: ServerTab;
  onTab(tab: ServerTab): void;
  tools: readonly ToolSummary[];
  /** Nothing if the person may not read it. */
  log: LogLines | null;
  history: ServerHistory | null;
  onTest(): void;
  onRestart(): void;
  onToggle(enabled: boolean): void;
  onDelete: (() => void) | null;
  onEdit: ((entry: Record<string, unknown>) => void) | null;
  onRollback(revision: number): void;
  isBusy: boolean;
}

export function ServerView(props: ServerViewProps) {
  const { server, tab } = props;
  const t = useText();
  const [isDeleting, setDeleting] = useState(false);
  const [isEditing, setEditing] = useState(false);
  return (
    <div className="screen">
      <PageHeader
        title={<Untrusted text={server.title ?? server.name} isLine />}
        text={<ServerHealth server={server} />}
        actions={
          <>
            <Button isBusy={props.isBusy} icon={<Play size={14} aria-hidden />} onClick={props.onTest}>
              {t("servers.test")}
            </Button>
            {props.onEdit && <Button onClick={() => setEditing(true)}>{t("servers.edit")}</Button>}
            <Menu
              trigger={<Button>{t("servers.actions")}</Button>}
              items={[
                {
                  key: "toggle",
                  label: t(isEnabled(server) ? "servers.disable" : "servers.enable"),
                  icon: <Pause size={14} aria-hidden />,
                  onSelect: () => props.onToggle(!isEnabled(server)),
                },
                {
                  key: "restart",
                  label: t("servers.restart"),
                  icon: <RotateCw size={14} aria-hidden />,
                  onSelect: props.onRestart,
                },
                ...(props.onDelete
                  ? [
                      {
                        key: "delete",
                        label: t("servers.delete"),
                        icon: <Trash2 size={14} aria-hidden />,
                        isDanger: true,
                        onSelect: () => setDeleting(true),
                      },
                    ]
                  : []),
              ]}
            />
          </>
        }
      />
      <div className="page-body">
        <Tabs
          label={t("servers.tabs")}
          active={tab}
          onChange={props.onTab}
          tabs={[
            { key: "overview", label: t("servers.tab.overview"), content: <Overview server={server} /> },
            { key: "tools", label: t("servers.tab.tools"), content: <ToolList tools={props.tools} /> },
            { key: "logs", label: t("servers.tab.logs"), content: <Log log={props.log} /> },
            {
              key: "configuration",
              label: t("servers.tab.configuration"),
              content: <Configuration {...props} />,
            },
          ]}
        />
      </div>
      {isEditing && (
        <EditDialog
          server={server}
          onClose={() => setEditing(false)}
          onSave={entry => {
            setEditing(false);
            props.onEdit?.(entry);
          }}
        />
      )}
      <DeleteDialog
        name={server.name}
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        onDelete={() => {
          setDeleting(false);
          props.onDelete?.();
        }}
      />
    </div>
  );
}

interface EditDialogProps {
  server: ServerDetail;
  onClose(): void;
  onSave(entry: Record<string, unknown>): void;
}

/** The entry as JSON; what would change is shown before it is saved. */
function EditDialog({ server, onClose, onSave }: EditDialogProps) {
  const t = useText();
  const [text, setText] = useState(() => toText(server.entry ?? {}));
  const read = parse(text);
  const entry = read.ok && isContainer(read.value) && !Array.isArray(read.value) ? read.value : null;
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={t("servers.edit_title", { name: server.name })}
      foot={
        <>
          <Button onClick={onClose}>{t("common.cancel")}</Button>
          <Button
            look="primary"
            disabled={entry === null}
            onClick={() => entry && onSave(entry as Record<string, unknown>)}
          >
            {t("servers.save")}
          </Button>
        </>
      }
    >
      <Field
        label={t("servers.tab.configuration")}
        help={t("servers.edit_help")}
        error={read.ok ? entry ? null : t("approvals.not_an_object") : <Untrusted text={read.message} />}
      >
        <Textarea isCode rows={14} value={text} onChange={event => setText(event.target.value)} />
      </Field>
      {entry && <Diff before={server.entry ?? {}} after={entry} />}
    </Dialog>
  );
}

function DeleteDialog(props: { name: string; isOpen: boolean; onClose(): void; onDelete(): void }) {
  const t = useText();
  const [typed, setTyped] = useState("");
  return (
    <Dialog
      isOpen={props.isOpen}
      onClose={props.onClose}
      title={t("servers.delete_title", { name: props.name })}
      description={t("servers.delete_text")}
      foot={
        <>
          <Button onClick={props.onClose}>{t("common.cancel")}</Button>
          <Button look="danger" disabled={typed !== props.name} onClick={props.onDelete}>
            {t("servers.delete")}
          </Button>
        </>
      }
    >
      <Field label={t("servers.delete_confirm", { name: props.name })}>
        <Input value={typed} autoComplete="off" onChange={event => setTyped(event.target.value)} />
      </Field>
    </Dialog>
  );
}

function Overview({ server }: { server: ServerDetail }) {
  const t = useText();
  const format = useFormat();
  const checks = server.checks.toSorted((a, b) => a.at - b.at);
  return (
    <div className="page-stack">
      {server.error !== undefined && (
        <Notice tone="danger">
          <Untrusted text={server.error} />
        </Notice>
      )}
      {server.quarantined > 0 && (
        <Notice tone="warn">
          {t("servers.has_quarantined", { count: server.quarantined })}
          <Link to={urls.tools({ part: "quarantine", server: server.name })}>{t("servers.review")}</Link>
        </Notice>
      )}
      {(server.warnings ?? []).map(warning => (
        <Notice key={warning} tone="warn">
          <Untrusted text={warning} />
        </Notice>
      ))}
      <Facts
        rows={[
          server.description !== undefined && [
            t("servers.about"),
            <Untrusted key="about" text={server.description} />,
          ],
          [t("servers.scope"), server.scope === "user" ? t("servers.own") : t("servers.shared")],
          server.owner !== undefined && [
            t("servers.owner"),
            <Untrusted key="owner" text={server.owner} isLine />,
          ],
          server.managed_by !== undefined && [
            t("servers.managed_by"),
            t(server.managed_by === "db" ? "servers.managed_db" : "servers.managed_file"),
          ],
          [t("servers.transport"), server.transport],
          server.version !== null && [t("servers.protocol"), `${server.version} · ${server.era ?? ""}`],
          [t("servers.tools"), format.number(server.tools)],
          [t("servers.in_flight"), `${server.in_flight} + ${server.waiting}`],
          [t("servers.restarts"), format.number(server.restarts)],
          [t("servers.failures"), format.number(server.consecutive_failures)],
        ]}
      />
      {checks.length > 1 && (
        <div className="panel panel--pad">
          <Plot
            title={t("servers.latency")}
            times={checks.map(check => check.at)}
            series={[
              { label: t("servers.latency"), color: "accent", values: checks.map(check => check.latency_ms) },
            ]}
            write={value => format.duration(value)}
          />
        </div>
      )}
      <Checks checks={server.checks} />
    </div>
  );
}

function Checks({ checks }: { checks: readonly ServerCheck[] }) {
  const t = useText();
  if (checks.length === 0) return null;
  return (
    <Section title={t("servers.checks")}>
      <ul className="timeline">
        {checks.slice(0, 20).map(check => (
          <li key={check.at}>
            <TimeAgo at={check.at} />
            <ServerHealth server={{ state: "running", health: check.health }} />
            {check.latency_ms !== null && <Duration ms={check.latency_ms} />}
            {check.error !== null && <Untrusted text={check.error} className="muted" />}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function ToolList({ tools }: { tools: readonly ToolSummary[] }) {
  const t = useText();
  const columns: Column<ToolSummary>[] = [
    {
      key: "name",
      label: t("tools.name"),
      width: "minmax(150px, 1fr)",
      cell: tool => (
        <Link to={urls.tool(tool.tool_id)} className="strong">
          <Untrusted text={tool.name} isLine />
        </Link>
      ),
    },
    {
      key: "risk",
      label: t("approvals.risk"),
      width: "80px",
      cell: tool => <Risk level={tool.risk_level} />,
    },
    {
      key: "description",
      label: t("tools.description"),
      width: "minmax(200px, 3fr)",
      cell: tool => <Untrusted text={tool.description ?? ""} isLine className="muted" />,
    },
    {
      key: "effects",
      label: t("approvals.effects"),
      width: "minmax(120px, 1fr)",
      cell: tool => <Effects tags={tool.side_effect_tags} />,
    },
  ];
  return (
    <Table
      label={t("servers.tab.tools")}
      columns={columns}
      rows={tools}
      keyOf={tool => tool.tool_id}
      empty={<EmptyState title={t("tools.none_of_server")} />}
    />
  );
}

function Log({ log }: { log: LogLines | null }) {
  const t = useText();
  const format = useFormat();
  if (log === null) return <p className="muted">{t("servers.log_hidden")}</p>;
  if (log.lines.length === 0) return <EmptyState title={t("servers.log_empty")} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <section className="log" tabIndex={0} aria-label={t("servers.tab.logs")}>
      {log.lines.map(line => (
        <div key={line.number} className="log-line">
          <time className="faint" title={format.exact(line.at)}>
            {format.clock(line.at)}
          </time>
          <Untrusted text={line.text} length={2_000} lines={20} />
        </div>
      ))}
    </section>
  );
}

function Configuration({ server, history, onRollback }: ServerViewProps) {
  const t = useText();
  return (
    <div className="page-stack">
      {server.entry === undefined ? (
        <Notice tone="info">
          {t("servers.in_file")}
          <Command line="octroi config show --origin" />
        </Notice>
      ) : (
        <div className="panel panel--pad">
          <JsonView value={server.entry} />
        </div>
      )}
      {history && history.revisions.length > 0 && (
        <Section title={t("servers.history")}>
          {history.revisions.map((revision, i) => {
            const previous = history.revisions[i + 1];
            return (
              <details key={revision.revision} className="panel panel--pad">
                <summary>
                  <Badge>{revision.revision}</Badge> <Untrusted text={revision.change} isLine />{" "}
                  <span className="muted">
                    <Untrusted text={revision.by} isLine /> · <TimeAgo at={toMs(revision.at)} />
                  </span>
                </summary>
                <div className="page-stack">
                  <Diff before={previous?.entry ?? {}} after={revision.entry ?? {}} />
                  {i > 0 && revision.entry !== null && (
                    <div>
                      <Button isSmall onClick={() => onRollback(revision.revision)}>
                        {t("servers.rollback")}
                      </Button>
                    </div>
                  )}
                </div>
              </details>
            );
          })}
        </Section>
      )}
      <div>
        <ButtonLink to={urls.audit({ server: server.name })}>{t("servers.audit")}</ButtonLink>
      </div>
    </div>
  );
}
