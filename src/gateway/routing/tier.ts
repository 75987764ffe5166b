/** Which service tier an endpoint is asked for (contract/gateway 2.1). */
import type { ModelEndpoint } from '../catalog/catalog.js'

/** What stands in for a tier that an endpoint lacks, best first. */
const TIER_FALLBACKS: Readonly<Record<string, readonly string[]>> = {
  ultrafast: ['priority', 'default'],
}

/**
 * The tier to ask an endpoint for; undefined when the request names none. `fast` is another word for `priority`. Of
 * an endpoint whose tiers are not known everything but `ultrafast` may be asked, which few have: it gets the next best.
 */
export function serviceTierFor(
  asked: string | null | undefined,
  { serviceTiers }: ModelEndpoint,
): string | undefined {
  if (asked === undefined || asked === null) return undefined
  const wanted = asked === 'fast' ? 'priority' : asked
  const hasTier = (tier: string): boolean => serviceTiers?.has(tier) ?? tier !== 'ultrafast'
  if (hasTier(wanted)) return wanted
  return TIER_FALLBACKS[wanted]?.find(hasTier) ?? wanted
}
