/** Where browsers are on their way through a sign-in. */

/** What members open. */
export function signInUrl(baseUrl: string, providerId: string): string {
  return `${baseUrl}/api/v1/sign-in/${providerId}`
}

/**
 * Where a provider sends browsers back to: to an address of its own. With one for all, a provider could send a browser on
 * to another one, whose code would then be brought to the first (RFC 9700 section 4.4.2.2).
 */
export function redirectUriOf(baseUrl: string, providerId: string): string {
  return `${signInUrl(baseUrl, providerId)}/callback`
}
