// Tokens. A new one is shown once; afterwards nothing shows it again.

import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Agent, CreateTokenRequest, Token } from "@/api/types";
import { type Key, useText } from "@/messages";
import {
  Button,
  Code,
  type Column,
  Dialog,
  EmptyState,
  ErrorBox,
  Field,
  Input,
  Notice,
  Section,
  Select,
  Status,
  Table,
  TimeAgo,
  type Tone,
  Untrusted,
} from "@/ui";

export interface TokensProps {
  tokens: readonly Token[];
  agents: readonly Agent[];
  /** The token that was just made. */
  created: string | null;
  isBusy: boolean;
  error: unknown;
  onCreate(request: CreateTokenRequest): void;
  onSeen(): void;
  onRevoke(id: string): void;
}

const STATES: Record<string, { tone: Tone; label: Key & `tokens.state.${string}` }> = {
  valid: { tone: "ok", label: "tokens.state.valid" },
  expiring: { tone: "warn", label: "tokens.state.expiring" },
  expired: { tone: "idle", label: "tokens.state.expired" },
  revoked: { tone: "idle", label: "tokens.state.revoked" },
  locked_out: { tone: "danger", label: "tokens.state.locked_out" },
};

function TokenState({ state }: { state: string }) {
  const t = useText();
  const known = STATES[state];
  return (
    <Status tone={known?.tone ?? "idle"}>{known ? t(known.label) : <Untrusted text={state} isLine />}</Status>
  );
}

export function Tokens(props: TokensProps) {
  const t = useText();
  const [revoking, setRevoking] = useState<Token | null>(null);
  const columns: Column<Token>[] = [
    {
      key: "label",
      label: t("tokens.label"),
      width: "minmax(120px, 1.4fr)",
      cell: token => <Untrusted text={token.label} isLine className="strong" />,
    },
    {
      key: "state",
      label: t("approvals.state"),
      width: "110px",
      cell: token => <TokenState state={token.state} />,
    },
    { key: "kind", label: t("tokens.kind"), width: "90px", cell: token => t(`tokens.kind.${token.kind}`) },
    {
      key: "of",
      label: t("tokens.of"),
      width: "minmax(100px, 1fr)",
      cell: token => <Untrusted text={token.agent_id ?? token.user} isLine />,
    },
    {
      key: "used",
      label: t("tokens.used"),
      width: "100px",
      cell: token => token.last_used_at !== null && <TimeAgo at={token.last_used_at} />,
    },
    {
      key: "expires",
      label: t("tokens.expires"),
      width: "100px",
      cell: token =>
        token.expires_at === null ? <span className="faint">–</span> : <TimeAgo at={token.expires_at} />,
    },
    {
      key: "revoke",
      label: t("tokens.revoke"),
      isLabelHidden: true,
      width: "90px",
      isEnd: true,
      cell: token =>
        (token.state === "valid" || token.state === "expiring") && (
          <Button isSmall look="quiet" onClick={() => setRevoking(token)}>
            {t("tokens.revoke")}
          </Button>
        ),
    },
  ];
  return (
    <div className="page-stack">
      {props.created !== null && (
        <Notice tone="ok" role="status">
          <strong>{t("tokens.created")}</strong>
          <Code text={props.created} label={t("tokens.created")} />
          <span>
            <Button isSmall onClick={props.onSeen}>
              {t("tokens.seen")}
            </Button>
          </span>
        </Notice>
      )}
      <NewToken {...props} />
      <Section title={t("settings.tokens")}>
        <div className="panel">
          <Table
            label={t("settings.tokens")}
            columns={columns}
            rows={props.tokens}
            keyOf={token => token.id}
            empty={<EmptyState icon={KeyRound} title={t("tokens.none")} command="octroi tokens create" />}
          />
        </div>
      </Section>
      <Dialog
        isOpen={revoking !== null}
        onClose={() => setRevoking(null)}
        title={t("tokens.revoke_title", { name: revoking?.label ?? "" })}
        description={t("tokens.revoke_text")}
        foot={
          <>
            <Button onClick={() => setRevoking(null)}>{t("common.cancel")}</Button>
            <Button
              look="danger"
              onClick={() => {
                if (revoking) props.onRevoke(revoking.id);
                setRevoking(null);
              }}
            >
              {t("tokens.revoke")}
            </Button>
          </>
        }
      >
        <code>{revoking?.id}</code>
      </Dialog>
    </div>
  );
}

const DAY = 86_400;
const LASTS = [
  { days: 30, label: "tokens.days" },
  { days: 90, label: "tokens.days" },
  { days: 365, label: "tokens.days" },
] as const;

function NewToken({ agents, isBusy, error, onCreate }: TokensProps) {
  const t = useText();
  const [agent, setAgent] = useState("");
  const [label, setLabel] = useState("");
  const [days, setDays] = useState("90");
  const create = () =>
    onCreate({
      ...(agent !== "" && { agent_id: agent }),
      ...(label.trim() !== "" && { label: label.trim() }),
      ...(days !== "" && { expires_in_seconds: Number(days) * DAY }),
    });
  return (
    <Section title={t("tokens.new")}>
      <div className="grid-2">
        <Field label={t("tokens.of")}>
          <Select
            value={agent}
            options={[
              { value: "", label: t("tokens.me") },
              ...agents.map(one => ({ value: one.id, label: one.name })),
            ]}
            onChange={event => setAgent(event.target.value)}
          />
        </Field>
        <Field label={t("tokens.label")}>
          <Input value={label} onChange={event => setLabel(event.target.value)} />
        </Field>
        <Field label={t("tokens.expires")}>
          <Select
            value={days}
            options={[
              ...LASTS.map(one => ({ value: String(one.days), label: t(one.label, { count: one.days }) })),
              { value: "", label: t("tokens.never") },
            ]}
            onChange={event => setDays(event.target.value)}
          />
        </Field>
      </div>
      {error != null && <ErrorBox error={error} />}
      <div>
        <Button look="primary" isBusy={isBusy} onClick={create}>
          {t("tokens.create")}
        </Button>
      </div>
    </Section>
  );
}
