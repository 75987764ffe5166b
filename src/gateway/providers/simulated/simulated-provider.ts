import type { ModelEndpoint } from '../../catalog.js'
import type {
  CompletionReceiver,
  Flow,
  Provider,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../provider.js'
import type { Behaviour } from './behaviour.js'
import { type CompiledBehaviour, compileBehaviour } from './compiled-behaviour.js'
import { CompletionRun } from './completion-run.js'
import { planAnswer } from './plan-answer.js'
import { requestRefused } from './provider-failures.js'
import { type Part, RefusedRun, type Stage } from './run.js'
import { Script } from './script.js'
import { parseSimulate } from './simulate-header.js'
import { StreamRun } from './stream-run.js'
import type { TickWheel } from './tick-wheel.js'
import { courseOf } from './trouble.js'

export interface SimulatedProviderOptions {
  /** Everything made up follows from it and from the request. */
  readonly seed: number
  /** Whether a request may choose behaviour and faults by X-Service-Simulate. */
  readonly allowRequestFaults: boolean
  /** Of the worker, shared by all its simulated providers. */
  readonly wheel: TickWheel
}

export interface SimulatedProvider extends Provider {
  /** Calls under way; zero when every one has ended, failed or been cancelled. */
  active(): number
}

/** What is kept for an endpoint as long as the catalogue holds it. */
interface EndpointState {
  readonly behaviour: CompiledBehaviour
  /** Calls so far; a flap alternates by it. */
  calls: number
}

/**
 * A provider that makes its answers up (contract/decisions 29: an equal request gets an equal answer) and fails on
 * request. It opens no socket and keeps no state but counters; failures look exactly as a real provider's would.
 */
export function simulatedProvider(options: SimulatedProviderOptions): SimulatedProvider {
  return new MakeBelieve(options)
}

class MakeBelieve implements SimulatedProvider {
  readonly #options: SimulatedProviderOptions
  readonly #stage: Stage
  readonly #endpoints = new WeakMap<ModelEndpoint, EndpointState>()

  constructor(options: SimulatedProviderOptions) {
    this.#options = options
    this.#stage = { wheel: options.wheel, active: 0 }
  }

  active(): number {
    return this.#stage.active
  }

  stream(call: ProviderCall, receiver: StreamReceiver): Flow {
    const part = this.#prepare(call)
    if ('fault' in part) return new RefusedRun(this.#stage, part, receiver)
    return new StreamRun(this.#stage, part, receiver)
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): Flow {
    const part = this.#prepare(call)
    if ('fault' in part) return new RefusedRun(this.#stage, part, receiver)
    return new CompletionRun(this.#stage, part, receiver)
  }

  #prepare(call: ProviderCall): Part | ProviderFailure {
    const state = this.#stateOf(call.endpoint)
    const providerName = call.endpoint.provider.name
    const behaviour = call.simulate === '' ? state.behaviour : this.#overlaid(call, state.behaviour)
    if (typeof behaviour === 'string') return requestRefused(behaviour, providerName)
    const script = this.#plan(call, behaviour)
    if (!(script instanceof Script)) return script
    const course = courseOf(behaviour.fault, script.answer, state.calls++, providerName)
    return { call, script, course, behaviour }
  }

  /** Schemas and tools come from callers; nested a hundred thousand deep they end the stack, not the worker. */
  #plan(call: ProviderCall, behaviour: CompiledBehaviour): Script | ProviderFailure {
    try {
      return planAnswer(call, behaviour, this.#options.seed)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return requestRefused('The request is nested too deeply for this model.', call.endpoint.provider.name)
    }
  }

  #stateOf(endpoint: ModelEndpoint): EndpointState {
    const known = this.#endpoints.get(endpoint)
    if (known !== undefined) return known
    // The catalogue has validated it by `behaviourSchema`.
    const behaviour = compileBehaviour((endpoint.simulation ?? {}) as Behaviour)
    const state = { behaviour, calls: 0 }
    this.#endpoints.set(endpoint, state)
    return state
  }

  /** The behaviour with what the request asks for on top; a sentence when it may not, or asks wrongly. */
  #overlaid(call: ProviderCall, base: CompiledBehaviour): CompiledBehaviour | string {
    if (!this.#options.allowRequestFaults) {
      return "X-Service-Simulate is not allowed by this server's configuration"
    }
    const asked = parseSimulate(call.simulate)
    if ('wrong' in asked) return asked.wrong
    const own = compileBehaviour(asked.behaviour)
    const { first_token_ms, gap_ms, tokens, reasoning_tokens } = asked.behaviour
    return {
      firstTokenMs: first_token_ms === undefined ? base.firstTokenMs : own.firstTokenMs,
      gapMs: gap_ms === undefined ? base.gapMs : own.gapMs,
      tokens: tokens === undefined ? base.tokens : own.tokens,
      reasoningTokens: reasoning_tokens === undefined ? base.reasoningTokens : own.reasoningTokens,
      reasonsAlways: reasoning_tokens === undefined ? base.reasonsAlways : true,
      fault: own.fault ?? base.fault,
      seed: own.seed ?? base.seed,
    }
  }
}
