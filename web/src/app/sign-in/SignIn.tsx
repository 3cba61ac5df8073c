// Lets somebody in: with the one-time code of `octroi open`, or with a token that is entered once.

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { type ApiFailure, failureOf } from "../../mcp/failure";
import { useConnection, useGateway } from "../../mcp/hooks";
import { useText } from "../../messages";
import { Button, Command, Field, Input, Notice, Skeleton, Untrusted } from "../../ui";
import { browserName } from "./browser-name";
import { takeCode } from "./code";
import "./sign-in.css";

/** Shows what is inside to whoever is signed in, and the sign-in to everybody else. */
export function SignInGate({ code, children }: { code: string | null; children: ReactNode }) {
  const state = useConnection();
  const [pendingCode, setPendingCode] = useState(code);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  useEffect(() => {
    // A browser that has the page open goes to the new fragment without loading it again.
    const take = () => setPendingCode(before => takeCode() ?? before);
    addEventListener("hashchange", take);
    return () => removeEventListener("hashchange", take);
  }, []);
  if (state.kind === "starting") return <Skeleton />;
  if (pendingCode !== null) {
    return (
      <CodeSignIn
        // Whoever is signed in already needs no code; it expires by itself.
        code={state.kind === "signed_out" ? pendingCode : null}
        onDone={failure => {
          setFailure(failure);
          setPendingCode(null);
        }}
      />
    );
  }
  if (state.kind === "signed_out") return <TokenSignIn ended={state.reason ?? null} failed={failure} />;
  return children;
}

function CodeSignIn({ code, onDone }: { code: string | null; onDone(failure: ApiFailure | null): void }) {
  const t = useText();
  const gateway = useGateway();
  const isUsed = useRef(false);
  useEffect(() => {
    if (isUsed.current) return;
    isUsed.current = true;
    if (code === null) {
      onDone(null);
      return;
    }
    gateway.signIn(code, browserName(navigator.userAgent)).then(
      () => onDone(null),
      thrown => onDone(failureOf(thrown)),
    );
  }, [code, gateway, onDone]);
  return (
    <main className="sign-in">
      <p role="status">{t("sign_in.working")}</p>
    </main>
  );
}

interface TokenSignInProps {
  /** Why a session has ended. */
  ended: ApiFailure | null;
  /** Why the code was refused. */
  failed: ApiFailure | null;
}

function TokenSignIn({ ended, failed }: TokenSignInProps) {
  const t = useText();
  return (
    <main className="sign-in">
      <h1>{t("sign_in.title")}</h1>
      {ended && (
        <Notice tone="warn" role="status">
          <strong>{t("sign_in.ended")}</strong>
          <Untrusted text={ended.message} />
        </Notice>
      )}
      {isSecureContext ? (
        <>
          <p>{t("sign_in.about")}</p>
          <Command line="octroi open" />
          <TokenForm failed={failed} />
        </>
      ) : (
        <Notice tone="danger" role="alert">
          <strong>{t("sign_in.insecure")}</strong>
          <span>{t("sign_in.insecure_hint")}</span>
        </Notice>
      )}
    </main>
  );
}

function TokenForm({ failed }: { failed: ApiFailure | null }) {
  const t = useText();
  const gateway = useGateway();
  const [token, setToken] = useState("");
  const [failure, setFailure] = useState(failed);
  const [isWorking, setWorking] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() === "" || isWorking) return;
    setWorking(true);
    setFailure(null);
    try {
      await gateway.signIn(token.trim(), browserName(navigator.userAgent));
    } catch (thrown) {
      setFailure(failureOf(thrown));
    }
    setWorking(false);
    setToken("");
  };
  return (
    <form onSubmit={event => void submit(event)}>
      <p className="muted">{t("sign_in.or")}</p>
      <Field label={t("sign_in.token")} error={failure && textOf(failure)}>
        <Input
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={token}
          onChange={event => setToken(event.currentTarget.value)}
        />
      </Field>
      <Button look="primary" type="submit" isBusy={isWorking}>
        {t("sign_in.submit")}
      </Button>
    </form>
  );
}

function textOf({ message, hint }: ApiFailure): string {
  return hint ? `${message} (${hint})` : message;
}
