/** The endpoints of the drill: one faulty provider under several names, and one address where nobody listens. */

/** Dollars per million tokens: whole numbers, so that costs can be compared exactly. */
interface RolePrices {
  readonly prompt: number
  readonly completion: number
}

interface RoleSettings {
  /** Display name. */
  readonly name: string
  readonly prices: RolePrices
  /** Whether the gateway may stay away from it while it fails. Most must fail in every drill anew. */
  readonly breaker: boolean
  /** Milliseconds of silence after which the gateway has to give it up. */
  readonly patienceMs: number
}

/** How long most endpoints may be silent. */
export const PATIENCE_MS = 2_000
/** How long the one may be that is slow by nature. */
const LONG_PATIENCE_MS = 30_000

/** Prices that differ, so that a bill tells who was paid. */
export const ROLES = {
  first: {
    name: 'Drill First',
    prices: { prompt: 1, completion: 2 },
    breaker: false,
    patienceMs: PATIENCE_MS,
  },
  second: {
    name: 'Drill Second',
    prices: { prompt: 3, completion: 7 },
    breaker: false,
    patienceMs: PATIENCE_MS,
  },
  third: {
    name: 'Drill Third',
    prices: { prompt: 11, completion: 19 },
    breaker: false,
    patienceMs: PATIENCE_MS,
  },
  patient: {
    name: 'Drill Patient',
    prices: { prompt: 1, completion: 2 },
    breaker: false,
    patienceMs: LONG_PATIENCE_MS,
  },
  guarded: {
    name: 'Drill Guarded',
    prices: { prompt: 1, completion: 2 },
    breaker: true,
    patienceMs: PATIENCE_MS,
  },
  dead: {
    name: 'Drill Dead',
    prices: { prompt: 1, completion: 2 },
    breaker: false,
    patienceMs: PATIENCE_MS,
  },
} as const satisfies Record<string, RoleSettings>

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

/** Where nobody listens: a port that only an administrator could open, and that nothing uses. */
export const DEAD_PORT = 1
