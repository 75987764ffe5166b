/** Puts the gateway of a worker together: upstream client, providers, catalogue, meter. */
import type { FetchFile } from '../base/file-fetch.js'
import { type CallLogLine, type CallSeverity, createCallLog } from '../base/log.js'
import type { Principal } from '../base/principal.js'
import { VERSION } from '../base/version.js'
import type { Accounting } from '../gateway/accounting/accounting.js'
import type { CallerAccount } from '../gateway/catalog/caller-key.js'
import { buildCatalog } from '../gateway/catalog/catalog.js'
import type { GatewayConfig, ProviderConfig } from '../gateway/catalog/configuration.js'
import { withKeptMedia } from '../gateway/files/kept-media.js'
import type { ChatRequest, RoutedRequest } from '../gateway/formats/canonical.js'
import { Gateway, type InferenceOutcome } from '../gateway/gateway.js'
import type { ToolRow, ToolSpending } from '../gateway/loop/ports.js'
import { anthropicProvider } from '../gateway/providers/anthropic/provider.js'
import { MediaRoom } from '../gateway/providers/http/media-room.js'
import { openAiProvider } from '../gateway/providers/openai/provider.js'
import type { SealedIds } from '../gateway/providers/openai/spoken-answers.js'
import type { ChatApi, Provider } from '../gateway/providers/port/provider.js'
import type { Generation } from '../gateway/run/generation.js'
import { ownTime } from '../gateway/run/server-timing.js'
import { toolLimits } from '../gateway/tools/configuration.js'
import { messagesOverChat } from '../gateway/translation/messages-over-chat.js'
import { gateway as dialect } from '../http/dialects/gateway.js'
import { ProviderKeyRing } from '../identity/provider-keys.js'
import { createSealer, type Sealer, sealingKeyOf } from '../identity/sealing-key.js'
import type { GeneratedFiles } from '../simulator/generated-file.js'
import { SimulatedProvider } from '../simulator/simulated-provider.js'
import { TimerWheel } from '../simulator/timer-wheel.js'
import type { Store } from '../store/store.js'
import { InferenceStats } from '../telemetry/counters/inference-stats.js'
import { ToolStats } from '../telemetry/counters/tool-stats.js'
import type { LiveTap } from '../telemetry/live/live-tap.js'
import { type InferenceTelemetry, startTelemetry } from '../telemetry/opentelemetry/telemetry.js'
import { createUpstreamClient } from '../upstream/client.js'
import type { UpstreamClient } from '../upstream/port.js'
import { audioServiceProvider } from './audio-services.js'
import { composeBash } from './bash.js'
import { pooledDocumentReader } from './document-reading.js'
import { composeLoops } from './loops.js'
import { composeMcp } from './mcp.js'
import { pooledTokenCounter } from './pool-tasks.js'
import type { RoutingParts } from './routing.js'
import type { WorkerContext } from './worker-context.js'
import { workspaceFiles } from './workspace-files.js'

const NO_KEYS: CallerAccount['keys'] = Object.freeze([])

export function composeInference(
  { config, worker, pool, clock, log, store, live }: WorkerContext & { readonly live: LiveTap },
  routing: RoutingParts,
  accounting: Accounting,
  fetchFile: FetchFile,
) {
  const calls = createCallLog(config.logCalls, config.logLevel, `worker-${worker}`)
  const onDefect = (err: unknown): void =>
    log.error({ err }, 'a defect at the end of an inference; it was settled')
  const upstream = createUpstreamClient({
    onDefect: (err) => log.error({ err }, 'a defect while a provider answered; the call was ended'),
  })
  const sealingKey = sealingKeyOf(config)
  const sealer = createSealer(sealingKey)
  const sealedIds = sealedSpokenIds(sealer)
  const ring = new ProviderKeyRing(store.providerKeys, sealer)
  const keysOf = (caller: Principal) => ring.keysOf(caller)
  // One read for both: of organizations without keys, which most are, no further one is made.
  const accountOf = (caller: Principal): CallerAccount => {
    const organization = store.accounts.organization(caller.organizationId)
    return { organization, keys: organization?.ownKeys === true ? keysOf(caller) : NO_KEYS }
  }
  const files = {
    filesOf: workspaceFiles(store),
    room: new MediaRoom(),
    maxBytes: config.limits.inferenceBodyBytes,
  }
  const parts = {
    createProvider: providerFactory({ upstream, store, sealedIds, fetchFile, ...files }),
    messagesOver: (chat: ChatApi) => messagesOverChat(withKeptMedia(chat, files)),
  }
  let settings = config.gateway
  let catalog = buildCatalog(settings, parts)
  let permissions = permissionMap(config.gateway)
  accounting.limitTools(toolLimits(config.gateway.tools))
  const stats = new InferenceStats()
  const toolStats = new ToolStats()
  let telemetry: InferenceTelemetry | null = null
  accounting.watchTools((root, row, spent) => {
    try {
      if (row.kind === 'tool') toolStats.record(row.name, { ...spent, ms: spent.durationMs })
      const severity = toolSeverity(spent)
      if (calls.isOn(severity)) calls.write(severity, toolLine(root, row, spent), 'server tool')
      telemetry?.recordTool(root, row, spent)
    } catch (error) {
      onDefect(error)
    }
  })
  const countTokens = pooledTokenCounter(pool)
  const deadlineMs = config.limits.inferenceDeadlineMs
  const gateway = new Gateway({
    catalog: () => catalog,
    countTokens,
    clock,
    health: routing.health,
    sessions: routing.sessions,
    retries: routing.retries,
    hedging: routing.hedging,
    random: routing.random,
    accountOf,
    deadlineMs,
    files,
    admit: (generation) => accounting.admit(generation),
    admitCount: (generation) => accounting.admitCount(generation),
    observe: (generation, outcome) => {
      const severity = callSeverity(outcome)
      if (calls.isOn(severity)) calls.write(severity, callLine(generation, outcome), 'inference')
      countInference(stats, generation, outcome)
      if (live.watchesOverhead && generation.parent === null) {
        const ms = ownTime(generation)
        if (ms !== null) live.recordOverhead(ms)
      }
      telemetry?.record(generation, outcome)
    },
    onDefect,
  })
  const mcp = composeMcp({ config, clock, log })
  const bash = composeBash({ config, clock, log, store })
  const loops = composeLoops({
    ...{ gateway, accounting, clock, store, countTokens, deadlineMs, sealingKey, onDefect },
    ...{ pool, upstream, fetchFile, pins: routing.pins, random: routing.random },
    documents: pooledDocumentReader(pool),
    maxFileBytes: files.maxBytes,
    catalog: () => catalog,
    settings: () => settings,
    toolsConfig: () => settings.tools,
    mcp: mcp.servers,
    sandboxed: bash.tools,
  })
  return {
    gateway,
    loops,
    upstream,
    /** The configuration of this moment. */
    settings: () => settings,
    /** The catalogue of this moment. */
    catalog: () => catalog,
    /** What callers have of keys with providers, in the order of trial. */
    keysOf,
    accountOf,
    providerKeys: {
      providerKeys: store.providerKeys,
      sealer,
      takers: () =>
        catalog.providers.flatMap(({ slug, callerKeys }) => (callerKeys === undefined ? [] : [slug])),
    },
    permissions: () => permissions,
    stats,
    toolStats,
    /** Before the first call. */
    start: async (): Promise<void> => {
      const { otlpEndpoint: endpoint } = config
      if (endpoint !== '') telemetry = await startTelemetry({ endpoint, version: VERSION, worker, log })
      await mcp.start()
    },
    close: async () => {
      await Promise.all([telemetry?.close(), mcp.close(), bash.close()])
    },
    /** Calls that begin from now on see the new one; calls under way keep what they began with. */
    configure: (renewed: GatewayConfig): void => {
      settings = renewed
      catalog = buildCatalog(renewed, parts)
      permissions = permissionMap(renewed)
      accounting.limitTools(toolLimits(renewed.tools))
      mcp.configure(renewed)
      bash.configure(renewed)
      const keys = catalog.models.flatMap(({ endpoints }) => endpoints.map(({ key }) => key))
      routing.configure(renewed.routing, new Set(keys))
    },
  }
}

interface ProviderParts {
  readonly upstream: UpstreamClient
  readonly store: Store
  readonly sealedIds: SealedIds
  readonly fetchFile: FetchFile
  /** Of the files that one call names by an address: as many as it could send along. */
  readonly maxBytes: number
  readonly room: MediaRoom
}

function providerFactory({
  upstream,
  store,
  sealedIds,
  fetchFile,
  maxBytes,
  room,
}: ProviderParts): (slug: string, entry: ProviderConfig) => Provider {
  const files = storeGeneratedFiles(store)
  const wheel = new TimerWheel()
  return (_slug, entry) => {
    if (entry.kind === 'simulated') {
      const { seed, allowRequestFaults } = entry
      return new SimulatedProvider({ seed, allowRequestFaults, wheel, files })
    }
    const options = { ...entry, limits: entry.connections, upstream, version: VERSION }
    if (entry.kind !== 'openai' && entry.kind !== 'anthropic')
      return audioServiceProvider(entry.kind, options)
    // No server of either format fetches sound.
    const kinds = new Set([...entry.inlineMedia, 'audio' as const])
    const media = { fetchFile, kinds, maxBytes, room }
    if (entry.kind === 'anthropic') return anthropicProvider({ ...options, media, keepFile: files.store })
    return openAiProvider({ ...options, media, sealedIds })
  }
}

function sealedSpokenIds(sealer: Sealer): SealedIds {
  const purpose = (owner: string): string => `spoken answer\n${owner}`
  return {
    seal: (id, owner) => `audio_${sealer.seal(Buffer.from(id), purpose(owner))}`,
    open: (sealed, owner) => sealer.open(sealed.replace(/^audio_/, ''), purpose(owner))?.toString() ?? null,
  }
}

function countInference(
  stats: InferenceStats,
  generation: Generation<RoutedRequest>,
  outcome: InferenceOutcome,
): void {
  const { consumption, startedAt, firstEventAt } = generation
  stats.record(generation.modelEntry, generation.providerSlug, outcome.kind, {
    ms: performance.now() - startedAt,
    firstMs: firstEventAt === 0 ? 0 : firstEventAt - startedAt,
    promptTokens: consumption?.usage.prompt ?? 0,
    completionTokens: consumption?.usage.completion ?? 0,
    costNanos: consumption?.cost.total ?? 0,
  })
  for (const { endpoint, lost } of generation.attempts)
    stats.recordAttempt(
      endpoint.model.entryId,
      endpoint.provider.slug,
      endpoint.own === undefined ? lost : null,
    )
}

function permissionMap({ permissions }: GatewayConfig): ReadonlyMap<string, 'key' | 'management'> {
  return new Map(Object.entries(permissions))
}

/** A provider that fails is worth a look, a caller's own mistake less, and what went well nothing (contract/decisions 57). */
function callSeverity(outcome: InferenceOutcome): CallSeverity {
  if (outcome.kind !== 'failed') return 'success'
  return dialect.status(outcome.fault.kind) >= 500 ? 'warn' : 'info'
}

/** Ids, labels and figures of one inference; neither its words nor a credential. */
function callLine(generation: Generation<RoutedRequest>, outcome: InferenceOutcome): CallLogLine {
  const { consumption, startedAt, firstEventAt } = generation
  const { user, session_id: session, trace, metadata } = generation.request as ChatRequest
  return {
    generation: generation.id,
    key: generation.caller.keyHash,
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session }),
    ...(metadata !== undefined && { metadata }),
    ...(trace !== undefined && { trace }),
    model: generation.model,
    provider: generation.providerName,
    ...(generation.isByok && { byok: true }),
    streamed: generation.request.stream === true,
    outcome: outcome.kind,
    status: outcome.kind === 'failed' ? dialect.status(outcome.fault.kind) : 200,
    ...(outcome.kind === 'failed' && { fault: outcome.fault.kind, detail: outcome.fault.detail ?? null }),
    attempts: generation.attempts.length,
    ms: Math.round(performance.now() - startedAt),
    firstEventMs: firstEventAt === 0 ? null : Math.round(firstEventAt - startedAt),
    promptTokens: consumption?.usage.prompt ?? null,
    completionTokens: consumption?.usage.completion ?? null,
    costNanos: consumption?.cost.total ?? null,
    estimated: consumption?.estimated ?? false,
    guessed: consumption?.guessed ?? false,
  }
}

/** What left the house or was written is for the audit; the rest is told where everything is. */
function toolSeverity({ reached = [], wrote = [] }: ToolSpending): CallSeverity {
  return reached.length + wrote.length > 0 ? 'info' : 'success'
}

const MOST_LISTED = 20

/** What one call of a tool reached, wrote and spent; nothing of what it was told or has answered. */
function toolLine(
  { caller }: Generation<RoutedRequest>,
  { id, kind, name, backend }: ToolRow,
  { executed, isError, charged, durationMs, reached = [], wrote = [] }: ToolSpending,
): CallLogLine {
  return {
    ...{ generation: id, key: caller.keyHash, kind, tool: name, backend, executed, isError },
    ...{ ms: Math.round(durationMs), costNanos: charged },
    reached: reached.slice(0, MOST_LISTED),
    wrote: wrote.slice(0, MOST_LISTED),
  }
}

/** Files that models make, in the store. */
function storeGeneratedFiles(store: Store): GeneratedFiles {
  const filesOf = workspaceFiles(store)
  return {
    store: (caller, filename, content) => filesOf(caller).create(filename, content),
    discard: async (id) => {
      await store.files.removeFile(id)
    },
  }
}
