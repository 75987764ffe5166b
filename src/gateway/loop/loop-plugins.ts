/** The plugins of one request, readied for it, and their steps before the first turn and after the last. */

import { cancellationOf } from '../../base/cancellation.js'
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { RequestedPlugin, RequestedTool } from '../formats/tooling.js'
import { withFileAnnotations } from '../plugins/file-parser/parsed-files.js'
import type {
  AnswerChange,
  Plugin,
  PluginRequest,
  PluginRun,
  PreparedPlugin,
  RouteChoice,
} from '../plugins/port/plugin.js'
import type { NestedAnswer, NestedRun } from '../tools/port/tool.js'
import type { LoopSite } from './loop-call.js'
import { refuse } from './loop-tools.js'
import type { LoopPorts } from './ports.js'
import { LATE } from './turn.js'
import type { AnswerExtras, Conversation, TurnFormat } from './turn-format.js'

export interface ReadyPlugin {
  readonly id: string
  readonly prepared: PreparedPlugin
}

/**
 * Whichever order a request has: files are read so that their words are judged as well, before anything else is made of
 * them, a prompt is cut when it is complete, and an answer is mended once it is the one that is shown. All others stand
 * between, as they come.
 */
const RANKS: Readonly<Record<string, number>> = {
  'file-parser': -2,
  moderation: -1,
  alignment: 1,
  'response-healing': 2,
  'context-compression': 2,
}

function inOrder(wanted: readonly RequestedPlugin[]): readonly RequestedPlugin[] {
  return wanted.toSorted((one, other) => (RANKS[one.id] ?? 0) - (RANKS[other.id] ?? 0))
}

/** Throws `invalid-input` for the first plugin that cannot be had. */
export function preparePlugins(
  plugins: ReadonlyMap<string, Plugin>,
  wanted: readonly RequestedPlugin[],
  request: PluginRequest,
): readonly ReadyPlugin[] {
  return inOrder(wanted).map((asked) => {
    if (wanted.find(({ id }) => id === asked.id) !== asked)
      throw refuse(asked, { refused: `names the plugin ${asked.id} a second time`, member: ['id'] })
    const plugin = plugins.get(asked.id)
    if (plugin === undefined)
      throw refuse(asked, { refused: 'is not supported by this gateway', member: ['id'] })
    const prepared = plugin.prepare(asked, request)
    if ('refused' in prepared) throw refuse(asked, prepared)
    return { id: asked.id, prepared }
  })
}

/** Server tools that plugins add to those the request names itself. */
export function addedTools(
  plugins: readonly ReadyPlugin[],
  named: readonly RequestedTool[],
): readonly RequestedTool[] {
  const names = new Set(named.map(({ name }) => name))
  return [
    ...named,
    ...plugins.flatMap(({ prepared }) => (prepared.tools ?? []).filter(({ name }) => !names.has(name))),
  ]
}

/** What a plugin has to work with before anything is admitted: nothing may run and nothing be charged yet. */
export function routingRun(
  { filesOf, countTokens }: Pick<LoopPorts, 'filesOf' | 'countTokens'>,
  caller: Principal,
  signal: AbortSignal = new AbortController().signal,
): PluginRun {
  return {
    caller,
    signal,
    files: filesOf(caller),
    contextLength: 0,
    countTokens: async (texts) =>
      (await countTokens(texts, caller.organizationId, cancellationOf(signal))).counts,
    nested: async () => ({
      ok: false,
      reason: 'unavailable',
      message: 'nothing runs before the plan',
      charged: 0,
      wasAsked: false,
    }),
    charge: async () => false,
  }
}

export interface ChosenRoute {
  /** Of the plugin. */
  readonly id: string
  readonly choice: RouteChoice
}

/** The choice of the first plugin that makes one; null where none does. Throws the fault that refuses. */
export async function chooseRoute(
  plugins: readonly ReadyPlugin[],
  run: PluginRun,
): Promise<ChosenRoute | null> {
  for (const { id, prepared } of plugins) {
    if (prepared.route === undefined) continue
    const choice = await prepared.route(run)
    if (choice instanceof Fault) throw choice
    return { id, choice }
  }
  return null
}

/** The steps of the plugins of one call, around its loop. */
export class PluginSteps<R extends RoutedRequest, E, A> {
  readonly #plugins: readonly ReadyPlugin[]
  readonly #site: LoopSite
  readonly #run: PluginRun
  /** Aborted when the time of the call is over. */
  readonly #late = new AbortController()
  readonly #stopClock: () => void
  /** What they add to the answer, as long as there is no conversation. */
  readonly extras: AnswerExtras[] = []
  /** What is shown is not what the last turn has said: nothing it called is handed over. */
  isAnsweredAnew = false

  constructor(
    plugins: readonly ReadyPlugin[],
    site: LoopSite,
    caller: Principal,
    contextLength: number,
    runNested: (site: LoopSite, run: NestedRun) => Promise<NestedAnswer>,
  ) {
    this.#plugins = plugins
    this.#site = site
    const { call } = site
    // The time of the call is theirs as well: what they ask may be silent for ever.
    this.#stopClock = call.clock.runAfter(Math.max(0, call.timeLeft), () => this.#late.abort())
    this.#run = {
      ...routingRun(call.ports, caller, AbortSignal.any([site.signal, this.#late.signal])),
      files: call.files,
      contextLength,
      nested: (run) => runNested(site, run),
      charge: (row) => this.#charge(row),
    }
  }

  /** They are over, whatever came of them. */
  end(): void {
    this.#stopClock()
  }

  get holdAnswer(): boolean {
    return this.#plugins.some(({ prepared }) => prepared.holdsAnswer === true)
  }

  async #charge(asked: Parameters<PluginRun['charge']>[0]): Promise<boolean> {
    const { name, charged, backend = name, ...more } = asked
    const { call, meter } = this.#site
    const startedAt = call.clock.monotonicMs()
    const row = { id: call.newRowId(), kind: 'plugin' as const, name, backend, fee: charged }
    const permit = await call.account.reserve(row)
    if (permit instanceof Fault) return false
    const durationMs = call.clock.monotonicMs() - startedAt
    meter.addFee(permit.settle({ ...more, charged, executed: true, isError: false, durationMs }))
    return true
  }

  /** The fault with what the plugins have read of files before it. */
  failure(fault: Fault): Fault {
    return withFileAnnotations(
      fault,
      this.extras.flatMap(({ annotations = [] }) => annotations),
    )
  }

  /** The question as it goes to the model; the fault that ends the call. */
  async before(format: Pick<TurnFormat<R, E, A>, 'question'>, request: R): Promise<R | Fault> {
    let asked = request
    // What one plugin has put into the prompt is nothing that the user has said, for the next.
    const { latestText } = format.question(request)
    for (const { prepared } of this.#plugins) {
      if (prepared.before === undefined || this.#site.signal.aborted) continue
      const change = await prepared.before({ ...format.question(asked), latestText }, this.#run)
      if (change instanceof Fault) return this.#late.signal.aborted ? LATE : change
      asked = change.request as R
      const { pipeline, ...extras } = change
      this.extras.push(extras)
      if (pipeline !== undefined) this.#site.call.loop.pipeline.push(pipeline)
    }
    return asked
  }

  /**
   * Judges and mends the answer. `forget`: throws away what has been emitted and not shown; null where it has been
   * shown. Gives the fault that ends the call.
   */
  async after(
    conversation: Conversation<R, E, A>,
    request: R,
    finish: string,
    forget: (() => void) | null,
  ): Promise<Fault | null> {
    for (const { prepared } of this.#plugins) {
      if (prepared.after === undefined || this.#site.signal.aborted) continue
      const answer = {
        request,
        text: conversation.text(),
        words: conversation.words(),
        finish,
        isStreamed: forget === null,
        retry: (said: string, instruction: string) => this.#retry(conversation, said, instruction),
      }
      const change = await prepared.after(answer, this.#run)
      if (change instanceof Fault) return this.#late.signal.aborted ? LATE : change
      this.#apply(conversation, change, forget)
    }
    return null
  }

  #apply(conversation: Conversation<R, E, A>, change: AnswerChange, forget: (() => void) | null): void {
    const { text, isAnew = false, append, annotations, pipeline } = change
    if (text !== undefined && forget !== null) {
      forget()
      conversation.restate(text, isAnew)
      this.isAnsweredAnew ||= isAnew
    } else if (append !== undefined && append !== '') conversation.append(append)
    if (annotations !== undefined) conversation.annotate({ annotations })
    if (pipeline !== undefined) this.#site.call.loop.pipeline.push(pipeline)
  }

  /** What the model says when it is told to answer once more. */
  async #retry(
    conversation: Conversation<R, E, A>,
    said: string,
    instruction: string,
  ): Promise<string | Fault> {
    const { tooling: _, ...asked } = conversation.asChat()
    const messages = [
      ...asked.messages,
      // Where it has only called something there is no text, and providers refuse an empty one.
      ...(said === '' ? [] : [{ role: 'assistant' as const, content: said }]),
      { role: 'user' as const, content: instruction },
    ]
    const run = { purpose: 'retry', request: { ...asked, messages }, budget: Number.POSITIVE_INFINITY }
    const answer = await this.#run.nested({ ...run, signal: this.#site.signal })
    if (answer.ok) return answer.text
    return new Fault('provider-failed', { detail: `a repeated answer: ${answer.reason}` })
  }
}
