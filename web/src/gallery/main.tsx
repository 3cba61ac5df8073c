// A page for those who build the interface: every view with fixtures, without a gateway. It is not part of the build.
// gallery.html?view=approvals&theme=dark&language=zh

import { CSPProvider } from "@base-ui/react/csp-provider";
import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import "@/styles/index.css";
import "@/screens/approvals/approvals.css";
import "@/screens/overview/overview.css";
import "@/screens/servers/servers.css";
import "@/screens/tools/tools.css";
import { Shell } from "@/app/shell";
import { LanguageProvider } from "@/messages";
import { type Location, LocationProvider, ToastProvider } from "@/ui";
import { VIEWS } from "./views";

const asked = new URLSearchParams(window.location.search);
document.documentElement.dataset.theme = asked.get("theme") ?? "light";
localStorage.setItem("octroi-language", asked.get("language") ?? "en");
localStorage.setItem("octroi-theme", asked.get("theme") ?? "light");

function Gallery() {
  const view = VIEWS[asked.get("view") ?? "primitives"];
  const [to, setTo] = useState(view?.path ?? "/");
  const location = useMemo<Location>(() => {
    const url = new URL(to, window.location.origin);
    return { path: url.pathname, search: url.searchParams, navigate: next => setTo(next) };
  }, [to]);
  return (
    <LocationProvider value={location}>
      {/* biome-ignore lint/a11y/useValidAriaRole: the role of a person, not of an element */}
      <Shell connection="live" user="ana" role="admin" nPending={12} palette={[]} onSignOut={() => {}}>
        {view?.content}
      </Shell>
    </LocationProvider>
  );
}

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <LanguageProvider>
          <ToastProvider>
            <Gallery />
          </ToastProvider>
        </LanguageProvider>
      </CSPProvider>
    </StrictMode>,
  );
}
