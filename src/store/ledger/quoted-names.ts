import { quoteCached } from '../../base/quoted.js'

/** Characters that a name may have; some are words of providers, who may say a book. */
const LONGEST_NAME = 256

/** JSON of a name that comes again and again, cut where it is too long: the cut would keep all of it in a cache. */
export function quoteName(text: string | null): string {
  if (text !== null && text.length > LONGEST_NAME) return JSON.stringify(text.slice(0, LONGEST_NAME))
  return quoteCached(text)
}
