/** Which tools and plugins a request would have here, and what they may cost, without running any (contract/tools 2.6). */
import { nanosToDollars } from '../../base/money.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { RequestedTool, Tooling } from '../formats/tooling.js'
import { type Reservation, reservationFor } from '../pricing/reservation.js'
import type { Plan } from '../routing/plan.js'
import type { LoopTools, ReadyFunction } from './loop-tools.js'
import { StopConditions } from './stop-conditions.js'

export type LoopExplanation = ReturnType<typeof explainLoop>

interface ExplainedRequest {
  readonly request: RoutedRequest
  readonly tooling: Tooling
  readonly plan: Plan
  readonly tools: LoopTools
  /** Plugins that the request names itself. */
  readonly named: ReadonlySet<string>
  /** How a plugin has chosen the model; null where none has. */
  readonly route: { readonly id: string; readonly reason: string } | null
  /** Most calls that the operator allows. */
  readonly ceiling: number
}

/** Turns in a row without a call that is run, before a loop is ended; and the last turn, with tools off and without. */
const TURNS_PER_STEP = 3
const LAST_TURNS = 2

export function explainLoop({ request, tooling, plan, tools, named, route, ceiling }: ExplainedRequest) {
  const turn = reservationFor('chat', request, plan.endpoints)
  const steps = new StopConditions(tooling, NOTHING_SPENT).mostSteps(ceiling)
  const turns = tools.offered.length === 0 ? 1 : Math.min(ceiling, TURNS_PER_STEP * steps) + LAST_TURNS
  const calls = tools.offered.length === 0 ? 0 : ceiling
  const dearest = Math.max(0, ...[...tools.byName.values()].map(feeOf))
  return {
    tools: explainTools(tools),
    plugins: tooling.plugins.map(({ id }) => ({ id, unasked: !named.has(id) })),
    route,
    cost: explainCost(tooling, turn, { turns, calls, fees: calls * dearest }),
  }
}

const NOTHING_SPENT = { cost: 0, tokens: 0 }

function explainTools({ byName }: LoopTools) {
  const explained = new Map<
    RequestedTool,
    { type: string; name: string; backend: string; functions: string[]; fee: number }
  >()
  for (const [called, ready] of byName) {
    const { tool } = ready.offered
    const fee = nanosToDollars(feeOf(ready))
    const known = explained.get(tool)
    if (known === undefined) {
      const { type, name } = tool
      explained.set(tool, { type, name, backend: ready.prepared.backend, functions: [called], fee })
    } else {
      known.functions.push(called)
      known.fee = Math.max(known.fee, fee)
    }
  }
  return [...explained.values()]
}

/** Of a call without arguments: few tools look at them for their fee. */
function feeOf({ prepared, offered }: ReadyFunction): number {
  return prepared.fee({ id: '', function: offered.function.name, arguments: {} })
}

interface Bounds {
  readonly turns: number
  readonly calls: number
  /** Nano-dollars. */
  readonly fees: number
}

/** In dollars. */
function explainCost(tooling: Tooling, turn: Reservation, { turns, calls, fees }: Bounds) {
  const limit = StopConditions.costLimit(tooling)
  const aside = turn.cost * turns + fees
  return {
    /** What is set aside for the first turn; later ones are asked more. */
    turn: nanosToDollars(turn.cost),
    most_turns: turns,
    most_calls: calls,
    most_fees: nanosToDollars(fees),
    /** If every turn were like the first, and every call the dearest. */
    set_aside: nanosToDollars(aside),
    /** As the request has it; a turn, its pending fees and the last turn may pass it. */
    max_cost: limit === Number.POSITIVE_INFINITY ? null : nanosToDollars(limit),
    /** 0 where nothing costs anything; null where nothing bounds it: each turn is asked what tools gave before. */
    most: aside === 0 ? 0 : turns === 1 && fees === 0 ? nanosToDollars(turn.cost) : null,
  }
}
