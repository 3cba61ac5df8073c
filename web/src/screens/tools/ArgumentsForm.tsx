// Arguments of a tool: a form made of its schema, or JSON.

import { useEffect, useMemo, useState } from "react";
import { isContainer, parse } from "@/lib/json";
import { type FormField, fieldsOf, make } from "@/lib/schema";
import { useText } from "@/messages";
import { Button, Field, Input, Select, Textarea, Untrusted } from "@/ui";

interface ArgumentsFormProps {
  schema: unknown;
  /** Whether what is required may be missing. */
  isPartial?: boolean;
  /** The arguments; nothing while they cannot be sent. */
  onChange(value: Record<string, unknown> | null): void;
}

export function ArgumentsForm({ schema, isPartial = false, onChange }: ArgumentsFormProps) {
  const t = useText();
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [json, setJson] = useState<string | null>(fields === null ? "{}" : null);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const made = useMemo(() => make(fields ?? [], typed), [fields, typed]);
  const read = json === null ? null : parse(json);
  const isObject = read?.ok === true && isContainer(read.value) && !Array.isArray(read.value);
  const errors = Object.entries(made.errors).filter(([, error]) => !(isPartial && error === "required"));
  const value =
    json === null
      ? errors.length === 0
        ? made.value
        : null
      : isObject
        ? (read.value as Record<string, unknown>)
        : null;
  const text = value === null ? null : JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same text is the same value
  useEffect(() => onChange(value), [text]);
  return (
    <div className="section">
      {json === null ? (
        (fields ?? []).map(field => {
          const error = touched.has(field.name)
            ? errors.find(([name]) => name === field.name)?.[1]
            : undefined;
          return (
            <SchemaField
              key={field.name}
              field={field}
              value={typed[field.name] ?? ""}
              error={error === undefined ? null : t(`tools.${error}`, { name: field.name })}
              onChange={text => {
                setTyped({ ...typed, [field.name]: text });
                setTouched(new Set(touched).add(field.name));
              }}
            />
          );
        })
      ) : (
        <Field
          label={t("tools.input")}
          error={isObject ? null : read?.ok === false ? read.message : t("approvals.not_an_object")}
        >
          <Textarea isCode rows={10} value={json} onChange={event => setJson(event.target.value)} />
        </Field>
      )}
      {fields !== null && (
        <div>
          <Button
            isSmall
            look="quiet"
            onClick={() => setJson(json === null ? JSON.stringify(made.value, null, 2) : null)}
          >
            {t(json === null ? "tools.as_json" : "tools.as_form")}
          </Button>
        </div>
      )}
    </div>
  );
}

interface SchemaFieldProps {
  field: FormField;
  value: string;
  error: string | null;
  onChange(text: string): void;
}

function SchemaField({ field, value, error, onChange }: SchemaFieldProps) {
  const t = useText();
  const label = (
    <>
      <Untrusted text={field.name} isLine />
      {!field.isRequired && <span className="faint">{t("servers.optional")}</span>}
    </>
  );
  const unset = { value: "", label: t("tools.unset") };
  const choices =
    field.kind === "boolean"
      ? [unset, { value: "true", label: "true" }, { value: "false", label: "false" }]
      : [
          unset,
          ...field.choices.map((choice, i) => ({
            value: String(i),
            label: typeof choice === "string" ? choice : JSON.stringify(choice),
          })),
        ];
  return (
    <Field
      label={label}
      help={field.description === null ? undefined : <Untrusted text={field.description} length={300} />}
      error={error}
    >
      {field.kind === "boolean" || field.kind === "choice" ? (
        <Select value={value} options={choices} onChange={event => onChange(event.target.value)} />
      ) : field.kind === "json" ? (
        <Textarea
          isCode
          rows={3}
          value={value}
          placeholder={field.hint}
          onChange={event => onChange(event.target.value)}
        />
      ) : field.kind === "number" ? (
        <Input
          inputMode="decimal"
          value={value}
          placeholder={field.hint}
          onChange={event => onChange(event.target.value)}
        />
      ) : (
        <Textarea
          rows={1}
          className="textarea--line"
          value={value}
          placeholder={field.hint}
          onChange={event => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
