export const tools = {} as const;
