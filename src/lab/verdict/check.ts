/** A check's outcome and the names of all checks. */
import type { Check, CheckId } from '../truth.js'

/** What a check found, before it is given its number and name. */
export interface Finding {
  readonly result: Check['result']
  readonly reason: string
}

export const ok = (reason: string): Finding => ({ result: 'ok', reason })
export const warn = (reason: string): Finding => ({ result: 'warn', reason })
export const fail = (reason: string): Finding => ({ result: 'fail', reason })
/** The data does not allow the check; the reason says what is missing. */
export const notApplicable = (reason: string): Finding => ({ result: 'n/a', reason })

export const CHECK_NAMES: Readonly<Record<CheckId, string>> = {
  V1: 'conservation',
  V2: 'rate',
  V3: 'quantum',
  V4: 'Little',
  V5: 'floor',
  V6: 'openness',
  V7: 'omission',
  V8: 'correction',
  V9: 'censoring',
  V10: 'generator CPU',
  V11: 'lateness',
  V12: 'pattern',
  V13: 'connections',
  V14: 'connection cap',
  V15: 'server health',
  V16: 'warm-up',
}
