/** Which models exist and who serves them: the configuration, resolved once into the objects calls work with. */

import type { MessagesApi, Provider } from '../providers/port/provider.js'
import type { CallerKey } from './caller-key.js'
import { isPrefixEntry, restBehind } from './configuration/models.js'
import { withCallerKey } from './configuration/providers.js'
import { aliasTarget } from './configuration/references.js'
import type { GatewayConfig, ModelConfig, ProviderConfig } from './configuration.js'

export type { PriceList, Prices } from './configuration/prices.js'

type EndpointConfig = ModelConfig['endpoints'][number]

/** One provider serving one model. */
export interface ModelEndpoint
  extends Omit<EndpointConfig, 'provider' | 'supportedParameters' | 'serviceTiers' | 'quantization'> {
  /** The same in every process and over reloads, as long as model, provider and upstream name are. */
  readonly key: string
  readonly model: Model
  readonly provider: CatalogProvider
  readonly quantization: string | null
  /** Parameters of the request the endpoint supports. */
  readonly supportedParameters: ReadonlySet<string>
  /** The provider keeps prompts for training (`data_collection`). */
  readonly collectsData: boolean
  readonly zeroDataRetention: boolean
  /** Calls stay away from it while it keeps failing. */
  readonly hasBreaker: boolean
  /** Service tiers that it has; null when that is not known. */
  readonly serviceTiers: ReadonlySet<string> | null
  /** Absent where it goes under the operator's credential. */
  readonly own?: OwnAccount
}

export interface Model extends Omit<ModelConfig, 'endpoints' | 'inputModalities' | 'outputModalities'> {
  readonly inputModalities: readonly string[]
  readonly outputModalities: readonly string[]
  readonly endpoints: readonly ModelEndpoint[]
  /** Id of the entry it falls under (`openai/*`), else its own. Names figures, which must not grow with what callers write. */
  readonly entryId: string
}

/** What the list of models shows: a model, a prefix, or a further name of a model. */
export interface ListedModel extends Model {
  /** The model that a further name stands for. */
  readonly aliasOf?: Model
}

export interface CatalogProvider
  extends Readonly<
    Pick<ProviderConfig, 'name' | 'kind' | 'privacyPolicyUrl' | 'termsOfServiceUrl' | 'statusPageUrl'>
  > {
  /** Short name in the configuration and in `provider.order`. */
  readonly slug: string
  readonly provider: Provider
  /** Members of a request that nobody here knows and that go to it as they are; `*` is every name. */
  readonly extraMembers: ReadonlySet<string>
  /** The provider's own messages format, or a translation to its chat. */
  readonly messages: MessagesApi
  /** Its endpoints under keys of callers; absent where it takes none. */
  readonly callerKeys?: CallerKeyEndpoints
}

/** Of an endpoint that goes on a caller's account. */
interface OwnAccount {
  readonly keyId: string
  /** The endpoint under the operator's credential. */
  readonly base: ModelEndpoint
}

/** Frozen. A reload makes a new one; calls under way keep the one they began with. */
export interface Catalog {
  /** By its id, by a further name, or by the longest prefix of the id that has an entry. */
  model(id: string): Model | null
  /** As `model`, under the name that was asked for. */
  listed(id: string): ListedModel | null
  /** By id; prefixes are among them, further names are not. */
  readonly models: readonly Model[]
  /** By id, with the further names. */
  readonly list: readonly ListedModel[]
  /** By slug. */
  readonly providers: readonly CatalogProvider[]
  /** Tokens that the model with the smallest context takes; Infinity where none says. */
  readonly smallestContext: number
  /** Of the configuration. */
  readonly version: string
}

/** Tokens that a model takes, its prompt and its answer together; null where neither it nor its first endpoint says. */
function contextOf({ contextLength, endpoints }: Model): number | null {
  return contextLength ?? endpoints[0]?.contextLength ?? null
}

/** What a catalogue is built with; handed in, because it knows no implementation. */
interface CatalogDependencies {
  /** Asked once per configured provider. */
  readonly createProvider: (slug: string, entry: ProviderConfig) => Provider
  /** Messages by way of the chat of a provider that does not speak them itself. */
  readonly messagesOver: (provider: Provider) => MessagesApi
}

/**
 * Builds a catalogue. Throws when an endpoint names a provider that the configuration lacks: the reader of the
 * configuration lets none through.
 */
export function buildCatalog(
  config: GatewayConfig,
  { createProvider, messagesOver }: CatalogDependencies,
): Catalog {
  const catalogProvider = (slug: string, entry: ProviderConfig): CatalogProvider => {
    const { name, kind, privacyPolicyUrl, termsOfServiceUrl, statusPageUrl } = entry
    const provider = createProvider(slug, entry)
    const messages = provider.messages ?? messagesOver(provider)
    const terms = { name, kind, privacyPolicyUrl, termsOfServiceUrl, statusPageUrl }
    const extraMembers = new Set(entry.extraMembers)
    return { slug, ...terms, provider, messages, extraMembers }
  }
  const providers = Object.entries(config.providers)
    .map(([slug, entry]): CatalogProvider => {
      const provider = catalogProvider(slug, entry)
      if (!entry.callerKeys) return Object.freeze(provider)
      const callerKeys = new CallerKeyEndpoints((secret) =>
        Object.freeze(catalogProvider(slug, withCallerKey(entry, secret))),
      )
      return Object.freeze({ ...provider, callerKeys })
    })
    .sort((one, other) => compareCodeUnits(one.slug, other.slug))
  const bySlug = new Map(providers.map((entry) => [entry.slug, entry]))
  const models = config.models
    .map((model) => toCatalogModel(model, config, bySlug))
    .sort((one, other) => compareCodeUnits(one.id, other.id))
  const find = modelFinder(models, config.aliases)
  const further = Object.keys(config.aliases).map((alias): ListedModel => {
    const aliasOf = find(alias)
    if (aliasOf === null) throw new TypeError(`the alias ${alias} names no model`)
    return Object.freeze({ ...aliasOf, id: alias, aliasOf })
  })
  const list = [...models, ...further].sort((one, other) => compareCodeUnits(one.id, other.id))
  const listed = new Map(list.map((model) => [model.id, model]))
  return Object.freeze({
    model: find,
    listed: (id: string) => listed.get(id) ?? find(id),
    models: Object.freeze(models),
    list: Object.freeze(list),
    providers: Object.freeze(providers),
    smallestContext: Math.min(...models.map((model) => contextOf(model) ?? Number.POSITIVE_INFINITY)),
    version: config.version,
  })
}

/** Models under prefixes that are kept; the one that was made first goes first. */
const MOST_KEPT = 1_000

function modelFinder(
  models: readonly Model[],
  aliases: GatewayConfig['aliases'],
): (id: string) => Model | null {
  const byId = new Map(models.filter(({ id }) => !isPrefixEntry(id)).map((model) => [model.id, model]))
  const prefixes = models
    .filter(({ id }) => isPrefixEntry(id))
    .sort((one, other) => other.id.length - one.id.length)
  const made = new Map<string, Model>()
  const find = (id: string): Model | null => {
    const known = byId.get(id) ?? made.get(id)
    if (known !== undefined) return known
    for (const entry of prefixes) {
      const rest = restBehind(entry.id, id)
      if (rest === null) continue
      const model = modelUnderPrefix(entry, id, rest)
      if (made.size >= MOST_KEPT) made.delete(made.keys().next().value!)
      made.set(id, model)
      return model
    }
    return null
  }
  for (const alias of Object.keys(aliases)) {
    const target = find(String(aliasTarget(aliases, alias)))
    if (target !== null) byId.set(alias, target)
  }
  return find
}

/** What is known of its endpoints' health is known of the entry, so it stays as little as the configuration is. */
function modelUnderPrefix(entry: Model, id: string, rest: string): Model {
  const endpoints: ModelEndpoint[] = []
  const model: Model = Object.freeze({ ...entry, id, name: id, endpoints })
  for (const endpoint of entry.endpoints) {
    const upstreamModel = endpoint.upstreamModel.replace('*', () => rest)
    endpoints.push(Object.freeze({ ...endpoint, model, upstreamModel }))
  }
  Object.freeze(endpoints)
  return model
}

/** By code unit, which is the same everywhere. */
function compareCodeUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function toCatalogModel(
  config: ModelConfig,
  gateway: GatewayConfig,
  bySlug: ReadonlyMap<string, CatalogProvider>,
): Model {
  const endpoints: ModelEndpoint[] = []
  const { endpoints: configured, ...rest } = config
  const model: Model = Object.freeze({ ...rest, endpoints, entryId: config.id })
  const taken = new Map<string, number>()
  for (const { provider: slug, supportedParameters, serviceTiers, ...endpoint } of configured) {
    const provider = bySlug.get(slug)
    const terms = gateway.providers[slug]
    if (provider === undefined || terms === undefined) {
      throw new TypeError(`model ${config.id} names provider ${slug}, which does not exist`)
    }
    endpoints.push(
      Object.freeze({
        ...endpoint,
        key: uniqueEndpointKey(config.id, slug, endpoint.upstreamModel, taken),
        model,
        provider,
        supportedParameters: new Set(supportedParameters),
        serviceTiers: serviceTiers === null ? null : new Set(serviceTiers),
        hasBreaker: terms.hasBreaker,
        collectsData: terms.collectsData,
        zeroDataRetention: terms.zeroDataRetention,
      }),
    )
  }
  Object.freeze(endpoints)
  return model
}

/** Endpoints that are alike in all of it are told apart by their order. */
function uniqueEndpointKey(
  model: string,
  slug: string,
  upstreamModel: string,
  taken: Map<string, number>,
): string {
  const name = `${model} ${slug} ${upstreamModel}`
  const before = taken.get(name) ?? 0
  taken.set(name, before + 1)
  return before === 0 ? name : `${name} ${before + 1}`
}

// ── Keys of callers ──────────────────────────────────────────────────────────

interface KnownProvider {
  readonly secret: string
  readonly provider: CatalogProvider
  readonly endpoints: WeakMap<ModelEndpoint, ModelEndpoint>
}

/** Keys of one provider that are kept made up; the one that was made up first goes first. */
const MOST_KEYS_KEPT = 500

/**
 * Makes up a provider once more for each key: what it sends, hides in errors and remembers is then that of one
 * credential. Connections are shared with the operator's calls: they carry no credential, each request does.
 */
export class CallerKeyEndpoints {
  readonly #create: (secret: string) => CatalogProvider
  readonly #known = new Map<string, KnownProvider>()

  constructor(create: (secret: string) => CatalogProvider) {
    this.#create = create
  }

  /** What the endpoint under that key is known by, without making it up. */
  identityUnder(base: ModelEndpoint, { id }: CallerKey): Pick<ModelEndpoint, 'key'> & { own: OwnAccount } {
    return { key: `${base.key} under ${id}`, own: Object.freeze({ keyId: id, base }) }
  }

  /** The endpoint under that key; the same object as last time while the key and the endpoint are the same. */
  endpointUnder(base: ModelEndpoint, key: CallerKey): ModelEndpoint {
    const { provider, endpoints } = this.#providerOf(key.id, key.secret)
    let endpoint = endpoints.get(base)
    if (endpoint === undefined) {
      endpoint = Object.freeze({ ...base, ...this.identityUnder(base, key), provider })
      endpoints.set(base, endpoint)
    }
    return endpoint
  }

  /** The provider itself under that key. */
  providerUnder({ id, secret }: CallerKey): CatalogProvider {
    return this.#providerOf(id, secret).provider
  }

  #providerOf(id: string, secret: string): KnownProvider {
    const before = this.#known.get(id)
    if (before?.secret === secret) return before
    const known = { secret, provider: this.#create(secret), endpoints: new WeakMap() }
    this.#known.delete(id)
    this.#known.set(id, known)
    if (this.#known.size > MOST_KEYS_KEPT) this.#known.delete(this.#known.keys().next().value!)
    return known
  }
}
