// Buttons, and links that look like them.

import type { ComponentProps, ReactNode } from "react";
import { cx } from "./cx";
import { Link } from "./Link";
import { Tooltip } from "./Tooltip";

type Look = "default" | "primary" | "danger" | "quiet";

interface Shared {
  look?: Look;
  isSmall?: boolean;
  icon?: ReactNode;
}

export type ButtonProps = Shared & { isBusy?: boolean } & ComponentProps<"button">;

/** A button. While it is busy it takes no clicks, but keeps the focus. */
export function Button({
  look = "default",
  isSmall,
  icon,
  isBusy,
  children,
  className,
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={cx("button", look !== "default" && `button--${look}`, isSmall && "button--small", className)}
      aria-busy={isBusy || undefined}
      aria-disabled={isBusy || undefined}
      onClick={event => {
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon}
      {children}
    </button>
  );
}

/** A button that is only an icon. Its label is shown on hover and read aloud. */
export function IconButton({ label, className, ...rest }: ButtonProps & { label: string }) {
  return (
    <Tooltip text={label}>
      <Button look="quiet" {...rest} aria-label={label} className={cx("button--icon", className)} />
    </Tooltip>
  );
}

/** A link that looks like a button. */
export function ButtonLink({
  look = "default",
  isSmall,
  icon,
  children,
  to,
}: Shared & { to: string; children: ReactNode }) {
  return (
    <Link
      to={to}
      className={cx("button", look !== "default" && `button--${look}`, isSmall && "button--small")}
    >
      {icon}
      {children}
    </Link>
  );
}
