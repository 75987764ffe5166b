/** What the latest results of tools say of how a task is going. */

import { contentText } from '../../formats/content-parts.js'
import { asObject, objectsIn } from '../../formats/json-values.js'
import type { RoutableRequest } from './candidates.js'

/** Results that count, the latest. */
const LOOKED_AT = 8
/** Fewer say nothing. */
const LEAST_RESULTS = 2
/** This many without a failure say that the task is going well. */
const QUIET_RESULTS = 3
/** Characters of a result in which a failure is looked for. */
const BEGINNING = 2_000

const FAILURE = /\b(?:error|exception|traceback|failed|failure|fatal|denied|not found|timed out)\b/i

/** Which kind of model the results ask for; null where they decide nothing. */
export function stageSignal(
  request: RoutableRequest,
): { readonly track: 'efficient' | 'capable'; readonly why: string } | null {
  const results = latestResults(request)
  if (results.length < LEAST_RESULTS) return null
  const failed = results.filter((text) => FAILURE.test(text.slice(0, BEGINNING))).length
  const why = `${failed} of the latest ${results.length} results of tools are failures`
  if (failed * 2 >= results.length) return { track: 'capable', why }
  return failed === 0 && results.length >= QUIET_RESULTS ? { track: 'efficient', why } : null
}

/** Texts of the results since the user last spoke, the latest first; of both formats. */
function latestResults({ messages = [] }: RoutableRequest): readonly string[] {
  const texts: string[] = []
  for (let at = messages.length - 1; at >= 0 && texts.length < LOOKED_AT; at--) {
    const { role, content } = messages[at]!
    if (role === 'tool') texts.push(contentText(content))
    if (role !== 'user') continue
    const results = objectsIn(content).filter(({ type }) => type === 'tool_result')
    if (results.length === 0) break
    for (const result of results)
      texts.push(`${asObject(result)?.is_error === true ? 'error ' : ''}${contentText(result.content)}`)
  }
  return texts.slice(0, LOOKED_AT)
}
