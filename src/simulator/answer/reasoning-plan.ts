import type { ChatRequest, ReasoningEffort } from '../../gateway/formats/canonical.js'
import type { CompiledBehaviour } from '../compiled-behaviour.js'
import type { SeededRandom } from '../random.js'

/** How effort scales the tokens of reasoning that a model spends by itself. */
const EFFORT_FACTOR: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 0.25,
  low: 0.5,
  medium: 1,
  high: 2,
  xhigh: 3,
  max: 4,
}

interface ReasoningPlan {
  readonly tokens: number
  readonly shown: boolean
}

const NO_REASONING: ReasoningPlan = { tokens: 0, shown: false }

/**
 * How much the model reasons, and whether it tells. `update` is the effort that a system message sets; it comes
 * later than the request's own and wins.
 */
export function planReasoning(
  request: ChatRequest,
  update: ReasoningEffort | null,
  behaviour: CompiledBehaviour,
  random: SeededRandom,
): ReasoningPlan {
  if (behaviour.reasoningTokens === null) return NO_REASONING
  const { reasoning } = request
  const effort = update ?? reasoning?.effort ?? request.reasoning_effort ?? null
  const most = reasoning?.max_tokens ?? null
  if (effort === 'none' || reasoning?.enabled === false) return NO_REASONING
  const asked = effort !== null || most !== null || reasoning?.enabled === true
  if (!asked && !behaviour.reasonsAlways) return NO_REASONING
  const drawn = behaviour.reasoningTokens.draw(random) * EFFORT_FACTOR[effort ?? 'medium']
  const tokens = Math.min(Math.round(drawn), most ?? Number.POSITIVE_INFINITY)
  return { tokens, shown: tokens > 0 && reasoning?.exclude !== true && request.include_reasoning !== false }
}
