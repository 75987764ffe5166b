/** Where the time of a call went: one bar under the other, each beginning where the one before has ended. */
import type { ComponentType } from 'preact'
import type { Attempt, Generation } from './wire.ts'

type Look = 'wait' | 'good' | 'bad' | 'answer'

interface Bar {
  readonly name: string
  readonly note: string
  readonly is: Look
  readonly from: number
  readonly ms: number
}

interface WaterfallProps {
  readonly of: Generation
  /** Shows a number; handed in, as charts import nothing. */
  readonly Count: ComponentType<{ value: number; unit?: string }>
}

export function Waterfall({ of, Count }: WaterfallProps) {
  const bars = barsOf(of)
  const total = Math.max(1, ...bars.map(({ from, ms }) => from + ms))
  return (
    <ol class="waterfall">
      {bars.map(({ name, note, is, from, ms }, at) => (
        <li key={at}>
          <span class="two-lines">
            {name}
            <span class="soft small">{note}</span>
          </span>
          <svg class={`time-bar ${is}`} viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
            <rect class="ground" width="1000" height="10" />
            <rect x={(from / total) * 1000} width={Math.max(3, (ms / total) * 1000)} height="10" />
          </svg>
          <Count value={ms} unit="ms" />
        </li>
      ))}
    </ol>
  )
}

function barsOf({ phases, provider_responses, rows }: Generation): Bar[] {
  const bars: Bar[] = []
  let at = 0
  const add = (name: string, note: string, is: Look, ms: number): void => {
    bars.push({ name, note, is, from: at, ms })
    at += ms
  }
  const { admit, queue, connect, first_event, total } = phases
  add('Admission', 'limits and credit', 'wait', admit)
  if (rows.length > 0) {
    for (const row of rows) {
      add(
        row.name,
        `${row.kind}, ${row.provider_name}`,
        isGood(row.outcome) ? 'good' : 'bad',
        row.generation_time,
      )
    }
    return bars
  }
  if (queue > 0) add('Queue', 'for a connection', 'wait', queue)
  if (connect > 0) add('Connection', 'to be made', 'wait', connect)
  for (const [n, attempt] of (provider_responses ?? []).entries()) {
    // What the last one has waited for stands above it.
    const isLast = n === provider_responses!.length - 1
    const waited = isLast ? queue + connect : 0
    add(
      attempt.provider_name,
      noteOf(attempt),
      attempt.error === null ? 'good' : 'bad',
      Math.max(0, attempt.latency - waited),
    )
  }
  const begun = first_event ?? at
  if (total > begun) {
    at = begun
    const hasAnswered = provider_responses?.at(-1)?.error === null
    const note = first_event === null ? 'to its end' : 'from its first event to its end'
    if (hasAnswered) add('Answer', note, 'answer', total - begun)
    else add('Waiting', 'between attempts, and until the fault was told', 'wait', total - begun)
  }
  return bars
}

function noteOf({ model, status, error }: Attempt): string {
  if (error === null) return model
  return `${model}, ${status === 0 ? 'no answer' : status}, ${error}`
}

const isGood = (outcome: string): boolean => outcome === 'settled'
