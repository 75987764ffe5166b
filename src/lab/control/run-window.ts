import type { WindowChoice } from '../worker-snapshots.js'
import { LabRequestError } from './requests.js'
import type { LabRun } from './run.js'

export interface RunWindow {
  /** Names the window among those of its run. */
  readonly key: string
  readonly choice: WindowChoice
  readonly fromMs: number
  readonly toMs: number
}

const BOUNDS = /^([0-9]+(?:\.[0-9]+)?)\.\.([0-9]+(?:\.[0-9]+)?)$/

/**
 * `measure` (the default), `all`, or `a..b` in seconds from the begin of the measurement. The latter is widened to
 * whole slices: the answer says what it really covers. Throws a 400.
 */
export function resolveRunWindow(run: LabRun, text: string, now: number): RunWindow {
  const end = run.endMs(now)
  const { measureFromMs, measureToMs, plan } = run
  if (text === 'measure') {
    const toMs = Math.max(measureFromMs, Math.min(measureToMs, end))
    return { key: text, choice: { spans: ['measure'] }, fromMs: measureFromMs, toMs }
  }
  if (text === 'all') {
    const choice = { spans: ['warm-up', 'measure', 'after'] } as const
    return { key: text, choice, fromMs: plan.startMs, toMs: Math.max(plan.startMs, end) }
  }
  return parseSliceWindow(run, text, end)
}

function parseSliceWindow(run: LabRun, text: string, end: number): RunWindow {
  const match = BOUNDS.exec(text)
  if (match === null) {
    throw new LabRequestError(400, 'window: must be "measure", "all" or seconds such as 2..5', 'window')
  }
  const [a, b] = [Number(match[1]), Number(match[2])]
  if (b <= a) throw new LabRequestError(400, 'window: must end after it begins', 'window')
  const { sliceMs, measureMs } = run.plan
  if (b * 1000 > measureMs) {
    throw new LabRequestError(400, `window: the measurement ends after ${measureMs / 1000} seconds`, 'window')
  }
  const from = Math.floor((a * 1000) / sliceMs)
  const to = Math.ceil((b * 1000) / sliceMs)
  const at = (slice: number): number => run.measureFromMs + Math.min(slice * sliceMs, measureMs)
  return {
    key: `${from}..${to}`,
    choice: { spans: ['measure'], slices: [from, to] },
    fromMs: at(from),
    toMs: Math.max(at(from), Math.min(at(to), end)),
  }
}
