/** Wishes about routing that contradict each other: whatever was done, one of them would be ignored. */
import { ValidationIssue } from '../base/fault.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'

/** The first contradiction, or null. */
export function routingContradiction({ provider, route }: RoutedRequest): ValidationIssue | null {
  if (provider === undefined || provider === null) return null
  const { only, ignore, sort } = provider
  if (only?.some((slug) => ignore?.includes(slug)) === true) {
    const sentence = 'must not name a provider that provider.ignore names'
    return new ValidationIssue(['body', 'provider', 'only'], 'other', undefined, sentence)
  }
  const partition = typeof sort === 'object' && sort !== null ? sort.partition : undefined
  if (route === 'fallback' && partition === 'none') return routeContradiction('fallback', 'none')
  if (route === 'sort' && partition === 'model') return routeContradiction('sort', 'model')
  return null
}

function routeContradiction(route: string, partition: string): ValidationIssue {
  const sentence = `${route} says the opposite of provider.sort.partition: ${partition}`
  return new ValidationIssue(['body', 'route'], 'other', undefined, sentence)
}
