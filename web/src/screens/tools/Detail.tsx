// One tool: what it is, a form to try it, who may call it, and how its definition changed.

import { useState } from "react";
import type { Agent, CallResponse, Explanation, PinHistory, ToolDetail } from "@/api/types";
import { isContainer } from "@/lib/json";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import {
  Badge,
  Button,
  Code,
  Duration,
  ErrorBox,
  Facts,
  Field,
  JsonView,
  Link,
  Notice,
  PageHeader,
  Section,
  Select,
  Status,
  Tabs,
  TimeAgo,
  Untrusted,
} from "@/ui";
import { Decision, Outcome } from "../activity/words";
import { Effects, Risk } from "../approvals/words";
import { ArgumentsForm } from "./ArgumentsForm";
import { ToolBadges } from "./View";

export const TOOL_TABS = ["about", "try", "who", "history"] as const;
export type ToolTab = (typeof TOOL_TABS)[number];

type Answer<T> = { data: T | undefined; error: unknown; isBusy: boolean };

export interface ToolViewProps {
  tool: ToolDetail;
  tab: ToolTab;
  onTab(tab: ToolTab): void;
  agents: readonly Agent[];
  nCalls: number;
  history: PinHistory | null;
  call: Answer<CallResponse> & { run(agent: string, args: Record<string, unknown>): void };
  why: Answer<Explanation> & { run(agent: string | null, args: Record<string, unknown>): void };
}

export function ToolView(props: ToolViewProps) {
  const { tool, tab, onTab } = props;
  const t = useText();
  return (
    <article>
      <PageHeader
        title={<Untrusted text={`${tool.source_id}.${tool.name}`} length={200} />}
        text={<ToolBadges tool={tool} />}
      />
      <div className="page-body">
        <Tabs
          label={t("tools.tabs")}
          active={tab}
          onChange={onTab}
          tabs={[
            { key: "about", label: t("tools.tab.about"), content: <About {...props} /> },
            { key: "try", label: t("tools.tab.try"), content: <Try key={tool.tool_id} {...props} /> },
            { key: "who", label: t("tools.tab.who"), content: <Who key={tool.tool_id} {...props} /> },
            { key: "history", label: t("tools.tab.history"), content: <History history={props.history} /> },
          ]}
        />
      </div>
    </article>
  );
}

function About({ tool, nCalls }: ToolViewProps) {
  const t = useText();
  return (
    <div className="page-stack">
      {tool.hidden_because !== null && (
        <Notice tone="warn">
          <strong>{t("tools.hidden_because")}</strong>
          <Untrusted text={tool.hidden_because} />
        </Notice>
      )}
      {tool.description !== null && <Untrusted text={tool.description} />}
      <Facts
        rows={[
          [
            t("tools.server"),
            <Link key="server" to={urls.server(tool.source_id)}>
              <Untrusted text={tool.source_id} isLine />
            </Link>,
          ],
          [
            t("tools.wire_name"),
            <code key="wire">
              <Untrusted text={tool.wire_name} isLine />
            </code>,
          ],
          [t("approvals.risk"), <Risk key="risk" level={tool.risk_level} />],
          [t("approvals.effects"), <Effects key="effects" tags={tool.side_effect_tags} />],
          [t("tools.trust"), t(`risk.${tool.trust}`)],
          [t("tools.timeout"), <Duration key="timeout" ms={tool.timeout_ms} />],
          [
            t("tools.calls"),
            <Link key="calls" to={urls.activity({ tool: tool.tool_id })}>
              {t("tools.calls_day", { count: nCalls })}
            </Link>,
          ],
          tool.source_version !== null && [
            t("tools.version"),
            <Untrusted key="version" text={tool.source_version} isLine />,
          ],
          [
            t("tools.hash"),
            <code key="hash" className="wrap-anywhere">
              {tool.definition_hash}
            </code>,
          ],
        ]}
      />
      <Schema title={t("tools.input")} schema={tool.input_schema} />
      {tool.output_schema !== null && <Schema title={t("tools.output")} schema={tool.output_schema} />}
      {isContainer(tool.annotations) && (
        <Section title={t("tools.annotations")}>
          <div className="panel panel--pad">
            <JsonView value={tool.annotations} />
          </div>
        </Section>
      )}
    </div>
  );
}

function Schema({ title, schema }: { title: string; schema: unknown }) {
  const t = useText();
  return (
    <Section title={title}>
      {isContainer(schema) ? (
        <div className="panel panel--pad">
          <JsonView value={schema} />
        </div>
      ) : (
        <p className="muted">{t("tools.no_schema")}</p>
      )}
    </Section>
  );
}

function AgentSelect(props: {
  agents: readonly Agent[];
  value: string;
  hasPerson?: boolean;
  onChange(id: string): void;
}) {
  const t = useText();
  const options = props.agents.map(agent => ({ value: agent.id, label: agent.name }));
  return (
    <Field label={t("tools.agent")}>
      <Select
        value={props.value}
        options={props.hasPerson ? [{ value: "", label: t("tools.who_person") }, ...options] : options}
        onChange={event => props.onChange(event.target.value)}
      />
    </Field>
  );
}

function Try({ tool, agents, call }: ToolViewProps) {
  const t = useText();
  const [agent, setAgent] = useState(agents[0]?.id ?? "");
  const [args, setArgs] = useState<Record<string, unknown> | null>(null);
  const chosen = agent || (agents[0]?.id ?? "");
  if (agents.length === 0) return <p className="muted">{t("tools.no_agent")}</p>;
  return (
    <div className="page-stack">
      <Notice tone="info">{t("tools.call_help")}</Notice>
      <AgentSelect agents={agents} value={chosen} onChange={setAgent} />
      <ArgumentsForm schema={tool.input_schema} onChange={setArgs} />
      <div className="button-row">
        <Button
          look="primary"
          disabled={args === null}
          isBusy={call.isBusy}
          onClick={() => args && call.run(chosen, args)}
        >
          {t("tools.call")}
        </Button>
      </div>
      {call.error != null && <ErrorBox error={call.error} />}
      {call.data && <Result answer={call.data} />}
    </div>
  );
}

function Result({ answer }: { answer: CallResponse }) {
  const t = useText();
  return (
    <Section title={t("tools.result")} actions={<Outcome value={answer.outcome} />}>
      {answer.message !== undefined && <Untrusted text={answer.message} />}
      {answer.reasons?.map(reason => (
        <Untrusted key={reason} text={reason} />
      ))}
      {answer.outcome === "waiting" && (
        <Notice tone="info">
          {t("tools.waiting")}
          {answer.approval !== undefined && (
            <Link to={urls.approval(answer.approval)}>{t("tools.open_approval")}</Link>
          )}
        </Notice>
      )}
      {(answer.result ?? answer.error) !== undefined && (
        <div className="panel panel--pad">
          <JsonView value={answer.result ?? answer.error} />
        </div>
      )}
    </Section>
  );
}

function Who({ tool, agents, why }: ToolViewProps) {
  const t = useText();
  const [agent, setAgent] = useState("");
  const [args, setArgs] = useState<Record<string, unknown> | null>(null);
  const { data } = why;
  return (
    <div className="page-stack">
      <p className="muted">{t("tools.who_help")}</p>
      <AgentSelect agents={agents} value={agent} hasPerson onChange={setAgent} />
      <ArgumentsForm schema={tool.input_schema} isPartial onChange={setArgs} />
      <div className="button-row">
        <Button look="primary" isBusy={why.isBusy} onClick={() => why.run(agent || null, args ?? {})}>
          {t("tools.who_ask")}
        </Button>
      </div>
      {why.error != null && <ErrorBox error={why.error} />}
      {data && (
        <Section title={t("approvals.decision")} actions={<Decision value={data.decision} />}>
          {data.reason !== null && <Untrusted text={data.reason} />}
          <ol className="steps">
            {data.trace.map((gate, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the gates of one decision never change places
              <li key={i}>
                <span className="strong">
                  <Untrusted text={gate.gate} isLine />
                </span>
                <Decision value={gate.outcome} />
                <div className="steps-text muted">
                  {gate.reason !== null && <Untrusted text={gate.reason} />}
                  {gate.by !== null && (
                    <code>
                      <Untrusted text={gate.by} />
                    </code>
                  )}
                </div>
              </li>
            ))}
          </ol>
        </Section>
      )}
    </div>
  );
}

const VERSION_TONES = { quarantined: "warn", rejected: "danger", accepted: "ok" } as const;

function History({ history }: { history: PinHistory | null }) {
  const t = useText();
  const format = useFormat();
  if (!history || history.versions.length === 0) return <p className="muted">{t("tools.history_none")}</p>;
  return (
    <div className="page-stack">
      {history.versions.map(version => (
        <details key={version.hash} className="panel panel--pad" open={version.state === "quarantined"}>
          <summary>
            <Status tone={VERSION_TONES[version.state as keyof typeof VERSION_TONES] ?? "idle"}>
              <Untrusted text={version.state} isLine />
            </Status>{" "}
            <span className="muted">
              {version.by !== null && <Untrusted text={version.by} isLine />}{" "}
              {version.accepted_at !== null && <TimeAgo at={version.accepted_at} />}
            </span>
          </summary>
          <div className="page-stack">
            <Facts
              rows={[
                [
                  t("tools.hash"),
                  <code key="hash" className="wrap-anywhere">
                    {version.hash}
                  </code>,
                ],
              ]}
            />
            {version.changes.length > 0 && (
              <span className="button-row">
                <Badge>{format.number(version.changes.length)}</Badge> {t("pins.changes")}
              </span>
            )}
            <Code
              text={
                version.diff ||
                (typeof version.definition === "string"
                  ? version.definition
                  : JSON.stringify(version.definition, null, 2))
              }
              label={t("tools.definition")}
            />
          </div>
        </details>
      ))}
    </div>
  );
}
