/** A provider that does what the test tells it, when the test tells it. */
import { Fault, type FaultKind } from '../../../src/base/fault.js'
import { ANONYMOUS, type Principal } from '../../../src/base/principal.js'
import type {
  Catalog,
  CatalogProvider,
  Model,
  ModelEndpoint,
  Prices,
} from '../../../src/gateway/catalog/catalog.js'
import type { ChatEvent, Completion, Usage } from '../../../src/gateway/formats/canonical.js'
import type {
  CallHandle,
  CompletionReceiver,
  ConnectionWaits,
  FailureClass,
  Provider,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../../../src/gateway/providers/port/provider.js'
import type { Attempt } from '../../../src/gateway/run/generation.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'

/** One call the gateway made, with the controls of its answer. */
export interface ScriptedCall {
  readonly call: ProviderCall
  readonly stream: StreamReceiver | null
  readonly complete: CompletionReceiver | null
  /** What the gateway did to the flow, in order. */
  readonly told: ('pause' | 'resume' | 'cancel')[]
}

export class ScriptedProvider implements Provider {
  readonly calls: ScriptedCall[] = []
  /** Of all calls; null as long as they are not sent. */
  waits: ConnectionWaits | null = null

  stream(call: ProviderCall, receiver: StreamReceiver): CallHandle {
    return this.#add({ call, stream: receiver, complete: null, told: [] })
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): CallHandle {
    return this.#add({ call, stream: null, complete: receiver, told: [] })
  }

  #add(scripted: ScriptedCall): CallHandle {
    this.calls.push(scripted)
    return {
      pause: () => void scripted.told.push('pause'),
      resume: () => void scripted.told.push('resume'),
      cancel: () => void scripted.told.push('cancel'),
      waits: () => this.waits,
    }
  }

  /** The latest call. */
  get last(): ScriptedCall {
    return this.calls.at(-1)!
  }
}

export const PRICES: Prices = {
  prompt: 1_000_000_000,
  completion: 2_000_000_000,
  inputCacheRead: null,
  inputCacheWrite: null,
  internalReasoning: null,
  inputAudio: null,
  outputAudio: null,
  audioSecond: null,
  inputCharacter: null,
  inputCacheWrite1h: null,
  inputImageToken: null,
  outputImageToken: null,
  inputVideoToken: null,
  request: 0,
  inputImage: 0,
  outputImage: 0,
  webSearch: 0,
  tiers: null,
  version: '00000000',
}

export function usage(prompt: number, completion: number, more: Partial<Usage> = {}): Usage {
  return {
    prompt,
    completion,
    cached: 0,
    cacheWrite: 0,
    promptAudio: 0,
    reasoning: 0,
    completionAudio: 0,
    ...more,
  }
}

export function text(content: string, choice = 0): ChatEvent & { readonly type: 'delta' } {
  return { type: 'delta', choice, delta: { content } }
}

export function completion(content: string, figures: Usage | null = usage(3, 4)): Completion {
  return {
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        finishReason: 'stop',
        native: 'stop',
        logprobs: null,
      },
    ],
    usage: figures,
    serviceTier: null,
  }
}

/** An attempt of no length. */
export function attempt(endpoint: ModelEndpoint, status: number): Attempt {
  return { endpoint, status, startedAt: 0, endedAt: 0, waits: null, lost: null }
}

export function failure(kind: FaultKind, failureClass: FailureClass, status = 500): ProviderFailure {
  return { fault: new Fault(kind), class: failureClass, status }
}

interface EndpointWishes extends Partial<Omit<ModelEndpoint, 'provider' | 'model'>> {
  readonly slug: string
}

/** A catalogue of one provider per slug, all scripted by the same provider unless the test brings others. */
export function catalogOf(
  models: Readonly<Record<string, readonly EndpointWishes[]>>,
  providerOf: (slug: string) => Provider,
): Catalog {
  const providers = new Map<string, CatalogProvider>()
  const entryOf = (slug: string): CatalogProvider => {
    const known = providers.get(slug)
    if (known !== undefined) return known
    const provider = providerOf(slug)
    const entry: CatalogProvider = {
      slug,
      name: slug.toUpperCase(),
      kind: 'openai',
      privacyPolicyUrl: null,
      termsOfServiceUrl: null,
      statusPageUrl: null,
      provider,
      extraMembers: new Set(),
      messages: messagesOverChat(provider),
    }
    providers.set(slug, entry)
    return entry
  }
  const built = Object.entries(models).map(([id, wishes]) => modelOf(id, wishes, entryOf))
  const model = (id: string): Model | null => built.find((each) => each.id === id) ?? null
  return {
    model,
    listed: model,
    models: built,
    list: built,
    providers: [...providers.values()],
    smallestContext: Number.POSITIVE_INFINITY,
    version: 'c0ffee',
  }
}

function modelOf(id: string, wishes: readonly EndpointWishes[], entryOf: (slug: string) => CatalogProvider) {
  const endpoints: ModelEndpoint[] = []
  const model: Model = {
    id,
    name: id,
    description: '',
    created: 0,
    contextLength: null,
    inputModalities: ['text'],
    outputModalities: ['text'],
    categories: [],
    entryId: id,
    supportedVoices: null,
    knowledgeCutoff: null,
    huggingFaceId: null,
    distillable: false,
    quality: null,
    tier: null,
    endpoints,
  }
  for (const { slug, ...more } of wishes) {
    endpoints.push({
      key: `${id} ${slug}`,
      model,
      provider: entryOf(slug),
      upstreamModel: id,
      prices: PRICES,
      pricing: {},
      contextLength: null,
      maxCompletionTokens: null,
      quantization: null,
      region: null,
      supportedParameters: new Set(['tools', 'tool_choice', 'response_format', 'logprobs']),
      collectsData: false,
      zeroDataRetention: false,
      hasBreaker: true,
      serviceTiers: null,
      simulation: null,
      ...more,
    })
  }
  return model
}

export const CALLER: Principal = {
  ...ANONYMOUS,
  keyHash: 'a'.repeat(64),
  organizationId: '01900000-0000-7000-8000-000000000001',
  workspaceId: '01900000-0000-7000-8000-000000000002',
}
