import type { Behaviour, SimulatedFault } from './behaviour.js'
import { compileDistribution, constantSampler, type DistributionSampler } from './distribution.js'

/** A behaviour made ready for calls. */
export interface CompiledBehaviour {
  readonly firstTokenMs: DistributionSampler
  readonly gapMs: DistributionSampler
  /** Null takes the length from the request. */
  readonly tokens: DistributionSampler | null
  /** Null for a model that cannot reason. */
  readonly reasoningTokens: DistributionSampler | null
  readonly reasonsAlways: boolean
  readonly fault: SimulatedFault | null
  /** Null takes the seed of the provider. */
  readonly seed: number | null
  /** Of an answer in the messages format; null for the one that fits what it says. */
  readonly stopReason: NonNullable<Behaviour['stop_reason']> | null
  /** Whether an answer in the messages format keeps its thinking unreadable. */
  readonly redacts: boolean
  /** Whether a file of what the user sent last comes with the answer. */
  readonly makesFile: boolean
}

const AT_ONCE = constantSampler(0)

export function compileBehaviour(behaviour: Behaviour): CompiledBehaviour {
  const { first_token_ms, gap_ms, tokens, reasoning_tokens, reasons, fault, seed, stop_reason } = behaviour
  return {
    firstTokenMs: first_token_ms === undefined ? AT_ONCE : compileDistribution(first_token_ms),
    gapMs: gap_ms === undefined ? AT_ONCE : compileDistribution(gap_ms),
    tokens: tokens === undefined || tokens === 'request' ? null : compileDistribution(tokens),
    reasoningTokens: reasoning_tokens === undefined ? null : compileDistribution(reasoning_tokens),
    reasonsAlways: reasons !== 'asked',
    fault: fault ?? null,
    seed: seed ?? null,
    stopReason: stop_reason ?? null,
    redacts: behaviour.thinking === 'redacted',
    makesFile: behaviour.makes_file === true,
  }
}
