/** A check's outcome and the names of all checks. */
import type { ValidityCheck, ValidityCheckId } from '../run-summary.js'

/** What a check found, before it is given its number and name. */
export interface CheckFinding {
  readonly result: ValidityCheck['result']
  readonly reason: string
}

export const passed = (reason: string): CheckFinding => ({ result: 'ok', reason })
export const warned = (reason: string): CheckFinding => ({ result: 'warn', reason })
export const failed = (reason: string): CheckFinding => ({ result: 'fail', reason })
/** The data does not allow the check; the reason says what is missing. */
export const notApplicable = (reason: string): CheckFinding => ({ result: 'n/a', reason })

export const CHECK_NAMES: Readonly<Record<ValidityCheckId, string>> = {
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
