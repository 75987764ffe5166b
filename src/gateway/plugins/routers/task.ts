/** What kind of task a request is, as far as its latest words tell. */
import { contentText } from '../../formats/content-parts.js'
import type { RoutableRequest } from './candidates.js'

/** Most characters that are looked at. */
const LOOKED_AT = 8_000

/** A fence, a trace, or words that programmers use of their work. */
const CODE_SIGNS =
  /```|Traceback \(most recent call last\)|^\s{0,8}(?:def|class|import|#include|SELECT|function|const|fn|pub|package) |\b(?:code|codebase|function|refactor|debug|bug|compile[rs]?|regex|unit tests?|stack trace|pull request|TypeScript|JavaScript|Python|SQL)\b/im

/** Text of the latest message of the user. */
export function latestUserText({ messages = [] }: RoutableRequest): string {
  const latest = messages.findLast(({ role }) => role === 'user')
  return latest === undefined ? '' : contentText(latest.content)
}

export function taskOf(request: RoutableRequest): 'coding' | 'overall' {
  return CODE_SIGNS.test(latestUserText(request).slice(0, LOOKED_AT)) ? 'coding' : 'overall'
}
