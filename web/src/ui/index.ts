// The pieces that screens are made of.

export * from "./Badge";
export * from "./Button";
export * from "./Code";
export * from "./cx";
export * from "./Dialog";
export * from "./Diff";
export * from "./Field";
export * from "./JsonView";
export * from "./Layout";
export * from "./Link";
export * from "./Menu";
export * from "./States";
export * from "./Table";
export * from "./Tabs";
export * from "./Time";
export * from "./Toast";
export * from "./Tooltip";
export * from "./Untrusted";
