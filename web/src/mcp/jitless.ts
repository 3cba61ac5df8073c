// Imported before the SDK: its validator would otherwise try whether it may make code from text, which the page's
// policy forbids and reports.

import { config } from "zod";

config({ jitless: true });
