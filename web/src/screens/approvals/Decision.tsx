// The decision: once, with a rule that is shown before it is saved, with other arguments, or no.

import { Ban, Check, CircleSlash, Pencil, Timer } from "lucide-react";
import { useEffect, useState } from "react";
import type { Approval, CheckedArguments, DecideRequest } from "@/api/types";
import { parse } from "@/lib/json";
import { useText } from "@/messages";
import {
  Button,
  Code,
  ErrorBox,
  Field,
  Input,
  KeyHint,
  Notice,
  Select,
  Skeleton,
  Status,
  Textarea,
  Untrusted,
} from "@/ui";

/** What the panel needs of the gateway. */
export interface DecisionPort {
  decide(request: DecideRequest): void;
  isDeciding: boolean;
  error: unknown;
  /** The rule that a decision would save. */
  preview(request: DecideRequest): Promise<string>;
  /** Whether the call could be made with other arguments. */
  check(id: string, json: string): Promise<CheckedArguments>;
}

type Mode = { kind: "plain" } | { kind: "remember"; until: "1h" | "forever" } | { kind: "edit" };

interface PanelProps {
  approval: Approval;
  port: DecisionPort;
}

export function DecisionPanel({ approval, port }: PanelProps) {
  const t = useText();
  const [mode, setMode] = useState<Mode>({ kind: "plain" });
  const [reason, setReason] = useState("");
  const request = (decision: DecideRequest["decision"]): DecideRequest => ({
    call_id: approval.id,
    decision,
    ...(reason.trim() !== "" && { reason: reason.trim() }),
  });
  const decide = (decision: DecideRequest["decision"]) => port.decide(request(decision));
  const canEdit = approval.arguments !== null && approval.arguments_kept === "whole";
  useKeys({
    a: () => decide("approve"),
    h: () => setMode({ kind: "remember", until: "1h" }),
    w: () => setMode({ kind: "remember", until: "forever" }),
    e: () => canEdit && setMode({ kind: "edit" }),
    d: () => decide("deny_continue"),
    s: () => decide("deny_abort"),
  });
  const back = () => setMode({ kind: "plain" });
  return (
    <section className="decision" aria-label={t("approvals.decide")}>
      <Input
        value={reason}
        maxLength={1000}
        aria-label={t("approvals.reason")}
        placeholder={t("approvals.reason_help")}
        onChange={event => setReason(event.target.value)}
      />
      {port.error != null && <ErrorBox error={port.error} />}
      {mode.kind === "plain" && (
        <div className="button-row">
          <Choice look="primary" icon={Check} keys="A" isBusy={port.isDeciding} run={() => decide("approve")}>
            {t("approvals.approve")}
          </Choice>
          <Choice icon={Timer} keys="H" run={() => setMode({ kind: "remember", until: "1h" })}>
            {t("approvals.approve_hour")}
          </Choice>
          <Choice icon={Timer} keys="W" run={() => setMode({ kind: "remember", until: "forever" })}>
            {t("approvals.approve_always")}
          </Choice>
          {canEdit && (
            <Choice icon={Pencil} keys="E" run={() => setMode({ kind: "edit" })}>
              {t("approvals.edit")}
            </Choice>
          )}
          <Choice icon={Ban} keys="D" isBusy={port.isDeciding} run={() => decide("deny_continue")}>
            {t("approvals.deny")}
          </Choice>
          <Choice
            look="danger"
            icon={CircleSlash}
            keys="S"
            isBusy={port.isDeciding}
            run={() => decide("deny_abort")}
          >
            {t("approvals.deny_stop")}
          </Choice>
        </div>
      )}
      {mode.kind === "remember" && (
        <Remember
          key={mode.until}
          until={mode.until}
          request={request("approve")}
          port={port}
          onBack={back}
        />
      )}
      {mode.kind === "edit" && (
        <Edit approval={approval} request={request("approve")} port={port} onBack={back} />
      )}
    </section>
  );
}

interface ChoiceProps {
  look?: "primary" | "danger";
  icon: typeof Check;
  keys: string;
  isBusy?: boolean;
  run(): void;
  children: string;
}

function Choice({ look = undefined, icon: Icon, keys, isBusy, run, children }: ChoiceProps) {
  return (
    <Button
      {...(look && { look })}
      icon={<Icon size={14} aria-hidden />}
      isBusy={isBusy ?? false}
      aria-keyshortcuts={keys}
      onClick={run}
    >
      {children} <KeyHint isDecoration keys={keys} />
    </Button>
  );
}

interface PartProps {
  request: DecideRequest;
  port: DecisionPort;
  onBack(): void;
}

/** Approves, and saves a rule. The exact rule is shown first; without having seen it nobody can save it. */
function Remember({ until, request, port, onBack }: PartProps & { until: "1h" | "forever" }) {
  const t = useText();
  const [scope, setScope] = useState<"exact" | "tool">("exact");
  const [rule, setRule] = useState<{ text?: string; error?: unknown }>({});
  const { preview } = port;
  const { call_id } = request;
  useEffect(() => {
    let isCurrent = true;
    setRule({});
    preview({ call_id, decision: "approve", remember: scope, until, preview: true }).then(
      text => isCurrent && setRule({ text }),
      (error: unknown) => isCurrent && setRule({ error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [preview, call_id, scope, until]);
  return (
    <div className="panel panel--pad section">
      <Field label={t("approvals.scope")}>
        <Select
          value={scope}
          onChange={event => setScope(event.target.value as "exact" | "tool")}
          options={[
            { value: "exact", label: t("approvals.scope_exact") },
            { value: "tool", label: t("approvals.scope_tool") },
          ]}
        />
      </Field>
      {rule.error != null ? (
        <ErrorBox error={rule.error} />
      ) : rule.text === undefined ? (
        <Skeleton lines={3} />
      ) : (
        <Code text={rule.text} label={t("approvals.rule")} />
      )}
      {scope === "tool" && until === "forever" && <Notice tone="warn">{t("approvals.scope_warning")}</Notice>}
      <div className="button-row">
        <Button
          look="primary"
          disabled={rule.text === undefined}
          isBusy={port.isDeciding}
          onClick={() => port.decide({ ...request, remember: scope, until })}
        >
          {t(until === "1h" ? "approvals.approve_save_hour" : "approvals.approve_save_always")}
        </Button>
        <Button onClick={onBack}>{t("common.cancel")}</Button>
      </div>
    </div>
  );
}

/** What the gateway writes for a masked value. */
const MASK = "[redacted]";

/** Approves with other arguments. They are checked while they are typed; the gates decide again. */
function Edit({ approval, request, port, onBack }: PartProps & { approval: Approval }) {
  const t = useText();
  const [text, setText] = useState(() => pretty(approval.arguments ?? "{}"));
  const [checked, setChecked] = useState<{ of: string; result?: CheckedArguments; error?: unknown } | null>(
    null,
  );
  const read = parse(text);
  const isObject =
    read.ok && typeof read.value === "object" && read.value !== null && !Array.isArray(read.value);
  // A mask that stays would be sent to the server in the place of the secret.
  const hasMask = (approval.masked?.length ?? 0) > 0 && text.includes(MASK);
  const { check } = port;
  useEffect(() => {
    if (!isObject || hasMask) return;
    let isCurrent = true;
    const timer = setTimeout(() => {
      check(approval.id, text).then(
        result => isCurrent && setChecked({ of: text, result }),
        (error: unknown) => isCurrent && setChecked({ of: text, error }),
      );
    }, 300);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [check, approval.id, text, isObject, hasMask]);
  const now = checked?.of === text ? checked : null;
  const complaint = !read.ok
    ? read.message
    : !isObject
      ? t("approvals.not_an_object")
      : now?.result && !now.result.ok
        ? (now.result.complaint ?? t("approvals.does_not_fit"))
        : hasMask
          ? t("approvals.edit_masked")
          : null;
  const isDenied = now?.result?.decision?.startsWith("deny") ?? false;
  return (
    <div className="panel panel--pad section">
      <Field
        label={t("approvals.arguments")}
        error={complaint === null ? null : <Untrusted text={complaint} />}
      >
        <Textarea
          isCode
          rows={Math.min(20, text.split("\n").length + 1)}
          value={text}
          onChange={event => setText(event.target.value)}
        />
      </Field>
      {now?.error != null && <ErrorBox error={now.error} />}
      {now?.result?.ok && (
        <Status tone={isDenied ? "danger" : "ok"}>
          {t(isDenied ? "approvals.check_denied" : "approvals.check_fits")}
          {isDenied && now.result.reason !== null && <Untrusted text={now.result.reason} />}
        </Status>
      )}
      <div className="button-row">
        <Button
          look="primary"
          disabled={complaint !== null || !now?.result?.ok || isDenied}
          isBusy={port.isDeciding}
          onClick={() => port.decide({ ...request, arguments_json: text })}
        >
          {t("approvals.approve_edited")}
        </Button>
        <Button onClick={onBack}>{t("common.cancel")}</Button>
      </div>
    </div>
  );
}

/** Indents JSON without reading its numbers: those that JavaScript cannot hold stay as they are. */
export function pretty(json: string): string {
  let depth = 0;
  let out = "";
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    const line = () => `\n${"  ".repeat(depth)}`;
    if (token === "{" || token === "[") {
      depth += 1;
      out += token + line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      out = /[[{]\s*$/.test(out) ? out.trimEnd() + token : out + line() + token;
    } else if (token === ",") out += token + line();
    else if (token === ":") out += ": ";
    else out += token;
  }
  return out;
}

/** Single keys, while nobody types and no dialog is open. */
function useKeys(keys: Record<string, () => void>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as Element;
      const isTyping = target.closest(
        "input:not([type=checkbox]), textarea, select, [contenteditable], [role=dialog]:not(.drawer), [role=menu]",
      );
      const run = keys[event.key];
      if (isTyping || !run || event.metaKey || event.ctrlKey || event.altKey || event.repeat) return;
      event.preventDefault();
      run();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
}
