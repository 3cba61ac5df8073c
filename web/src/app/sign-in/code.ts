// The one-time code in the address of the page.

/** Takes the code out of the address, so that neither the history nor a bookmark has it. */
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code === null) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}
