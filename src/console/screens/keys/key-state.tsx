import { State } from '../../kit/values.tsx'
import type { Key } from './wire.ts'

/** Whether a key opens anything at this moment. */
export function KeyState({ of: { disabled, expires_at, limit_remaining } }: { of: Key }) {
  if (disabled) return <State is="quiet">disabled</State>
  if (expires_at !== null && Date.parse(expires_at) <= Date.now()) return <State is="bad">expired</State>
  if (limit_remaining === 0) return <State is="attention">limit used up</State>
  return <State is="good">active</State>
}
