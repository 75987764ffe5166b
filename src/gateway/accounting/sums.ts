/** What several rows have consumed together. */
import { NO_USAGE, type Usage, type UsageDetails } from '../formats/usage.js'
import type { Consumption } from '../run/generation.js'

export const NOTHING_CONSUMED: Consumption = Object.freeze({
  usage: NO_USAGE,
  cost: Object.freeze({ total: 0, prompt: 0, completion: 0, tools: 0 }),
  estimated: false,
  guessed: false,
})

export function addConsumption(sum: Consumption, more: Consumption): Consumption {
  const { usage, cost } = sum
  return {
    usage: addUsage(usage, more.usage),
    cost: {
      total: cost.total + more.cost.total,
      prompt: cost.prompt + more.cost.prompt,
      completion: cost.completion + more.cost.completion,
      tools: cost.tools + more.cost.tools,
      fees: (cost.fees ?? 0) + (more.cost.fees ?? 0),
      ...((cost.byok ?? more.cost.byok) !== undefined && {
        byok: (cost.byok ?? 0) + (more.cost.byok ?? 0),
      }),
    },
    estimated: sum.estimated || more.estimated,
    guessed: sum.guessed || more.guessed,
  }
}

function addUsage(sum: Usage, more: Usage): Usage {
  const { details: _, ...counted } = more
  const total: Record<string, number> = {}
  const { details: __, ...before } = sum
  for (const kinds of [before, counted] as readonly Readonly<Record<string, number>>[])
    for (const kind in kinds) total[kind] = (total[kind] ?? 0) + kinds[kind]!
  const details = addDetails(sum.details, more.details)
  return { ...NO_USAGE, ...total, ...(details !== undefined && { details }) }
}

function addDetails(sum: UsageDetails | undefined, more: UsageDetails | undefined): UsageDetails | undefined {
  if (sum === undefined || more === undefined) return sum ?? more
  const total: Record<string, number> = { ...sum }
  for (const [kind, amount] of Object.entries(more)) total[kind] = (total[kind] ?? 0) + amount
  return total
}
