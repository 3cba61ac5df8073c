// One agent: what it is doing, how it is set up, and what its policies say.

import { CircleSlash, Pause, Play } from "lucide-react";
import { useState } from "react";
import type { Agent, AgentServer, PolicySentences } from "@/api/types";
import { urls } from "@/lib/urls";
import { useText } from "@/messages";
import {
  Badge,
  Button,
  ButtonLink,
  Dialog,
  Facts,
  Field,
  Input,
  Link,
  Notice,
  PageHeader,
  Section,
  Select,
  TimeAgo,
  Untrusted,
} from "@/ui";
import { Effects } from "../approvals/words";
import { ServerHealth } from "../servers/words";
import { AgentState } from "./View";

export interface AgentViewProps {
  agent: Agent;
  servers: readonly AgentServer[];
  policy: PolicySentences | null;
  isBusy: boolean;
  onMode(mode: Agent["mode"]): void;
  onPause(reason: string): void;
  onResume(): void;
  onAbort(reason: string): void;
}

export function AgentView(props: AgentViewProps) {
  const { agent, servers, policy } = props;
  const t = useText();
  const [asked, setAsked] = useState<"pause" | "abort" | null>(null);
  return (
    <article>
      <PageHeader
        title={<Untrusted text={agent.name} isLine />}
        text={<AgentState agent={agent} />}
        actions={
          <>
            {agent.paused ? (
              <Button
                look="primary"
                isBusy={props.isBusy}
                icon={<Play size={14} aria-hidden />}
                onClick={props.onResume}
              >
                {t("agents.resume")}
              </Button>
            ) : (
              <Button
                isBusy={props.isBusy}
                icon={<Pause size={14} aria-hidden />}
                onClick={() => setAsked("pause")}
              >
                {t("agents.pause")}
              </Button>
            )}
            <Button
              look="danger"
              isBusy={props.isBusy}
              icon={<CircleSlash size={14} aria-hidden />}
              onClick={() => setAsked("abort")}
            >
              {t("agents.abort")}
            </Button>
          </>
        }
      />
      <div className="page-body">
        {agent.paused && (
          <Notice tone="warn">
            <span>
              {t("agents.paused_by")} <Untrusted text={agent.paused.by} isLine />,{" "}
              <TimeAgo at={agent.paused.at} />
            </span>
            {agent.paused.reason !== null && <Untrusted text={agent.paused.reason} />}
          </Notice>
        )}
        <About {...props} />
        <Section title={t("agents.servers")}>
          <ul className="timeline">
            {servers.map(server => (
              <li key={server.name}>
                <Link to={urls.server(server.name)} className="strong">
                  <Untrusted text={server.name} isLine />
                </Link>
                <ServerHealth server={server} />
              </li>
            ))}
          </ul>
          {servers.length === 0 && <p className="muted">{t("agents.no_servers")}</p>}
        </Section>
        {policy && <Policy policy={policy} />}
      </div>
      {asked && (
        <ReasonDialog
          key={asked}
          kind={asked}
          name={agent.name}
          onClose={() => setAsked(null)}
          onDo={reason => {
            setAsked(null);
            if (asked === "pause") props.onPause(reason);
            else props.onAbort(reason);
          }}
        />
      )}
    </article>
  );
}

function About({ agent, onMode }: AgentViewProps) {
  const t = useText();
  return (
    <>
      <Facts
        rows={[
          [t("agents.owner"), <Untrusted key="owner" text={agent.owner} isLine />],
          [
            t("agents.mode"),
            <Select
              key="mode"
              aria-label={t("agents.mode")}
              value={agent.mode}
              options={[
                { value: "planning", label: t("agents.mode.planning") },
                { value: "execution", label: t("agents.mode.execution") },
              ]}
              onChange={event => onMode(event.target.value as Agent["mode"])}
            />,
          ],
          [t("agents.profile"), t(`agents.profile.${agent.profile}`)],
          agent.project !== null && [t("agents.project"), <Untrusted key="project" text={agent.project} />],
          agent.project_root !== null && [
            t("agents.root"),
            <code key="root">
              <Untrusted text={agent.project_root} />
            </code>,
          ],
          agent.spec_hash !== null && [
            t("agents.spec"),
            <span key="spec" className="button-row">
              <code className="wrap-anywhere">{agent.spec_hash}</code>
              {agent.spec_frozen && <Badge tone="info">{t("agents.frozen")}</Badge>}
            </span>,
          ],
          agent.blacklist.length > 0 && [
            t("agents.blacklist"),
            <Effects key="blacklist" tags={agent.blacklist} />,
          ],
        ]}
      />
      <div className="button-row">
        <ButtonLink to={urls.activity({ agent: agent.id })}>{t("agents.calls")}</ButtonLink>
        {agent.pending_approvals > 0 && (
          <ButtonLink look="primary" to={urls.approvals({ agent: agent.id })}>
            {t("shell.pending", { count: agent.pending_approvals })}
          </ButtonLink>
        )}
      </div>
    </>
  );
}

function Policy({ policy }: { policy: PolicySentences }) {
  const t = useText();
  return (
    <Section title={t("agents.policy")}>
      {policy.levels.map(level => (
        <div key={level.level} className="section">
          <h3>{t(`agents.level.${level.level}`)}</h3>
          {level.rules.length === 0 ? (
            <p className="muted">{t("agents.no_rules")}</p>
          ) : (
            <Sentences texts={level.rules} />
          )}
        </div>
      ))}
      <h3>{t("agents.otherwise")}</h3>
      <Sentences texts={policy.otherwise} />
    </Section>
  );
}

function Sentences({ texts }: { texts: readonly string[] }) {
  return (
    <ol className="timeline">
      {texts.map((text, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rules of one policy have an order
        <li key={i}>
          <Untrusted text={text} />
        </li>
      ))}
    </ol>
  );
}

interface ReasonDialogProps {
  kind: "pause" | "abort";
  name: string;
  onClose(): void;
  onDo(reason: string): void;
}

function ReasonDialog({ kind, name, onClose, onDo }: ReasonDialogProps) {
  const t = useText();
  const [reason, setReason] = useState("");
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t(`agents.${kind}_title`, { name })}
      description={t(`agents.${kind}_text`)}
      foot={
        <>
          <Button onClick={onClose}>{t("common.cancel")}</Button>
          <Button look={kind === "abort" ? "danger" : "primary"} onClick={() => onDo(reason.trim())}>
            {t(`agents.${kind}`)}
          </Button>
        </>
      }
    >
      <Field label={t("approvals.reason")}>
        <Input value={reason} onChange={event => setReason(event.target.value)} />
      </Field>
    </Dialog>
  );
}
