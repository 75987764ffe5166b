/** The one tier that the two formats call by different names; the others go on as they are. */

export function tierForMessages(tier: string): string {
  return tier === 'default' ? 'standard_only' : tier
}

export function tierForChat(tier: string): string {
  return tier === 'standard_only' ? 'default' : tier
}

/** What a messages provider says it served with, as chat says it. */
export function servedTierForChat(tier: string): string {
  return tier === 'standard' ? 'default' : tier
}

/** What a chat provider says it served with, as the messages format says it; null where that has no word for it. */
export function servedTierForMessages(tier: string): string | null {
  if (tier === 'default') return 'standard'
  return tier === 'priority' || tier === 'standard' || tier === 'batch' ? tier : null
}
