/** Keeps a model from calling the same thing for ever (contract/tools 1.4). */
import type { JsonObject } from '../formats/json-values.js'
import type { ToolOutcome } from '../tools/port/tool.js'

const MOST_EQUAL_CALLS = 2
const MOST_EMPTY_SEARCHES = 3

export class CallGuard {
  readonly #counts = new Map<string, number>()
  #emptySearches = 0

  /** Counts a call; false for the third one with equal arguments, whatever their order, and for all after it. */
  admit(name: string, given: JsonObject): boolean {
    const key = `${name} ${JSON.stringify(sortMembers(given))}`
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    return count <= MOST_EQUAL_CALLS
  }

  /** The outcome as the model is told it: after three searches in a row that found nothing it says so. */
  judge(outcome: ToolOutcome): ToolOutcome {
    if ((outcome.units?.web_searches ?? 0) === 0) return outcome
    this.#emptySearches = (outcome.citations ?? []).length === 0 ? this.#emptySearches + 1 : 0
    if (this.#emptySearches < MOST_EMPTY_SEARCHES) return outcome
    const note = `${this.#emptySearches} searches in a row found nothing: answer with what you know, or say that nothing was found`
    return { ...outcome, content: { error: note }, isError: true }
  }
}

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (typeof value !== 'object' || value === null) return value
  const sorted = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return sorted.map(([name, member]) => [name, sortMembers(member)])
}
