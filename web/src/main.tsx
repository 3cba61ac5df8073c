// Starts the interface: connects, and shows the screens to whoever is signed in.

import "./styles/index.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { applyTheme } from "./app/shell";
import { takeCode } from "./app/sign-in/code";
import { SignInGate } from "./app/sign-in/SignIn";
import { connect } from "./mcp/connect";
import { createQueryClient, GatewayContext } from "./mcp/hooks";
import { LanguageProvider } from "./messages";
import { router } from "./router";
import { ToastProvider } from "./ui";

async function start(): Promise<void> {
  const root = document.getElementById("root");
  if (!root) return;
  applyTheme();
  // Before anything else: the address must not keep the code.
  const code = takeCode();
  const client = await connect();
  const queries = createQueryClient(client);
  createRoot(root).render(
    <StrictMode>
      {/* The policy of the page allows no styles inside of it. */}
      <CSPProvider disableStyleElements>
        <LanguageProvider>
          <GatewayContext value={client}>
            <QueryClientProvider client={queries}>
              <ToastProvider>
                <SignInGate code={code}>
                  <RouterProvider router={router} />
                </SignInGate>
              </ToastProvider>
            </QueryClientProvider>
          </GatewayContext>
        </LanguageProvider>
      </CSPProvider>
    </StrictMode>,
  );
}

void start();
