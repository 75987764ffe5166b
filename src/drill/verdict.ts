/** How what disagrees with what was asked for becomes a verdict, and verdicts a score. */

/**
 * How bad it is. `harm`: callers are left waiting, misled or billed twice. `outcome`: not what the contract asks for,
 * but clean. `truth`: what is told about it, or written down, is not what happened.
 */
type ComplaintSeverity = 'harm' | 'outcome' | 'truth'

export interface Complaint {
  readonly severity: ComplaintSeverity
  /** A sentence with the figures that disagree. */
  readonly sentence: string
}

/**
 * `pass`: a rescue where the contract allows one, else its clean and bounded error, and all of it told truthfully.
 * `partial`: the right outcome, but metadata or ledger are not true. `safe`: bounded and clean, but not what the
 * contract asks for. `fail`: anything else.
 */
export type DrillVerdict = 'pass' | 'partial' | 'safe' | 'fail'

export const DRILL_VERDICTS: readonly DrillVerdict[] = ['pass', 'partial', 'safe', 'fail']

export function weighComplaints(complaints: readonly Complaint[]): DrillVerdict {
  const weighs = (weight: Complaint['severity']): boolean =>
    complaints.some((each) => each.severity === weight)
  if (weighs('harm')) return 'fail'
  if (weighs('outcome')) return 'safe'
  return weighs('truth') ? 'partial' : 'pass'
}

const POINTS: Readonly<Record<DrillVerdict, number>> = { pass: 3, partial: 2, safe: 1, fail: 0 }

/** Per cent of what there is to be had: three for a pass, two for a partial, one for a safe. */
export function scoreResults(results: readonly { readonly verdict: DrillVerdict }[]): number {
  const had = results.reduce((sum, { verdict }) => sum + POINTS[verdict], 0)
  return results.length === 0 ? 0 : Math.round((1000 * had) / (results.length * POINTS.pass)) / 10
}
