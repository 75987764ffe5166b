/** The one tier that the two formats call by different names; the others go on as they are. */

export function tierForMessages(tier: string): string {
  return tier === 'default' ? 'standard_only' : tier
}

export function tierForChat(tier: string): string {
  return tier === 'standard_only' ? 'default' : tier
}

/** What a messages provider says it served with, as chat says it. */
export function tierServed(tier: string): string {
  return tier === 'standard' ? 'default' : tier
}
