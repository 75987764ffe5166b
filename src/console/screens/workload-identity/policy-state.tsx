import { State } from '../../kit/values.tsx'
import type { Policy } from './wire.ts'

/** Whether exchanges by a policy are let in. */
export function PolicyState({ of: { enabled } }: { of: Policy }) {
  return enabled ? <State is="good">active</State> : <State is="quiet">paused</State>
}
