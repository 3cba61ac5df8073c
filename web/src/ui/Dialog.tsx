// What takes the whole attention: a dialog in the middle, a drawer at the side.

import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useText } from "../messages";
import { Button } from "./Button";
import { cx } from "./cx";

interface DialogProps {
  isOpen: boolean;
  onClose(): void;
  title: ReactNode;
  description?: ReactNode;
  children: ReactNode;
  foot?: ReactNode;
  isWide?: boolean;
}

export function Dialog({ isOpen, onClose, title, description, children, foot, isWide }: DialogProps) {
  return (
    <Base.Root open={isOpen} onOpenChange={open => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className={cx("dialog", isWide && "dialog--wide")}>
          <div className="dialog-head">
            <div>
              <Base.Title className="dialog-title">{title}</Base.Title>
              {description != null && (
                <Base.Description className="dialog-description">{description}</Base.Description>
              )}
            </div>
            <CloseButton />
          </div>
          <div className="dialog-body">{children}</div>
          {foot != null && <div className="dialog-foot">{foot}</div>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface DrawerProps {
  isOpen: boolean;
  onClose(): void;
  label: string;
  side?: "left" | "right";
  children: ReactNode;
}

/** A panel at the side of the window. */
export function Drawer({ isOpen, onClose, label, side = "right", children }: DrawerProps) {
  return (
    <Base.Root open={isOpen} onOpenChange={open => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className={cx("drawer", side === "left" && "drawer--left")} aria-label={label}>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** Closes the dialog or drawer around it. */
export function CloseButton() {
  const t = useText();
  return (
    <Base.Close
      render={
        <Button
          look="quiet"
          isSmall
          className="button--icon"
          aria-label={t("common.close")}
          icon={<X size={16} />}
        />
      }
    />
  );
}
