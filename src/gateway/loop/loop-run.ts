/** A loop in one format: turns, the calls of each, and what ends it (contract/tools 1). */
import { Fault } from '../../base/fault.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { Tooling } from '../formats/tooling.js'
import type { Generation } from '../run/generation.js'
import type { LoopSite } from './loop-call.js'
import type { LoopTools } from './loop-tools.js'
import type { ToolProgress } from './ports.js'
import { StopConditions } from './stop-conditions.js'
import { ToolCalls } from './tool-calls.js'
import { LEFT, Turn, type TurnWatcher } from './turn.js'
import type { Conversation, LoopEnd, TurnEnd, TurnFormat, TurnTools } from './turn-format.js'

/** Whom a loop tells while it runs. */
export interface LoopWatcher<E> extends TurnWatcher<E> {
  onTurnOver(generation: Generation<RoutedRequest>): void
  onProgress(progress: ToolProgress): void
}

/** How a loop came to its end; `conversation.end` is left to whoever runs it. */
export interface LoopOutcome {
  readonly how: LoopEnd
  /** Why it is `broken`; null otherwise. `LEFT` where the caller has left. */
  readonly fault: Fault | null
}

export class LoopRun<R extends RoutedRequest, E, A> {
  readonly conversation: Conversation<R, E, A>
  readonly calls: ToolCalls
  readonly #site: LoopSite
  readonly #format: TurnFormat<R, E, A>
  readonly #watcher: LoopWatcher<E>
  readonly #stop: StopConditions
  #turn: Turn<R, E> | null = null
  #isPaused = false
  #servedBy: string | null = null

  /** @param tooling of `request`, or what stands in for it where a request has none */
  constructor(
    site: LoopSite,
    format: TurnFormat<R, E, A>,
    request: R,
    tooling: Tooling,
    tools: LoopTools,
    caller: Parameters<TurnFormat<R, E, A>['begin']>[1]['caller'],
    watcher: LoopWatcher<E>,
  ) {
    this.#site = site
    this.#format = format
    this.#watcher = watcher
    this.#stop = new StopConditions(tooling, site.meter)
    const { offered } = tools
    const emit = (event: E): void => watcher.onEvent(event)
    this.conversation = format.begin(request, { caller, seal: site.call.ports.seal, tooling, offered, emit })
    const onProgress = (progress: ToolProgress): void => watcher.onProgress(progress)
    const { conversation } = this
    this.calls = new ToolCalls({ site, tools, stop: this.#stop, conversation, onProgress })
  }

  /** Until there is no further turn. Never rejects but with a defect. */
  async run(): Promise<LoopOutcome> {
    // What plugins have spent before may be more than the loop may cost.
    for (let tools: TurnTools = this.#stop.fire() ? 'off' : 'on'; ; ) {
      const fault = await this.#runTurn(tools)
      if (fault !== null) return { how: 'broken', fault }
      const end = this.conversation.endTurn()
      if (tools !== 'on') {
        const calledAllTheSame = end.calls.length + end.callerCalls.length > 0
        if (tools === 'gone' || !calledAllTheSame) return ANSWERED
        tools = 'gone'
        continue
      }
      const next = await this.#afterTurn(end)
      if (typeof next !== 'string') return next
      tools = next
    }
  }

  async #runTurn(tools: TurnTools): Promise<Fault | null> {
    const { signal, meter } = this.#site
    if (signal.aborted) return LEFT
    const turn = new Turn<R, E>({
      onRequestSent: (body) => this.#watcher.onRequestSent(body),
      onServed: (generation) => this.#watcher.onServed(generation),
      onEvent: (event) => this.conversation.take(event),
      onFlush: () => this.#watcher.onFlush(),
    })
    this.#turn = turn
    const leave = (): void => turn.cancel()
    signal.addEventListener('abort', leave, { once: true })
    await turn.start(this.#site, this.#format.format, this.conversation.request(tools), this.#servedBy)
    if (this.#isPaused) turn.pause()
    if (signal.aborted) turn.cancel()
    const { generation, fault } = await turn.ended
    signal.removeEventListener('abort', leave)
    this.#turn = null
    if (generation !== null) {
      this.#servedBy = generation.served?.key ?? this.#servedBy
      if (generation.consumption !== null) meter.addTurn(generation.consumption)
      this.#watcher.onTurnOver(generation)
    }
    return fault
  }

  /** Runs what a turn has called. What comes next: another turn, or the end. */
  async #afterTurn(end: TurnEnd): Promise<TurnTools | LoopOutcome> {
    const { calls, callerCalls, isBroken } = end
    this.#stop.recordTurn(end)
    if (isBroken) return ANSWERED
    const last = callerCalls.length > 0 ? HANDED_OVER : ANSWERED
    if (calls.length === 0) return last
    const hasFired = this.#stop.fire()
    const results = await this.calls.run(end)
    if (this.#site.signal.aborted) return { how: 'broken', fault: LEFT }
    if (results instanceof Fault) return { how: 'broken', fault: results }
    this.conversation.addResults(results)
    this.#watcher.onFlush()
    if (callerCalls.length > 0) return last
    if (!hasFired && !this.#stop.fire() && !this.#site.call.hasReachedCeiling) return 'on'
    return this.conversation.pausesAtLimit === true ? { how: 'paused', fault: null } : 'off'
  }

  pause(): void {
    this.#isPaused = true
    this.#turn?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#turn?.resume()
  }
}

const ANSWERED: LoopOutcome = { how: 'answered', fault: null }
const HANDED_OVER: LoopOutcome = { how: 'handed-over', fault: null }
