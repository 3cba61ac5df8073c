// Settings, connected.

import { useState } from "react";
import { resource } from "@/api/uri";
import { useOperation, usePerson, useQueryOperation, useResource } from "@/mcp/hooks";
import { useText } from "@/messages";
import { failureFrom, Loaded, PageHeader, Tabs, useSearchFilters, useToast } from "@/ui";
import { Secrets } from "./Secrets";
import { Tokens } from "./Tokens";
import { Users } from "./Users";

const PARTS = ["tokens", "secrets", "users"] as const;
type Part = (typeof PARTS)[number];

export function SettingsScreen() {
  const t = useText();
  const { get, set } = useSearchFilters();
  const part: Part = PARTS.find(one => one === get("part")) ?? "tokens";
  return (
    <div className="screen">
      <PageHeader title={t("nav.settings")} />
      <div className="page-body">
        <Tabs<Part>
          label={t("nav.settings")}
          active={part}
          onChange={next => set({ part: next })}
          tabs={[
            { key: "tokens", label: t("settings.tokens"), content: part === "tokens" && <TokensPart /> },
            { key: "secrets", label: t("settings.secrets"), content: part === "secrets" && <SecretsPart /> },
            { key: "users", label: t("settings.users"), content: part === "users" && <UsersPart /> },
          ]}
        />
      </div>
    </div>
  );
}

function useFailed() {
  const toast = useToast();
  return (error: unknown) => {
    const { message, hint } = failureFrom(error);
    toast.failed({ title: message, ...(hint !== undefined && { description: hint }) });
  };
}

function TokensPart() {
  const t = useText();
  const toast = useToast();
  const failed = useFailed();
  const tokens = useResource(resource("tokens"));
  const agents = useResource(resource("agents"));
  const create = useOperation("tokens_create");
  const revoke = useOperation("tokens_revoke");
  // Kept nowhere else: it is gone with this page.
  const [created, setCreated] = useState<string | null>(null);
  return (
    <Loaded query={tokens}>
      {data => (
        <Tokens
          tokens={data.tokens}
          agents={agents.data ?? []}
          created={created}
          isBusy={create.isPending}
          error={create.error}
          onCreate={request =>
            create.mutate(request, {
              onSuccess: ({ token }) => {
                setCreated(token);
                create.reset();
              },
            })
          }
          onSeen={() => setCreated(null)}
          onRevoke={id =>
            revoke.mutate(
              { id },
              {
                onSuccess: ({ label }) => toast.done({ title: t("tokens.revoked", { name: label }) }),
                onError: failed,
              },
            )
          }
        />
      )}
    </Loaded>
  );
}

function SecretsPart() {
  const t = useText();
  const toast = useToast();
  const failed = useFailed();
  const person = usePerson();
  const secrets = useQueryOperation("secrets_list", {});
  const change = useOperation("secrets_set");
  const remove = useOperation("secrets_remove");
  // Members set their own; administrators those of the gateway.
  const whose = person?.role === "member" ? { user: person.user } : {};
  return (
    <Loaded query={secrets}>
      {data => (
        <Secrets
          secrets={data.secrets}
          isBusy={change.isPending}
          error={change.error}
          onSet={(name, value) =>
            change.mutate(
              { name, value, ...whose },
              {
                onSuccess: () => {
                  toast.done({ title: t("secrets.was_set", { name }) });
                  // The value is not kept with what the page remembers of the request.
                  change.reset();
                  void secrets.refetch();
                },
              },
            )
          }
          onRemove={({ name, user }) =>
            remove.mutate(
              { name, ...(user !== null && { user }) },
              {
                onSuccess: () => {
                  toast.done({ title: t("secrets.was_removed", { name }) });
                  void secrets.refetch();
                },
                onError: failed,
              },
            )
          }
        />
      )}
    </Loaded>
  );
}

function UsersPart() {
  const users = useResource(resource("users"));
  return <Loaded query={users}>{data => <Users users={data.users} />}</Loaded>;
}
