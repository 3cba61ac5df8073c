// Servers, connected.

import { useState } from "react";
import { serverLog } from "@/api/refs";
import type { ServerDetail, ServerStatus } from "@/api/types";
import { resource } from "@/api/uri";
import { urls } from "@/lib/urls";
import { useGateway, useOperation, usePerson, useQueryOperation, useResource } from "@/mcp/hooks";
import { useText } from "@/messages";
import { failureFrom, Loaded, type Sort, useChosen, useLocation, useSearchFilters, useToast } from "@/ui";
import { AddDialog, type NewServer } from "./AddDialog";
import { SERVER_TABS, type ServerTab, ServerView } from "./Detail";
import "./servers.css";
import { ServersView } from "./View";

const SERVERS = resource("servers");

export function sortFrom(text: string | null): Sort | null {
  if (!text) return null;
  return { key: text.replace(/^-/, ""), isDescending: text.startsWith("-") };
}

/** Says in a toast what an operation came to. */
function useReport() {
  const toast = useToast();
  return {
    done: (title: string) => toast.done({ title }),
    failed: (error: unknown) => {
      const { message, hint } = failureFrom(error);
      toast.failed({ title: message, ...(hint !== undefined && { description: hint }) });
    },
  };
}

/** The table, or the chosen server in its place. */
export function ServersScreen() {
  const name = useChosen();
  return name === null ? <ServerTable /> : <ServerScreen key={name} name={name} />;
}

function ServerTable() {
  const t = useText();
  const report = useReport();
  const { navigate } = useLocation();
  const filters = useSearchFilters();
  const servers = useResource(SERVERS);
  const toggle = useOperation("servers_toggle");
  const isAdding = filters.get("add") !== null;
  return (
    <>
      <Loaded query={servers}>
        {data => (
          <ServersView
            servers={data.servers}
            problems={data.problems}
            query={filters.get("q") ?? ""}
            scope={filters.get("scope")}
            sort={sortFrom(filters.get("sort"))}
            onFilter={filters.set}
            onOpen={name => navigate(urls.server(name))}
            onAdd={() => filters.set({ add: "1" })}
            onToggle={(server: ServerStatus, enabled) =>
              toggle.mutate(
                { name: server.name, enabled },
                {
                  onSuccess: () =>
                    report.done(
                      t(enabled ? "servers.enabled_done" : "servers.disabled_done", { name: server.name }),
                    ),
                  onError: report.failed,
                },
              )
            }
          />
        )}
      </Loaded>
      {isAdding && <AddServer onClose={() => filters.set({ add: null })} />}
    </>
  );
}

function AddServer({ onClose }: { onClose(): void }) {
  const t = useText();
  const report = useReport();
  const gateway = useGateway();
  const person = usePerson();
  const { navigate } = useLocation();
  const templates = useQueryOperation("templates_list", {});
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: null });
  const add = async ({ name, scope, entry, secrets }: NewServer) => {
    setState({ isBusy: true, error: null });
    try {
      for (const secret of secrets) {
        await gateway.call("secrets_set", {
          ...secret,
          ...(scope === "user" && person && { user: person.user }),
        });
      }
      await gateway.call("servers_add", { name, entry, scope });
      report.done(t("servers.added", { name }));
      navigate(urls.server(name));
      // Testing shows at once whether it works; a failure is shown on its page.
      gateway.call("servers_test", { name }).catch(report.failed);
    } catch (error) {
      setState({ isBusy: false, error });
    }
  };
  return (
    <AddDialog
      isOpen
      onClose={onClose}
      templates={templates.data?.templates ?? []}
      isAdmin={person?.role === "admin"}
      onAdd={server => void add(server)}
      isBusy={state.isBusy}
      error={state.error}
    />
  );
}

function ServerScreen({ name }: { name: string }) {
  const t = useText();
  const report = useReport();
  const { navigate } = useLocation();
  const filters = useSearchFilters();
  const isAdmin = usePerson()?.role === "admin";
  const given = filters.get("tab");
  const tab: ServerTab = SERVER_TABS.find(one => one === given) ?? "overview";
  const changesWith = [SERVERS, resource("server", { id: name })];
  const server = useQueryOperation("servers_get", { name }, { changesWith });
  const owned: ServerDetail | undefined = server.data;
  const isStored = owned?.managed_by === "db";
  const tools = useQueryOperation(
    "tools_list_catalog",
    { servers: [name] },
    { changesWith: [resource("tools")], enabled: tab === "tools" },
  );
  const log = useQueryOperation(
    "servers_logs",
    { name, lines: 500 },
    { changesWith: [serverLog(name)], enabled: tab === "logs" },
  );
  const history = useQueryOperation(
    "servers_history",
    { name },
    { changesWith, enabled: tab === "configuration" && isStored },
  );
  const test = useOperation("servers_test");
  const restart = useOperation("servers_restart");
  const toggle = useOperation("servers_toggle");
  const update = useOperation("servers_update");
  const remove = useOperation("servers_delete");
  const rollback = useOperation("servers_rollback");
  const onError = report.failed;
  return (
    <Loaded query={server}>
      {data => (
        <ServerView
          server={data}
          tab={tab}
          onTab={next => filters.set({ tab: next === "overview" ? null : next })}
          tools={tools.data?.tools ?? []}
          log={log.data ?? null}
          history={history.data ?? null}
          isBusy={test.isPending || restart.isPending}
          onTest={() =>
            test.mutate(
              { name },
              { onSuccess: ({ tools: n }) => report.done(t("servers.tested", { name, count: n })), onError },
            )
          }
          onRestart={() => restart.mutate({ name }, { onError })}
          onToggle={enabled => toggle.mutate({ name, enabled }, { onError })}
          onEdit={
            isStored && (isAdmin || owned?.scope === "user")
              ? entry =>
                  update.mutate(
                    { name, entry },
                    { onSuccess: () => report.done(t("servers.saved", { name })), onError },
                  )
              : null
          }
          onRollback={revision =>
            rollback.mutate(
              { name, revision },
              { onSuccess: () => report.done(t("servers.rolled_back", { revision })), onError },
            )
          }
          onDelete={
            isStored && (isAdmin || owned?.scope === "user")
              ? () =>
                  remove.mutate(
                    { name },
                    {
                      onSuccess: () => {
                        report.done(t("servers.deleted", { name }));
                        navigate(urls.servers());
                      },
                      onError,
                    },
                  )
              : null
          }
        />
      )}
    </Loaded>
  );
}
