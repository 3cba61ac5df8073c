// ⌘K: everything by name.

import { Dialog } from "@base-ui/react/dialog";
import { Command } from "cmdk";
import { type ReactNode, useMemo, useState } from "react";
import { rank } from "../../lib/fuzzy";
import { oneLine } from "../../lib/untrusted";
import { useText } from "../../messages";
import { cx, useLocation } from "../../ui";
import { SCREENS } from "./screens";

export type PaletteGroup = "screens" | "servers" | "tools" | "agents" | "approvals" | "commands";

export interface PaletteItem {
  group: PaletteGroup;
  /** Unique in its group. */
  id: string;
  label: string;
  detail?: string;
  icon?: ReactNode;
  /** Where it is, or what it does. */
  to?: string;
  run?(): void;
}

const GROUPS: readonly PaletteGroup[] = ["screens", "approvals", "servers", "agents", "tools", "commands"];

/** No more than this of one group, so that a thousand tools do not hide the rest. */
const PER_GROUP = 8;

interface PaletteProps {
  isOpen: boolean;
  onClose(): void;
  /** Everything but the screens, which are known. */
  items: readonly PaletteItem[];
}

export function Palette({ isOpen, onClose, items }: PaletteProps) {
  const t = useText();
  return (
    <Dialog.Root open={isOpen} onOpenChange={open => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className={cx("dialog", "palette")} aria-label={t("shell.search")}>
          <Search items={items} onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Search({ items, onClose }: Omit<PaletteProps, "isOpen">) {
  const t = useText();
  const { navigate } = useLocation();
  const [query, setQuery] = useState("");
  const all = useMemo<readonly PaletteItem[]>(
    () => [
      ...SCREENS.map(screen => ({
        group: "screens" as const,
        id: screen.name,
        label: t(screen.label),
        to: screen.to,
        icon: <screen.icon size={15} aria-hidden />,
      })),
      ...items,
    ],
    [items, t],
  );
  const found = useMemo(
    () =>
      GROUPS.map(group => ({
        group,
        items: rank(
          all.filter(item => item.group === group),
          query,
          item => item.label,
          query.trim() === "" && group !== "screens" ? 4 : group === "screens" ? 20 : PER_GROUP,
        ),
      })).filter(one => one.items.length > 0),
    [all, query],
  );
  const choose = (item: PaletteItem) => {
    onClose();
    if (item.to !== undefined) navigate(item.to);
    item.run?.();
  };
  return (
    <Command shouldFilter={false} loop label={t("shell.search")}>
      <Command.Input
        className="palette-input"
        value={query}
        onValueChange={setQuery}
        placeholder={t("shell.search_hint")}
        autoFocus
      />
      <Command.List className="palette-list" label={t("shell.search")}>
        {found.length === 0 && <div className="palette-empty">{t("shell.search_empty")}</div>}
        {found.map(({ group, items }) => (
          <Command.Group key={group} heading={t(`shell.group.${group}`)}>
            {items.map(item => (
              <Command.Item key={item.id} value={`${group}:${item.id}`} onSelect={() => choose(item)}>
                {item.icon}
                <span className="truncate">{oneLine(item.label, 80)}</span>
                {item.detail !== undefined && (
                  <span className="palette-detail truncate">{oneLine(item.detail, 60)}</span>
                )}
              </Command.Item>
            ))}
          </Command.Group>
        ))}
      </Command.List>
    </Command>
  );
}
