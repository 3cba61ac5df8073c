// A new server: from a template with a form made of its fields, an address, a command line, or pasted JSON. What it will
// run or reach is shown before anything is saved.

import { useState } from "react";
import type { Template } from "@/api/types";
import { type Built, type Entry, fromCommand, fromJson, fromTemplate, nameFrom, resolved } from "@/lib/entry";
import { parse } from "@/lib/json";
import { useText } from "@/messages";
import {
  Button,
  Code,
  Dialog,
  ErrorBox,
  Field,
  Input,
  Notice,
  Section,
  Select,
  Tabs,
  Textarea,
  Untrusted,
} from "@/ui";
import { TemplateForm } from "./TemplateForm";

export type Source = "template" | "url" | "command" | "json";

export interface NewServer extends Built {
  name: string;
  scope: "system" | "user";
}

export interface AddDialogProps {
  isOpen: boolean;
  onClose(): void;
  templates: readonly Template[];
  isAdmin: boolean;
  onAdd(server: NewServer): void;
  isBusy: boolean;
  error: unknown;
}

/** What stands in empty fields; the same in every language. */
const EXAMPLES = {
  url: "https://example.com/mcp",
  command: "npx -y @modelcontextprotocol/server-everything",
  json: '{ "mcpServers": { … } }',
};

type Draft = {
  source: Source;
  template: Template | null;
  values: Record<string, string>;
  url: string;
  header: string;
  command: string;
  json: string;
};

const EMPTY: Draft = {
  source: "template",
  template: null,
  values: {},
  url: "",
  header: "",
  command: "",
  json: "",
};

/** What a draft comes to, with a name if it has one; or why it is not complete. */
function build(draft: Draft, server: string): (Built & { name: string | null }) | null {
  const plain = (entry: Entry | null, name: string | null) => entry && { entry, secrets: [], name };
  switch (draft.source) {
    case "template": {
      const { template, values } = draft;
      if (!template) return null;
      const isComplete = template.fields.every(
        field => !field.required || values[field.name]?.trim() || field.default,
      );
      return isComplete
        ? { ...fromTemplate(template, server || template.name, values), name: template.name }
        : null;
    }
    case "url": {
      if (!/^https?:\/\/[^\s]+$/.test(draft.url.trim())) return null;
      const url = draft.url.trim();
      const name = nameFrom(new URL(url).hostname.replace(/^(www|mcp|api)\./, "").split(".")[0] ?? "");
      if (draft.header.trim() === "") return plain({ url }, name);
      const secret = `${server || name}_token`;
      return {
        entry: { url, headers: { Authorization: `Bearer \${secret:${secret}}` } },
        secrets: [{ name: secret, value: draft.header.trim() }],
        name,
      };
    }
    case "command": {
      const entry = fromCommand(draft.command);
      const words = entry ? resolved(entry).split(" ") : [];
      const last = words.find(word => /^@?[\w.-]+\/[\w.-]+$|mcp|server/.test(word)) ?? words[0] ?? "";
      return plain(
        entry,
        nameFrom((last.split("/").at(-1) ?? "").replace(/^(mcp-)?server-|-mcp(-server)?$/g, "")),
      );
    }
    case "json": {
      const read = parse(draft.json);
      const first = read.ok ? fromJson(read.value)[0] : undefined;
      return first ? plain(first.entry, first.name && nameFrom(first.name)) : null;
    }
  }
}

export function AddDialog(props: AddDialogProps) {
  const t = useText();
  return (
    <Dialog isOpen={props.isOpen} onClose={props.onClose} title={t("servers.add")} isWide>
      {props.isOpen && <Form {...props} />}
    </Dialog>
  );
}

function Form({ templates, isAdmin, onAdd, onClose, isBusy, error }: AddDialogProps) {
  const t = useText();
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [name, setName] = useState<string | null>(null);
  const [scope, setScope] = useState<"system" | "user">(isAdmin ? "system" : "user");
  const suggested = build(draft, name ?? "");
  const shownName = name ?? suggested?.name ?? "";
  const built = build(draft, shownName);
  const isNameFine = /^[a-z0-9][a-z0-9_-]{0,31}$/.test(shownName);
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  return (
    <>
      <Tabs<Source>
        label={t("servers.source")}
        active={draft.source}
        onChange={source => change({ source })}
        tabs={[
          {
            key: "template",
            label: t("servers.source.template"),
            content: (
              <TemplateForm
                templates={templates}
                chosen={draft.template}
                values={draft.values}
                onChoose={template => change({ template, values: {} })}
                onChange={values => change({ values })}
              />
            ),
          },
          {
            key: "url",
            label: t("servers.source.url"),
            content: (
              <div className="page-stack">
                <Field label={t("servers.url")}>
                  <Input
                    type="url"
                    value={draft.url}
                    placeholder={EXAMPLES.url}
                    onChange={event => change({ url: event.target.value })}
                  />
                </Field>
                <Field label={t("servers.bearer")} help={t("servers.bearer_help")}>
                  <Input
                    type="password"
                    autoComplete="off"
                    value={draft.header}
                    onChange={event => change({ header: event.target.value })}
                  />
                </Field>
              </div>
            ),
          },
          {
            key: "command",
            label: t("servers.source.command"),
            content: (
              <Field label={t("servers.command")} help={t("servers.command_help")}>
                <Textarea
                  isCode
                  rows={3}
                  value={draft.command}
                  placeholder={EXAMPLES.command}
                  onChange={event => change({ command: event.target.value })}
                />
              </Field>
            ),
          },
          {
            key: "json",
            label: t("servers.source.json"),
            content: (
              <Field label={t("servers.json")} help={t("servers.json_help")}>
                <Textarea
                  isCode
                  rows={9}
                  value={draft.json}
                  placeholder={EXAMPLES.json}
                  onChange={event => change({ json: event.target.value })}
                />
              </Field>
            ),
          },
        ]}
      />
      {built && (
        <Section title={t("servers.result")}>
          <div className="grid-2">
            <Field
              label={t("servers.name")}
              error={isNameFine || shownName === "" ? null : t("servers.name_rule")}
            >
              <Input value={shownName} onChange={event => setName(event.target.value)} />
            </Field>
            {isAdmin && (
              <Field label={t("servers.scope")}>
                <Select
                  value={scope}
                  options={[
                    { value: "system", label: t("servers.shared") },
                    { value: "user", label: t("servers.own") },
                  ]}
                  onChange={event => setScope(event.target.value as "system" | "user")}
                />
              </Field>
            )}
          </div>
          <Resolved built={built} />
        </Section>
      )}
      {error != null && <ErrorBox error={error} />}
      <div className="button-row">
        <Button
          look="primary"
          disabled={!built || !isNameFine}
          isBusy={isBusy}
          onClick={() =>
            built && onAdd({ name: shownName, scope, entry: built.entry, secrets: built.secrets })
          }
        >
          {t("servers.add_test")}
        </Button>
        <Button onClick={onClose}>{t("common.cancel")}</Button>
      </div>
    </>
  );
}

/** What would be run or reached, and what is stored. */
function Resolved({ built }: { built: Built }) {
  const t = useText();
  const isCommand = typeof built.entry.command === "string";
  return (
    <>
      <Notice tone={isCommand ? "warn" : "info"}>
        <strong>{t(isCommand ? "servers.will_run" : "servers.will_reach")}</strong>
        <code>
          <Untrusted text={resolved(built.entry)} />
        </code>
        {isCommand && <span>{t("servers.will_run_help")}</span>}
        {built.secrets.length > 0 && (
          <span>{t("servers.will_store", { names: built.secrets.map(one => one.name).join(", ") })}</span>
        )}
      </Notice>
      <Code text={JSON.stringify(built.entry, null, 2)} label={t("servers.result")} />
    </>
  );
}
