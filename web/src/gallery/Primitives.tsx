// The pieces by themselves, with what a hostile server would send.

import { Inbox, Trash2 } from "lucide-react";
import {
  Badge,
  Button,
  Checkbox,
  Code,
  Command,
  Diff,
  EmptyState,
  ErrorBox,
  Field,
  IconButton,
  Input,
  JsonView,
  Notice,
  PageHeader,
  Section,
  Select,
  Status,
  Switch,
  Untrusted,
} from "@/ui";
import { HOSTILE } from "./fixtures";

export function Primitives() {
  return (
    <div className="screen">
      <PageHeader title="Primitives" />
      <div className="page-body">
        <Section title="Buttons">
          <div className="button-row">
            <Button look="primary">Primary</Button>
            <Button>Default</Button>
            <Button look="danger">Danger</Button>
            <Button look="quiet">Quiet</Button>
            <Button disabled>Disabled</Button>
            <Button isBusy>Busy</Button>
            <Button isSmall>Small</Button>
            <IconButton label="Delete" icon={<Trash2 size={15} />} />
          </div>
        </Section>
        <Section title="Status">
          <div className="button-row">
            {(["ok", "warn", "danger", "info", "idle", "accent"] as const).map(tone => (
              <span key={tone} className="button-row">
                <Status tone={tone}>{tone}</Status>
                <Badge tone={tone}>{tone}</Badge>
              </span>
            ))}
          </div>
        </Section>
        <Section title="Fields">
          <div className="grid-2">
            <Field label="Text" help="Some help">
              <Input placeholder="Placeholder" />
            </Field>
            <Field label="Wrong" error="This is not possible">
              <Input defaultValue="x" />
            </Field>
            <Field label="Choice">
              <Select
                options={[
                  { value: "a", label: "One" },
                  { value: "b", label: "Two" },
                ]}
              />
            </Field>
            <div className="button-row">
              <Switch label="Switch" defaultChecked />
              <Checkbox label="Box" defaultChecked />
              <Switch label="Off" />
            </div>
          </div>
        </Section>
        <Section title="Untrusted">
          <ul className="section">
            {Object.entries(HOSTILE).map(([name, text]) => (
              <li key={name}>
                <strong>{name}</strong> <Untrusted text={text} length={200} />
              </li>
            ))}
          </ul>
        </Section>
        <Section title="Diff">
          <Diff
            before={{ a: 1, text: "read the file", list: [1, 2, 3] }}
            after={{ a: 2, text: `read every file${HOSTILE.bidi}`, list: [1, 3] }}
          />
        </Section>
        <Section title="JSON">
          <div className="panel panel--pad">
            <JsonView
              value={{
                text: HOSTILE.markup,
                n: 1,
                yes: true,
                none: null,
                list: Array.from({ length: 200 }, (_, i) => i),
                secret: "x",
                deep: { a: { b: { c: [] } } },
              }}
              masked={[{ path: "/secret", kind: "credential", length: 40 }]}
              onReveal={() => {}}
            />
          </div>
        </Section>
        <Section title="Code">
          <Code text={`octroi up\n${HOSTILE.control}`} label="Code" />
          <div>
            <Command line="octroi call demo.add a=1 b=2" />
          </div>
        </Section>
        <Section title="States">
          <ErrorBox
            error={{
              failure: {
                message: "cannot start server `x`",
                hint: "octroi servers logs x",
                code: "server_unavailable",
              },
            }}
            onRetry={() => {}}
          />
          {(["danger", "warn", "info", "ok"] as const).map(tone => (
            <Notice key={tone} tone={tone}>
              A notice that is {tone}
            </Notice>
          ))}
          <EmptyState icon={Inbox} title="Nothing here" text="Do something" command="octroi connect" />
        </Section>
      </div>
    </div>
  );
}
