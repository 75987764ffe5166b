/** Lists in pages, by offset and limit. */
import { integerParam } from './params.js'

export const PAGING_QUERY = {
  offset: integerParam({ minimum: 0, default: 0, description: 'Entries to skip.' }),
  limit: integerParam({ minimum: 1, maximum: 100, default: 50, description: 'Most entries of the answer.' }),
}

/** A page of a list that is at hand as a whole. */
export function pageOfList<T>(
  all: readonly T[],
  { offset, limit }: { readonly offset: number; readonly limit: number },
  view: (each: T) => object,
): object {
  return { data: all.slice(offset, offset + limit).map(view), total_count: all.length }
}
