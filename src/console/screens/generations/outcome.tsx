import { State } from '../../kit/values.tsx'
import type { Outcome } from './wire.ts'

const SHOWN: Readonly<Record<Outcome, readonly ['good' | 'attention' | 'bad', string]>> = {
  settled: ['good', 'answered'],
  failed: ['bad', 'failed'],
  'aborted-confirmed': ['attention', 'cut off'],
  'aborted-estimated': ['attention', 'cut off, estimated'],
}

export const OUTCOMES: readonly (readonly [value: string, title: string])[] = [
  ['', 'Any'],
  ...Object.entries(SHOWN).map(([value, [, word]]) => [value, word] as const),
]

/** How a call ended, and by which fault. */
export function OutcomeState({ of: { outcome, fault } }: { of: { outcome: Outcome; fault: string | null } }) {
  const [is, word] = SHOWN[outcome]
  if (fault === null) return <State is={is}>{word}</State>
  return (
    <span class="two-lines">
      <span>
        <State is={is}>{word}</State>
      </span>
      <code class="soft">{fault}</code>
    </span>
  )
}
