/** What a scenario says: what the provider does, and what the contract asks of the gateway then. */
import type { Behaviour } from './behaviours.js'
import type { Role } from './roles.js'

export type Mode = 'whole' | 'streamed'
export const MODES: readonly Mode[] = ['whole', 'streamed']

/** One try at an endpoint: whom, and the status it came to; 0 when there was none. */
export type Attempt = readonly [role: Role, status: number]

/** A model of the scenario; the caller names the first and gives the others as `models`. */
export interface DrillModel {
  /** `drill/<scenario>` or `drill/<scenario>-<what it is>`. */
  readonly id: string
  /** In order of trial. */
  readonly endpoints: readonly Role[]
  readonly contextLength?: number
}

/** The answer is complete. */
export interface Served {
  readonly kind: 'served'
  readonly text: string
  readonly finish: string
}

/** There is no answer, and the status says so. */
export interface Refused {
  readonly kind: 'refused'
  readonly status: number
  readonly errorType: string
  /** The provider's own words, which the caller needs in order to mend the request. */
  readonly reason?: string
  /** The answer says when to come again. */
  readonly saysWhen?: true
}

/** A stream that had begun ends with an error. */
export interface Broken {
  readonly kind: 'broken'
  readonly code: number
  readonly errorType: string
  /** What had been said. */
  readonly said: string
  /** Whether the provider had counted before it failed; otherwise the gateway has to. */
  readonly counted: boolean
}

export type Ending = Served | Refused | Broken

/** One call of the gateway, and what has to become of it. */
export interface Step {
  /** The attempts in order; several where the contract leaves the choice. */
  readonly ways: readonly (readonly Attempt[])[]
  readonly ending: Ending
  /** Milliseconds from the request to the end of the answer. */
  readonly ms: { readonly least: number; readonly most: number }
  /** The silence has to be broken with comments before the first event of a stream. */
  readonly comments?: true
  /** The connection to the provider has to be closed, for it would stay open for ever. */
  readonly letsGo?: true
}

export interface Scenario {
  /** `S01`. */
  readonly id: string
  readonly name: string
  /** What the provider does, and what is asked of the gateway. */
  readonly about: string
  readonly models: readonly DrillModel[]
  /** What each endpoint does with its first call, its second and so on; then from the begin again. */
  readonly plays: Readonly<Partial<Record<Role, readonly Behaviour[]>>>
  readonly steps: Readonly<Record<Mode, readonly Step[]>>
}

/** The model by which the gateway asks for an endpoint of the scenario. */
export function modelServedBy({ models }: Scenario, role: Role): string {
  return models.find(({ endpoints }) => endpoints.includes(role))!.id
}
