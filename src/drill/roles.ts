/** The endpoints of the drill: one faulty provider under several names, and one address without a listener. */

interface RoleSettings {
  /** Display name. */
  readonly name: string
  /** Dollars per million tokens: whole numbers, so that costs can be compared exactly. */
  readonly prices: { readonly prompt: number; readonly completion: number }
  /** Whether the gateway may stay away from it while it fails. Most must fail in every drill anew. */
  readonly breaker: boolean
  /** Milliseconds of silence after which the gateway has to give it up. */
  readonly patienceMs: number
}

/** How long most endpoints may be silent. */
export const PATIENCE_MS = 2_000
/** How long the one may be that is slow by nature. */
const LONG_PATIENCE_MS = 30_000

function createRole(
  name: string,
  prompt: number,
  completion: number,
  { breaker = false, patienceMs = PATIENCE_MS }: Partial<RoleSettings> = {},
): RoleSettings {
  return { name, prices: { prompt, completion }, breaker, patienceMs }
}

/** Prices that differ, so that a bill tells which endpoint was paid. */
export const ROLES = {
  first: createRole('Drill First', 1, 2),
  second: createRole('Drill Second', 3, 7),
  third: createRole('Drill Third', 11, 19),
  patient: createRole('Drill Patient', 1, 2, { patienceMs: LONG_PATIENCE_MS }),
  guarded: createRole('Drill Guarded', 1, 2, { breaker: true }),
  dead: createRole('Drill Dead', 1, 2),
} as const

export type EndpointRole = keyof typeof ROLES

/** In the order of the table above. */
export const ROLE_NAMES = Object.keys(ROLES) as readonly EndpointRole[]

export function isRole(word: string): word is EndpointRole {
  return Object.hasOwn(ROLES, word)
}

/** Short name of its provider at the gateway. */
export function providerSlugOf(role: EndpointRole): string {
  return `drill-${role}`
}

/** Has no listener: a port that only an administrator could open, and that nothing uses. */
export const DEAD_PORT = 1
