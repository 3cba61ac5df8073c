// An address that leads nowhere, and a screen that has failed.

import type { ErrorComponentProps } from "@tanstack/react-router";
import { urls } from "../lib/urls";
import { useText } from "../messages";
import { ButtonLink, EmptyState, ErrorBox } from "../ui";

export function Missing() {
  const t = useText();
  return (
    <EmptyState title={t("missing.title")}>
      <ButtonLink to={urls.overview()}>{t("missing.back")}</ButtonLink>
    </EmptyState>
  );
}

export function ScreenFailed({ error, reset }: ErrorComponentProps) {
  return (
    <div className="page-body">
      <ErrorBox error={error} onRetry={reset} />
    </div>
  );
}
