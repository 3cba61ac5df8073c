// Secrets by name. Their values go in, and nothing shows them again.

import { Lock } from "lucide-react";
import { useState } from "react";
import type { Secret } from "@/api/types";
import { useText } from "@/messages";
import {
  Badge,
  Button,
  type Column,
  EmptyState,
  ErrorBox,
  Field,
  Input,
  Section,
  Table,
  TimeAgo,
  Untrusted,
} from "@/ui";

export interface SecretsProps {
  secrets: readonly Secret[];
  isBusy: boolean;
  error: unknown;
  onSet(name: string, value: string): void;
  onRemove(secret: Secret): void;
}

export function Secrets({ secrets, isBusy, error, onSet, onRemove }: SecretsProps) {
  const t = useText();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const columns: Column<Secret>[] = [
    {
      key: "name",
      label: t("secrets.name"),
      width: "minmax(140px, 1.4fr)",
      cell: secret => (
        <span className="button-row">
          <Untrusted text={secret.name} isLine className="strong mono" />
          {!secret.readable && <Badge tone="danger">{t("secrets.unreadable")}</Badge>}
        </span>
      ),
    },
    {
      key: "user",
      label: t("tokens.of"),
      width: "110px",
      cell: secret => <Untrusted text={secret.user ?? t("secrets.gateway")} isLine />,
    },
    {
      key: "servers",
      label: t("nav.servers"),
      width: "minmax(100px, 1fr)",
      cell: secret => <Untrusted text={secret.servers.join(", ")} isLine />,
    },
    {
      key: "at",
      label: t("secrets.set_at"),
      width: "100px",
      cell: secret => <TimeAgo at={secret.updated_at} />,
    },
    {
      key: "remove",
      label: t("secrets.remove"),
      isLabelHidden: true,
      width: "90px",
      isEnd: true,
      // One that is used is refused by the gateway, which says by what.
      cell: secret => (
        <Button isSmall look="quiet" onClick={() => onRemove(secret)}>
          {t("secrets.remove")}
        </Button>
      ),
    },
  ];
  const set = () => {
    onSet(name.trim(), value);
    setValue("");
  };
  return (
    <div className="page-stack">
      <Section title={t("secrets.new")}>
        <div className="grid-2">
          <Field label={t("secrets.name")} help={t("secrets.name_help")}>
            <Input value={name} autoComplete="off" onChange={event => setName(event.target.value)} />
          </Field>
          <Field label={t("secrets.value")} help={t("secrets.value_help")}>
            <Input
              type="password"
              value={value}
              autoComplete="new-password"
              onChange={event => setValue(event.target.value)}
            />
          </Field>
        </div>
        {error != null && <ErrorBox error={error} />}
        <div>
          <Button
            look="primary"
            isBusy={isBusy}
            disabled={name.trim() === "" || value.length < 8}
            onClick={set}
          >
            {t("secrets.set")}
          </Button>
        </div>
      </Section>
      <Section title={t("settings.secrets")}>
        <div className="panel">
          <Table
            label={t("settings.secrets")}
            columns={columns}
            rows={secrets}
            keyOf={secret => `${secret.user} ${secret.name}`}
            empty={<EmptyState icon={Lock} title={t("secrets.none")} command="octroi secrets set NAME" />}
          />
        </div>
      </Section>
    </div>
  );
}
