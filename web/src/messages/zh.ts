// Chinese. A missing key does not compile.

import type { Catalogue } from "./index";
import { activity } from "./zh/activity";
import { agents } from "./zh/agents";
import { approvals } from "./zh/approvals";
import { audit } from "./zh/audit";
import { common } from "./zh/common";
import { overview } from "./zh/overview";
import { policies } from "./zh/policies";
import { servers } from "./zh/servers";
import { settings } from "./zh/settings";
import { shell } from "./zh/shell";
import { signIn } from "./zh/sign_in";
import { tools } from "./zh/tools";

export const zh: Catalogue = {
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
};
