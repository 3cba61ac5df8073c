// Users, and what each may do.

import type { User } from "@/api/types";
import { useText } from "@/messages";
import { useFormat } from "@/messages/format";
import { Badge, type Column, Section, Status, Table, Untrusted } from "@/ui";

export function Users({ users }: { users: readonly User[] }) {
  const t = useText();
  const format = useFormat();
  const columns: Column<User>[] = [
    {
      key: "name",
      label: t("users.name"),
      width: "minmax(120px, 1fr)",
      cell: user => <Untrusted text={user.name} isLine className="strong" />,
    },
    {
      key: "role",
      label: t("users.role"),
      width: "130px",
      cell: user => (
        <Badge tone={user.role === "admin" ? "accent" : "idle"}>{t(`shell.role.${user.role}`)}</Badge>
      ),
    },
    {
      key: "state",
      label: t("approvals.state"),
      width: "120px",
      cell: user => (
        <Status tone={user.disabled ? "danger" : "ok"}>
          {t(user.disabled ? "users.locked_out" : "users.active")}
        </Status>
      ),
    },
    {
      key: "tokens",
      label: t("settings.tokens"),
      width: "80px",
      isEnd: true,
      cell: user => format.number(user.tokens),
    },
    {
      key: "agents",
      label: t("nav.agents"),
      width: "minmax(120px, 2fr)",
      cell: user => <Untrusted text={user.agents.join(", ")} isLine />,
    },
  ];
  return (
    <Section title={t("settings.users")}>
      <div className="panel">
        <Table label={t("settings.users")} columns={columns} rows={users} keyOf={user => user.name} />
      </div>
    </Section>
  );
}
