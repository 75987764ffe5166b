/** One inference on its way through the gateway: who asked for what, what was tried, what came of it. */
import type { Principal } from '../../base/principal.js'
import type { CallerAccount } from '../catalog/caller-key.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type {
  AnswerFinish,
  ChatRequest,
  InferenceOperation,
  RoutedRequest,
  Usage,
} from '../formats/canonical.js'
import type { PipelineEntry } from '../plugins/port/plugin.js'
import type { CallCost } from '../pricing/price.js'
import type { ConnectionWaits } from '../providers/port/provider.js'
import type { Plan } from '../routing/plan.js'

/** One call of one upstream endpoint. */
export interface Attempt {
  readonly endpoint: ModelEndpoint
  /** 200, the status of the refusal, or 0 when there was none. */
  status: number
  /** `performance.now()` */
  readonly startedAt: number
  endedAt: number
  /** What it waited for before its request was sent; null where the provider is no server. */
  readonly waits: ConnectionWaits | null
  /**
   * How it ended without an answer, in a word: the kind of its fault, `aborted`, or `overtaken` by the one that was asked
   * beside it. Absent when it answered.
   */
  error?: string
  /** What its provider may bill although nothing of it was answered; null where that is nothing. */
  readonly lost: LostCost | null
}

/** An attempt that may cost something although nothing of it was answered. */
export type LostAttempt = Attempt & { readonly lost: LostCost }

/** What an attempt that answered nothing may cost the operator. The caller never pays it (contract/decisions 41). */
export interface LostCost {
  /** Nano-dollars. */
  readonly cost: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** The figures are ours, not the provider's. */
  readonly estimated: boolean
}

/** What an answer consumed. */
export interface Consumption {
  readonly usage: Usage
  readonly cost: CallCost
  /** The provider sent no figures, so ours were counted with a tokenizer. */
  readonly estimated: boolean
  /** Nor was there time to count: they follow from the lengths of the texts. */
  readonly guessed: boolean
}

/** What a loop of server tools has come to, for the answer of which it is the whole (contract/tools 2). */
export interface LoopRecord {
  /** Calls of server tools that models asked for, and those that were run. */
  requested: number
  executed: number
  /** Stages that changed something, in order. */
  readonly pipeline: PipelineEntry[]
  /** How a plugin has chosen the model, in a word; null where none has. */
  strategy: string | null
  /** The model that the caller named, where a plugin has chosen one and the caller named any. */
  readonly asked?: string
}

/** A turn beneath a generation that the caller sees. */
export interface ParentGeneration {
  /** Of the call, never of a nested run. */
  readonly root: Generation<RoutedRequest>
  /** What runs: `turn`, or the word of a tool for what it runs beneath itself: `advisor`, `judge`. */
  readonly purpose: string
}

/** What a caller says of itself in headers; `''` where it says nothing. */
export interface CallingClient {
  readonly agent: string
  readonly referer: string
  readonly title: string
}

const NO_CLIENT: CallingClient = Object.freeze({ agent: '', referer: '', title: '' })

/** How an inference arrived. */
interface InferenceArrival {
  /** What kind of call it is. */
  readonly operation: InferenceOperation
  /** Text of the header that asks the simulated provider for a fault; `''` when absent. */
  readonly simulate: string
  /** The caller's `traceparent` header; `''` when absent. */
  readonly traceparent: string
  readonly client: CallingClient
  /** `performance.now()` when planning began. */
  readonly decodedAt: number
  /** Null for what the caller sees. */
  readonly parent: ParentGeneration | null
  /** What the caller's organization had when it was planned; undefined where that was not asked. */
  readonly account: CallerAccount | undefined
}

export class Generation<R extends RoutedRequest = ChatRequest> implements InferenceArrival {
  /** Unix seconds, whole. */
  readonly created: number
  readonly operation: InferenceOperation
  readonly simulate: string
  readonly traceparent: string
  readonly client: CallingClient
  readonly decodedAt: number
  readonly parent: ParentGeneration | null
  readonly account: CallerAccount | undefined
  /** Where server tools or plugins have a part in it. */
  loop: LoopRecord | null = null
  /** `performance.now()` when planning was done, and when the call was admitted. */
  plannedAt = 0
  admittedAt = 0
  /** `performance.now()` when the latest attempt began. */
  attemptedAt = 0
  readonly attempts: Attempt[] = []
  /** Members of the request that were set aside because they are not what they claim to be. */
  forgedMembers: readonly string[] = []
  /** Fields of the request that the format of the endpoint under way cannot say, and that were left out. */
  droppedFields: string[] = []
  /** It asks for a second endpoint beside a late one, which the configuration or the request itself does not allow. */
  isHedgeIdle = false
  /** The endpoint that answers, once one does. */
  served: ModelEndpoint | null = null
  consumption: Consumption | null = null
  /** Why the answer ended; null as long as it has not. */
  finish: AnswerFinish | null = null
  /** The tier in which the provider says it has answered. */
  serviceTier: string | null = null
  firstEventAt = 0
  /** The answer has failed after it had begun. */
  failed = false

  /** @param startedAt `performance.now()` */
  constructor(
    readonly id: string,
    readonly request: R,
    readonly caller: Principal,
    public plan: Plan,
    createdMs: number,
    readonly startedAt: number,
    arrival: { readonly [K in keyof InferenceArrival]?: InferenceArrival[K] | undefined } = {},
  ) {
    this.created = Math.floor(createdMs / 1000)
    this.operation = arrival.operation ?? 'chat'
    this.simulate = arrival.simulate ?? ''
    this.traceparent = arrival.traceparent ?? ''
    this.client = arrival.client ?? NO_CLIENT
    this.decodedAt = arrival.decodedAt ?? 0
    this.parent = arrival.parent ?? null
    this.account = arrival.account
  }

  /** The endpoint that serves has failed in the middle of its answer. */
  markBroken(status: number, error: string): void {
    this.failed = true
    const last = this.attempts.at(-1)
    if (last === undefined) return
    last.status = status
    last.error = error
  }

  /**
   * Leaves the operator's credentials out of the plan, where the caller cannot pay for them and has its own. False where
   * there would be nothing left, or nothing to leave out.
   */
  keepOwnAccounts(): boolean {
    const { endpoints } = this.plan
    const own = endpoints.filter((endpoint) => endpoint.own !== undefined)
    if (own.length === 0 || own.length === endpoints.length) return false
    this.plan = { ...this.plan, endpoints: own }
    return true
  }

  /** Whether it has gone on the caller's own account at a provider, in all or in part. */
  get isByok(): boolean {
    return this.served?.own !== undefined || this.consumption?.cost.byok !== undefined
  }

  /** The model that answers; before one does, the first one planned. */
  get model(): string {
    return (this.served ?? this.plan.endpoints[0]!).model.id
  }

  /** The entry of the catalogue it falls under, for figures. */
  get modelEntry(): string {
    return (this.served ?? this.plan.endpoints[0]!).model.entryId
  }

  /** Short name of the provider that answers. */
  get providerSlug(): string {
    return (this.served ?? this.plan.endpoints[0]!).provider.slug
  }

  /** Display name of the provider that answers. */
  get providerName(): string {
    return (this.served ?? this.plan.endpoints[0]!).provider.name
  }
}
