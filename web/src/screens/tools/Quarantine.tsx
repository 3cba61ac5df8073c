// Definitions that are kept out until a person has looked at them.

import { ShieldCheck } from "lucide-react";
import type { DefinitionFinding, HeldPin } from "@/api/types";
import { useText } from "@/messages";
import { Badge, Button, Code, Diff, EmptyState, Facts, Section, Status, TimeAgo, Untrusted } from "@/ui";

export interface QuarantineProps {
  held: readonly HeldPin[];
  server: string | null;
  isAdmin: boolean;
  isBusy: boolean;
  onAccept(pin: HeldPin): void;
  onReject(pin: HeldPin): void;
}

const TONES = { note: "info", warning: "warn", danger: "danger" } as const;

export function Quarantine({ held, server, ...rest }: QuarantineProps) {
  const t = useText();
  const shown = held.filter(pin => server === null || pin.server === server);
  if (shown.length === 0)
    return <EmptyState icon={ShieldCheck} title={t("pins.none")} text={t("pins.none_text")} />;
  return (
    <div className="page-body screen-scroll">
      {shown.map(pin => (
        <Pin key={`${pin.server} ${pin.kind} ${pin.name} ${pin.hash}`} pin={pin} {...rest} />
      ))}
    </div>
  );
}

function Pin({
  pin,
  isAdmin,
  isBusy,
  onAccept,
  onReject,
}: Omit<QuarantineProps, "held" | "server"> & { pin: HeldPin }) {
  const t = useText();
  return (
    <article className="panel panel--pad">
      <Section
        title={
          <span className="button-row">
            <Untrusted text={pin.name === "" ? pin.server : `${pin.server}.${pin.name}`} />
            <Badge>{pin.kind}</Badge>
            {pin.kept_out_by !== null && (
              <Badge tone="danger">{t("pins.kept_out", { name: pin.kept_out_by })}</Badge>
            )}
          </span>
        }
        actions={
          isAdmin && (
            <span className="button-row">
              <Button look="primary" isSmall isBusy={isBusy} onClick={() => onAccept(pin)}>
                {t("pins.accept")}
              </Button>
              {pin.kept_out_by === null && (
                <Button look="danger" isSmall isBusy={isBusy} onClick={() => onReject(pin)}>
                  {t("pins.reject")}
                </Button>
              )}
            </span>
          )
        }
      >
        <Facts
          rows={[
            [t("pins.reason"), <Untrusted key="reason" text={pin.reason} />],
            pin.accepted_at !== null && [t("tools.accepted"), <TimeAgo key="at" at={pin.accepted_at} />],
            pin.look_alikes.length > 0 && [
              t("pins.look_alikes"),
              <Untrusted key="alike" text={pin.look_alikes.join("\n")} />,
            ],
          ]}
        />
        <Findings findings={pin.findings} />
        {pin.changes.length > 0 && (
          <>
            <h3>{t("pins.changes")}</h3>
            {pin.changes.map(change => (
              <div key={change.path} className="section">
                <span className="button-row">
                  <code>
                    <Untrusted text={change.path || "/"} isLine />
                  </code>
                  <Badge>{change.class}</Badge>
                </span>
                <Diff before={change.old ?? ""} after={change.new ?? ""} label={change.path} />
              </div>
            ))}
          </>
        )}
        <details>
          <summary>{t("tools.definition")}</summary>
          <Code
            text={
              typeof pin.definition === "string" ? pin.definition : JSON.stringify(pin.definition, null, 2)
            }
            label={t("tools.definition")}
          />
        </details>
      </Section>
    </article>
  );
}

function Findings({ findings }: { findings: readonly DefinitionFinding[] }) {
  const t = useText();
  if (findings.length === 0) return null;
  return (
    <>
      <h3>{t("pins.findings")}</h3>
      <ul className="timeline">
        {findings.map((finding, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the findings of one definition never change places
          <li key={i}>
            <Status tone={TONES[finding.severity]}>{t(`pins.severity.${finding.severity}`)}</Status>
            <Badge>
              <Untrusted text={finding.kind} isLine />
            </Badge>
            <code>
              <Untrusted text={finding.path} isLine />
            </code>
            <Untrusted text={finding.excerpt} />
          </li>
        ))}
      </ul>
    </>
  );
}
