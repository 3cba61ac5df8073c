// The frame around all screens: the rail, the bar, the palette. It only gets what it shows.

import { LogOut, Menu as MenuIcon, Search, ShieldCheck, UserRound, Wifi, WifiOff } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { type Language, languages, useLanguage, useText } from "../../messages";
import {
  CloseButton,
  Count,
  Drawer,
  IconButton,
  KeyHint,
  Link,
  Menu,
  Notice,
  Status,
  Tooltip,
  useIsNarrow,
  useLocation,
} from "../../ui";
import { Palette, type PaletteItem } from "./Palette";
import { isWithin, SCREENS } from "./screens";
import { setTheme, type Theme, useTheme } from "./theme";

export type Connection = "live" | "connecting" | "lost";

export interface ShellProps {
  connection: Connection;
  user: string;
  role: "admin" | "member";
  /** Calls that wait for this person. */
  nPending: number;
  palette: readonly PaletteItem[];
  onPaletteOpen?(): void;
  onSignOut(): void;
  children: ReactNode;
}

export function Shell({ palette, onPaletteOpen, children, ...props }: ShellProps) {
  const t = useText();
  const { path } = useLocation();
  const isNarrow = useIsNarrow();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const openPalette = () => {
    onPaletteOpen?.();
    setPaletteOpen(true);
  };
  usePaletteKey(openPalette);
  // biome-ignore lint/correctness/useExhaustiveDependencies: going elsewhere closes the navigation
  useEffect(() => setMenuOpen(false), [path]);
  return (
    <div className="shell">
      <a className="skip-link" href="#main">
        {t("shell.skip")}
      </a>
      {!isNarrow && <Rail nPending={props.nPending} />}
      <Drawer
        side="left"
        isOpen={isNarrow && isMenuOpen}
        onClose={() => setMenuOpen(false)}
        label={t("shell.nav")}
      >
        <div className="dialog-head drawer-head">
          <span />
          <CloseButton />
        </div>
        <Rail nPending={props.nPending} />
      </Drawer>
      <Bar {...props} onMenu={() => setMenuOpen(true)} onSearch={openPalette} />
      <main id="main" className="shell-main" tabIndex={-1}>
        {props.connection === "lost" && (
          <Notice tone="warn" role="status">
            {t("shell.connection.lost_hint")}
          </Notice>
        )}
        {children}
      </main>
      <Palette isOpen={isPaletteOpen} onClose={() => setPaletteOpen(false)} items={palette} />
    </div>
  );
}

function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (
        event.key.toLowerCase() !== "k" ||
        !(event.metaKey || event.ctrlKey) ||
        event.shiftKey ||
        event.altKey
      )
        return;
      event.preventDefault();
      open();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
}

function Rail({ nPending }: { nPending: number }) {
  const t = useText();
  const { path } = useLocation();
  return (
    <nav className="shell-rail" aria-label={t("shell.nav")}>
      <Link to="/" className="shell-brand">
        <ShieldCheck size={18} aria-hidden />
        {t("app.name")}
      </Link>
      <ul>
        {SCREENS.map(screen => (
          <li key={screen.name}>
            <Link
              to={screen.to}
              className="rail-link"
              aria-current={isWithin(screen, path) ? "page" : undefined}
            >
              <screen.icon size={16} aria-hidden />
              {t(screen.label)}
              {screen.name === "approvals" && (
                <Count value={nPending} label={t("shell.pending", { count: nPending })} />
              )}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

type BarProps = Omit<ShellProps, "palette" | "children" | "onPaletteOpen"> & {
  onMenu(): void;
  onSearch(): void;
};

function Bar({ connection, onMenu, onSearch, ...account }: BarProps) {
  const t = useText();
  return (
    <header className="shell-bar">
      <span className="shell-menu">
        <IconButton label={t("shell.menu")} icon={<MenuIcon size={18} />} onClick={onMenu} />
      </span>
      <button type="button" className="search-button" onClick={onSearch}>
        <Search size={15} aria-hidden />
        <span className="truncate">{t("shell.search")}</span>
        <KeyHint isDecoration keys={/mac/i.test(navigator.platform) ? "⌘K" : "Ctrl K"} />
      </button>
      <span className="shell-bar-space" />
      <ConnectionStatus connection={connection} />
      <Account {...account} />
    </header>
  );
}

function ConnectionStatus({ connection }: { connection: Connection }) {
  const t = useText();
  const tone = connection === "live" ? "ok" : connection === "lost" ? "danger" : "idle";
  return (
    <span role="status" className={`connection connection--${connection}`}>
      <Tooltip text={t(`shell.connection.${connection}`)}>
        <span>
          <Status tone={tone} icon={connection === "live" ? Wifi : WifiOff}>
            <span className="hide-narrow">{t(`shell.connection.${connection}`)}</span>
          </Status>
        </span>
      </Tooltip>
    </span>
  );
}

function Account({ user, role, onSignOut }: Pick<ShellProps, "user" | "role" | "onSignOut">) {
  const t = useText();
  const theme = useTheme();
  const { language, setLanguage } = useLanguage();
  return (
    <Menu
      trigger={
        <button type="button" className="button button--quiet" aria-label={t("shell.user", { name: user })}>
          <UserRound size={16} aria-hidden />
          <span className="hide-narrow">{user}</span>
        </button>
      }
      label={`${user} · ${t(`shell.role.${role}`)}`}
      choices={[
        {
          key: "theme",
          label: t("shell.theme"),
          value: theme,
          options: (["system", "light", "dark"] as const).map(value => ({
            value,
            label: t(`shell.theme.${value}`),
          })),
          onChange: value => setTheme(value as Theme),
        },
        {
          key: "language",
          label: t("shell.language"),
          value: language,
          options: Object.entries(languages).map(([value, label]) => ({ value, label })),
          onChange: value => setLanguage(value as Language),
        },
      ]}
      items={[
        {
          key: "out",
          label: t("shell.sign_out"),
          icon: <LogOut size={15} aria-hidden />,
          onSelect: onSignOut,
        },
      ]}
    />
  );
}
