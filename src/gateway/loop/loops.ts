/** Loops of server tools as the rest of the house sees them: a request is readied, planned, and then run. */
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { ChatRequest, RoutedRequest } from '../formats/canonical.js'
import { NO_TOOLING, type RequestedTool, type Tooling } from '../formats/tooling.js'
import type { Gateway, Inference } from '../gateway.js'
import { withCompression } from '../plugins/context-compression/context-compression.js'
import type { PipelineEntry } from '../plugins/port/plugin.js'
import type { CallHandle } from '../providers/port/provider.js'
import type { Plan } from '../routing/plan.js'
import type { Generation } from '../run/generation.js'
import { CallerLoop, type ReadyRequest } from './caller-loop.js'
import { chatTurns } from './chat/chat-conversation.js'
import { explainLoop, type LoopExplanation } from './explain-loop.js'
import { LoopCall } from './loop-call.js'
import {
  addedTools,
  type ChosenRoute,
  chooseRoute,
  preparePlugins,
  type ReadyPlugin,
  routingRun,
} from './loop-plugins.js'
import { planFacts, prepareTools, refuse, type ToolSources, toolRequestFor } from './loop-tools.js'
import { functionNames, runNested, textsOf } from './nested-runs.js'
import type { LoopListener, LoopPorts } from './ports.js'
import type { ReplaySeal } from './replay-seal.js'
import type { TurnFormat } from './turn-format.js'

/** A loop that has been planned. */
export interface PreparedLoop<R extends RoutedRequest, E, A> {
  /** What the caller sees. */
  readonly root: Generation<R>
  /** Begins it, once; the listener is first called in a later turn of the event loop. */
  run(mode: 'stream' | 'whole', listener: LoopListener<R, E, A>): CallHandle
  /** In its place; never rejects. */
  close(): Promise<void>
}

export class Loops {
  readonly #gateway: Gateway
  readonly #ports: LoopPorts
  readonly #sources: ToolSources

  constructor(gateway: Gateway, ports: LoopPorts) {
    this.#gateway = gateway
    this.#ports = ports
    const { tools, onDefect } = ports
    const sources: ToolSources = { tools, onDefect, runNested: (site, run) => runNested(sources, site, run) }
    this.#sources = sources
  }

  /** What marks calls that travel through callers. */
  get seal(): ReplaySeal {
    return this.#ports.seal
  }

  /** The request with the tooling that it is run with; without any where nothing is asked and nothing runs unasked. */
  admit<R extends RoutedRequest>(request: R, caller: Principal): R {
    const isCompressed = this.#ports.isCompressedUnasked(request)
    const asked = request.tooling ?? this.#ports.defaultTooling(caller)
    if (asked === null && !isCompressed) return request
    const tooling = this.#ports.admitTooling(caller, asked ?? NO_TOOLING)
    if (tooling instanceof Fault) throw tooling
    return { ...request, tooling: isCompressed ? withCompression(tooling) : tooling }
  }

  /**
   * Readies the tools and plugins of a request and plans its first turn. Resolves to the request alone where nothing of
   * it is left for the gateway to run. Rejects with the fault of what cannot be had, or of a plan that is impossible.
   */
  async prepare<R extends RoutedRequest, E, A>(
    format: TurnFormat<R, E, A>,
    inference: Inference<R>,
    arrival: { readonly arrivedAt: number },
  ): Promise<PreparedLoop<R, E, A> | R> {
    const { caller } = inference
    const tooling = inference.request.tooling!
    const plugins = preparePlugins(this.#ports.plugins, tooling.plugins, {
      caller,
      isSimulated: this.#isSimulated(format, inference),
      request: inference.request,
    })
    const chosen = await chooseRoute(plugins, routingRun(this.#ports, caller))
    const routed = chosen === null ? inference.request : withModels(inference.request, chosen.choice.models)
    const plan = this.#gateway.planOf(format.format, routed, caller)
    const { model: asked } = inference.request
    const planned = {
      format,
      inference: { ...inference, request: routed },
      asked,
      plan,
      plugins,
      chosen,
      arrival,
    }
    const runNatively = plan.endpoints.map(({ provider }) => provider.provider.runsNativeTools === true)
    try {
      return await this.#prepareShare(planned, runNatively[0]!)
    } catch (error) {
      // What cannot be had here, a later endpoint of the plan may run itself.
      const left = runNatively.includes(true) ? format.leaveToProvider(routed, true) : null
      if (left === null || 'refused' in left || isForUs(left.tooling, plugins)) throw error
      return withIdleLimits(left)
    }
  }

  /** What of a request is ours where its provider runs tools with a date, or does not. */
  async #prepareShare<R extends RoutedRequest, E, A>(
    planned: PlannedRequest<R, E, A>,
    runsNative: boolean,
  ): Promise<PreparedLoop<R, E, A> | R> {
    const { format, inference, asked, plan, plugins, chosen, arrival } = planned
    const request = format.leaveToProvider(inference.request, runsNative)
    if ('refused' in request) throw refuse(request, request)
    if (!isForUs(request.tooling, plugins)) return withIdleLimits(request)
    const wanted = addedTools(plugins, request.tooling?.tools ?? [])
    const { tooling } = inference.request
    const ready = await this.#ready(
      format,
      { ...inference, request: wanted.length === 0 ? withIdleLimits(request) : request },
      plan,
      plugins,
      wanted,
      tooling!,
      arrival,
    )
    const strategy = chosen?.choice.strategy ?? null
    const pipeline = chosen === null || chosen.choice.reason === '' ? [] : [routeEntry(chosen)]
    const named = chosen !== null && asked !== undefined ? { asked } : {}
    ready.root.loop = { requested: 0, executed: 0, pipeline, strategy, ...named }
    return {
      root: ready.root,
      run: (mode, listener) => this.#begin(ready, inference, mode, listener),
      close: ready.tools.close,
    }
  }

  /**
   * What of a request would be run here, and the request as a plugin routes it; null where that is nothing. Asks no
   * model. Rejects with what would refuse the request.
   */
  async explain(
    asked: RoutedRequest,
    caller: Principal,
  ): Promise<{ readonly request: RoutedRequest; readonly loop: LoopExplanation } | null> {
    if (!('messages' in asked)) return null
    const admitted = this.admit(asked, caller)
    const { tooling } = admitted
    if (tooling === undefined) return null
    const isSimulated = this.#isSimulated(chatTurns, {
      request: admitted as ChatRequest,
      caller,
      ...NO_ARRIVAL,
    })
    const plugins = preparePlugins(this.#ports.plugins, tooling.plugins, {
      caller,
      isSimulated,
      request: admitted,
    })
    const chosen = await chooseRoute(plugins, routingRun(this.#ports, caller))
    const request = chosen === null ? admitted : withModels(admitted, chosen.choice.models)
    const plan = this.#gateway.planOf(chatTurns.format, request, caller)
    const ours = tooling.tools.filter((tool) => !isLeft(tool, plan))
    if (!isForUs({ ...tooling, tools: ours }, plugins)) return null
    const about = toolRequestFor(plan, caller, () => [])
    const tools = await prepareTools(this.#sources, addedTools(plugins, ours), about, new Set())
    try {
      const route = chosen && { id: chosen.id, reason: chosen.choice.reason }
      const named = new Set((asked.tooling?.plugins ?? []).map(({ id }) => id))
      const ceiling = this.#ports.mostCalls()
      return { request, loop: explainLoop({ request, tooling, plan, tools, named, route, ceiling }) }
    } finally {
      await tools.close()
    }
  }

  /** A model that is not in the catalogue is chosen by a plugin, which looks there itself. */
  #isSimulated<R extends RoutedRequest, E, A>(
    { format }: TurnFormat<R, E, A>,
    { request, caller }: Inference<R>,
  ): boolean {
    try {
      return planFacts(this.#gateway.planOf(format, request, caller)).isSimulated
    } catch {
      return this.#gateway.hasOnlySimulated
    }
  }

  async #ready<R extends RoutedRequest, E, A>(
    format: TurnFormat<R, E, A>,
    inference: Inference<R>,
    plan: Plan,
    plugins: readonly ReadyPlugin[],
    wanted: Tooling['tools'],
    tooling: Tooling,
    arrival: { readonly arrivedAt: number },
  ): Promise<ReadyRequest<R, E, A>> {
    const { request, caller } = inference
    const texts = (): readonly string[] => textsOf(format.question(request).asChat())
    const asked = toolRequestFor(plan, caller, texts)
    const tools = await prepareTools(this.#sources, wanted, asked, functionNames(request))
    try {
      const { offered } = tools
      const context = { caller, seal: this.#ports.seal, tooling, offered, emit: () => {} }
      const first = format.begin(request, context).request('on')
      const root = await this.#gateway.prepare(format.format, { ...inference, request: first }, arrival)
      return { format, request, tooling, tools, plugins, contextLength: asked.contextLength, root }
    } catch (error) {
      await tools.close()
      throw error
    }
  }

  #begin<R extends RoutedRequest, E, A>(
    ready: ReadyRequest<R, E, A>,
    { simulate, traceparent, client, caller }: Inference<R>,
    mode: 'stream' | 'whole',
    listener: LoopListener<R, E, A>,
  ): CallHandle {
    const ports = this.#ports
    const facts = { simulate, traceparent, ...(client !== undefined && { client }) }
    const spent = performance.now() - ready.root.startedAt
    const deadlineAt = ports.clock.monotonicMs() + ports.deadlineMs - spent
    const call = new LoopCall(this.#gateway, ports, ready.root, facts, ports.filesOf(caller), deadlineAt)
    const loop = new CallerLoop(ready, call, mode, listener)
    loop.start()
    return loop
  }
}

interface PlannedRequest<R extends RoutedRequest, E, A> {
  readonly format: TurnFormat<R, E, A>
  readonly inference: Inference<R>
  readonly plan: Plan
  /** The model that the caller named. */
  readonly asked: string | undefined
  readonly plugins: readonly ReadyPlugin[]
  readonly chosen: ChosenRoute | null
  readonly arrival: { readonly arrivedAt: number }
}

function isForUs(tooling: Tooling | undefined, plugins: readonly ReadyPlugin[]): boolean {
  return plugins.length > 0 || (tooling?.tools.length ?? 0) > 0
}

/** Where no tool is run here, what would end a loop of them is told as having no effect (contract/tools 1.2). */
function withIdleLimits<R extends RoutedRequest>(request: R): R {
  const idle = request.tooling?.limits
  return idle === undefined ? request : { ...request, idle }
}

/** Whether a tool with a date is left to the provider that is planned first. */
function isLeft({ isNative, parameters: { engine } }: RequestedTool, { endpoints }: Plan): boolean {
  const runsNative = endpoints[0]!.provider.provider.runsNativeTools === true
  return isNative && runsNative && (engine === undefined || engine === 'auto' || engine === 'native')
}

const NO_ARRIVAL = { simulate: '', traceparent: '' }

function routeEntry({ id, choice }: ChosenRoute): PipelineEntry {
  return { type: 'plugin', name: id, summary: choice.reason }
}

function withModels<R extends RoutedRequest>(request: R, models: readonly string[]): R {
  const { models: _, ...rest } = request
  const [model, ...others] = models
  return { ...rest, model, ...(others.length > 0 && { models }) } as unknown as R
}
