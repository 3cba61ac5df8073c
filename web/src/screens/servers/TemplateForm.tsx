// The form of a template, made from its fields.

import { useState } from "react";
import type { Template, TemplateField } from "@/api/types";
import { rank } from "@/lib/fuzzy";
import { useText } from "@/messages";
import { Badge, Button, EmptyState, Field, Input, Notice, Select, Textarea, Untrusted } from "@/ui";

interface TemplateFormProps {
  templates: readonly Template[];
  chosen: Template | null;
  values: Readonly<Record<string, string>>;
  onChoose(template: Template | null): void;
  onChange(values: Record<string, string>): void;
}

export function TemplateForm({ templates, chosen, values, onChoose, onChange }: TemplateFormProps) {
  const t = useText();
  const [query, setQuery] = useState("");
  if (chosen) {
    return (
      <div className="page-stack">
        <div className="button-row">
          <strong>
            <Untrusted text={chosen.display_name} isLine />
          </strong>
          <Button isSmall look="quiet" onClick={() => onChoose(null)}>
            {t("servers.other_template")}
          </Button>
        </div>
        {chosen.note !== null && (
          <Notice tone="info">
            <Untrusted text={chosen.note} />
          </Notice>
        )}
        {chosen.fields.map(field => (
          <TemplateInput
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            onChange={value => onChange({ ...values, [field.name]: value })}
          />
        ))}
      </div>
    );
  }
  const found = rank(templates, query, one => `${one.display_name} ${one.description} ${one.category}`);
  return (
    <div className="page-stack">
      <Input
        type="search"
        value={query}
        placeholder={t("servers.template_search")}
        aria-label={t("servers.template_search")}
        onChange={event => setQuery(event.target.value)}
      />
      {found.length === 0 && <EmptyState title={t("servers.no_template")} />}
      <ul className="choices">
        {found.map(template => (
          <li key={template.id}>
            <button
              type="button"
              className="choice-card"
              disabled={!template.usable}
              onClick={() => onChoose(template)}
            >
              <span className="button-row">
                <strong>
                  <Untrusted text={template.display_name} isLine />
                </strong>
                <Badge>
                  <Untrusted text={template.category} isLine />
                </Badge>
                {template.verified && <Badge tone="ok">{t("servers.verified")}</Badge>}
                {template.deprecated && <Badge tone="warn">{t("servers.deprecated")}</Badge>}
              </span>
              <Untrusted text={template.description} className="muted" />
              {!template.usable && <span className="field-error">{t("servers.not_usable")}</span>}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function TemplateInput({
  field,
  value,
  onChange,
}: {
  field: TemplateField;
  value: string;
  onChange(value: string): void;
}) {
  const t = useText();
  const shared = {
    value,
    required: field.required,
    ...(field.placeholder !== null && { placeholder: field.placeholder }),
  };
  const label = (
    <>
      <Untrusted text={field.label} isLine />
      {!field.required && <span className="faint">{t("servers.optional")}</span>}
    </>
  );
  const help =
    field.help === null ? field.secret && t("servers.secret_help") : <Untrusted text={field.help} />;
  return (
    <Field label={label} help={help || undefined}>
      {field.kind === "choice" ? (
        <Select
          value={value || (field.default ?? "")}
          options={[
            ...(field.default === null ? [{ value: "", label: "" }] : []),
            ...field.choices.map(one => ({ value: one, label: one })),
          ]}
          onChange={event => onChange(event.target.value)}
        />
      ) : field.kind === "paths" ? (
        <Textarea {...shared} isCode rows={3} onChange={event => onChange(event.target.value)} />
      ) : (
        <Input
          {...shared}
          type={field.secret ? "password" : "text"}
          autoComplete="off"
          onChange={event => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
