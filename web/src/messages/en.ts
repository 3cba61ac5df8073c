// English. Each part of the interface has a file; the Chinese catalogue has the same keys.

import { activity } from "./en/activity";
import { agents } from "./en/agents";
import { approvals } from "./en/approvals";
import { audit } from "./en/audit";
import { common } from "./en/common";
import { overview } from "./en/overview";
import { policies } from "./en/policies";
import { servers } from "./en/servers";
import { settings } from "./en/settings";
import { shell } from "./en/shell";
import { signIn } from "./en/sign_in";
import { tools } from "./en/tools";

export const en = {
  ...common,
  ...shell,
  ...signIn,
  ...approvals,
  ...overview,
  ...activity,
  ...agents,
  ...audit,
  ...policies,
  ...settings,
  ...servers,
  ...tools,
} as const;
