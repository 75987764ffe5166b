/** What a look at the machine and the settings found. */

/** `fail`: a server would not start, or would lose what it is trusted with. `warn`: it serves, worse than it could. */
type Verdict = 'ok' | 'warn' | 'fail'

export interface Finding {
  /** One or two words: what was looked at. */
  readonly check: string
  readonly verdict: Verdict
  /** In half a sentence. */
  readonly found: string
  /** What to do; null where nothing is. */
  readonly remedy: string | null
}

export const ok = (check: string, found: string): Finding => ({ check, verdict: 'ok', found, remedy: null })

export const warn = (check: string, found: string, remedy: string): Finding => ({
  ...{ check, verdict: 'warn', found, remedy },
})

export const fail = (check: string, found: string, remedy: string): Finding => ({
  ...{ check, verdict: 'fail', found, remedy },
})

/** @param sentence a start's: what it found, a colon, and what to do */
export function failWithSentence(check: string, sentence: string): Finding {
  const at = sentence.indexOf(': ')
  return fail(check, sentence.slice(0, at), sentence.slice(at + 2))
}

interface Look {
  readonly check: string
  readonly deadlineMs: number
  /** What to do when the look itself fails or does not end. */
  readonly remedy: string
}

/**
 * A look that always ends with findings: within its deadline, and whatever is thrown.
 * @param run its signal aborts at the deadline: what it finds of that at once counts
 */
export async function look(
  { check, deadlineMs, remedy }: Look,
  run: (signal: AbortSignal) => Finding | readonly Finding[] | Promise<Finding | readonly Finding[]>,
): Promise<readonly Finding[]> {
  const ending = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Finding>((resolve) => {
    const found = `no answer within ${deadlineMs / 1000} s`
    timer = setTimeout(() => {
      ending.abort()
      setImmediate(() => resolve(fail(check, found, remedy)))
    }, deadlineMs)
  })
  try {
    return [await Promise.race([late, (async () => run(ending.signal))()])].flat()
  } catch (error) {
    return [fail(check, error instanceof Error ? error.message : String(error), remedy)]
  } finally {
    clearTimeout(timer)
  }
}
