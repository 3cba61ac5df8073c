// What another policy of the agent would have decided about a call. Nothing is called, and nothing is saved.

import { useEffect, useState } from "react";
import type { CallDetail, Replay } from "@/api/types";
import { useText } from "@/messages";
import { Button, ErrorBox, Field, Notice, Skeleton, Textarea, Untrusted } from "@/ui";
import { Decision } from "./words";

export interface WhatIfPort {
  /** The active policy of the agent, as text. */
  policy(agent: string): Promise<string>;
  /** The calls since a moment that another policy would decide differently. */
  replay(agent: string, source: string, since: number): Promise<Replay>;
}

type Answer = { replay: Replay } | { error: unknown };

export function WhatIf({ call, port }: { call: CallDetail; port: WhatIfPort }) {
  const t = useText();
  const agent = call.caller.agent ?? "";
  const [source, setSource] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    port.policy(agent).then(
      text => isCurrent && setSource(text),
      (error: unknown) => isCurrent && setAnswer({ error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [port, agent]);
  if (source === null)
    return answer && "error" in answer ? <ErrorBox error={answer.error} /> : <Skeleton lines={3} />;
  const ask = () => {
    setBusy(true);
    port
      .replay(agent, source, call.at_ms)
      .then(
        replay => setAnswer({ replay }),
        (error: unknown) => setAnswer({ error }),
      )
      .finally(() => setBusy(false));
  };
  return (
    <div className="panel panel--pad section">
      <Field label={t("call.what_if_policy")} help={t("call.what_if_help")}>
        <Textarea isCode rows={10} value={source} onChange={event => setSource(event.target.value)} />
      </Field>
      <div className="button-row">
        <Button look="primary" isBusy={isBusy} onClick={ask}>
          {t("call.what_if_ask")}
        </Button>
      </div>
      {answer &&
        ("error" in answer ? (
          <ErrorBox error={answer.error} />
        ) : (
          <Result call={call} replay={answer.replay} />
        ))}
    </div>
  );
}

function Result({ call, replay }: { call: CallDetail; replay: Replay }) {
  const t = useText();
  const flip =
    replay.flips.find(one => one.seq === call.seq) ??
    replay.flips.find(one => one.at_ms === call.at_ms && one.tool === call.tool);
  const nOthers = replay.n_flipped - (flip ? 1 : 0);
  return (
    <Notice tone={flip ? "warn" : "info"} role="status">
      {flip ? (
        <span className="button-row">
          {t("call.what_if_flips")} <Decision value={flip.from} /> → <Decision value={flip.to} />
        </span>
      ) : (
        <span>{t("call.what_if_same")}</span>
      )}
      {flip?.reason != null && <Untrusted text={flip.reason} />}
      <span>{t("call.what_if_others", { count: nOthers, total: replay.n_calls })}</span>
    </Notice>
  );
}
