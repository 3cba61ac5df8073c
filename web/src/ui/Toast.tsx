// Short messages about what was done, with the way back where there is one.

import { Toast as Base } from "@base-ui/react/toast";
import { CircleAlert, CircleCheck, X } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { oneLine } from "../lib/untrusted";
import { useText } from "../messages";
import { Button } from "./Button";

export interface ToastOptions {
  title: string;
  description?: string;
  action?: { label: string; run(): void };
}

/** Shows messages. */
export function useToast(): { done(options: ToastOptions): void; failed(options: ToastOptions): void } {
  const { add, close } = Base.useToastManager();
  return useMemo(() => {
    const show = (type: "done" | "failed", { title, description, action }: ToastOptions) => {
      const id = add({
        type,
        title: oneLine(title),
        description: description === undefined ? undefined : oneLine(description, 400),
        priority: type === "failed" ? "high" : "low",
        // What can be undone, or went wrong, has to be read first.
        timeout: type === "failed" || action ? 12_000 : 5_000,
        ...(action && {
          actionProps: {
            children: action.label,
            onClick: () => {
              close(id);
              action.run();
            },
          },
        }),
      });
    };
    return { done: options => show("done", options), failed: options => show("failed", options) };
  }, [add, close]);
}

export function ToastProvider({ children }: { children: ReactNode }) {
  return (
    <Base.Provider limit={4}>
      {children}
      <Base.Portal>
        <Base.Viewport className="toasts">
          <Toasts />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

function Toasts() {
  const t = useText();
  const { toasts } = Base.useToastManager();
  return toasts.map(toast => (
    <Base.Root key={toast.id} toast={toast} className="toast">
      <Base.Content className="toast-content">
        <span className={toast.type === "failed" ? "status status--danger" : "status status--ok"}>
          {toast.type === "failed" ? (
            <CircleAlert size={16} aria-hidden />
          ) : (
            <CircleCheck size={16} aria-hidden />
          )}
        </span>
        <div className="toast-text">
          <Base.Title className="toast-title" />
          <Base.Description className="toast-description" />
        </div>
        {toast.actionProps && <Base.Action className="button button--small" />}
        <Base.Close
          render={
            <Button
              look="quiet"
              isSmall
              className="button--icon"
              aria-label={t("common.dismiss")}
              icon={<X size={14} />}
            />
          }
        />
      </Base.Content>
    </Base.Root>
  ));
}
