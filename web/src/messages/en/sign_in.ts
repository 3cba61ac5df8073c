// Signing a browser in.
export const signIn = {
  "sign_in.title": "Sign in to Octroi",
  "sign_in.about": "Run this on the machine of the gateway. It opens this page, signed in.",
  "sign_in.or": "Or use a token, once. It is exchanged for a session of this browser, and not kept.",
  "sign_in.token": "Token",
  "sign_in.submit": "Sign in",
  "sign_in.working": "Signing in…",
  "sign_in.insecure": "Browsers keep keys only for pages over HTTPS, or on this machine.",
  "sign_in.insecure_hint": "Open the interface as http://127.0.0.1, or give the gateway a certificate.",
  "sign_in.ended": "You were signed out",
  "missing.title": "There is no such page",
  "missing.back": "Go to the overview",
} as const;
