/** The loop that a caller sees: plugins around it, the one answer of all its turns, its money closed once. */
import { Fault } from '../../base/fault.js'
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import type { Tooling } from '../formats/tooling.js'
import type { CallHandle } from '../providers/port/provider.js'
import type { Generation } from '../run/generation.js'
import type { LoopCall, LoopSite } from './loop-call.js'
import { LoopMeter } from './loop-meter.js'
import { PluginSteps, type ReadyPlugin } from './loop-plugins.js'
import { type LoopOutcome, LoopRun, type LoopWatcher } from './loop-run.js'
import type { LoopTools } from './loop-tools.js'
import type { LoopListener, ToolProgress } from './ports.js'
import { StopConditions } from './stop-conditions.js'
import { LEFT } from './turn.js'
import type { TurnFormat } from './turn-format.js'

/** A request that is ready for its loop. */
export interface ReadyRequest<R extends RoutedRequest, E, A> {
  readonly format: TurnFormat<R, E, A>
  /** With its `tooling`, routed. */
  readonly request: R
  readonly tooling: Tooling
  readonly tools: LoopTools
  readonly plugins: readonly ReadyPlugin[]
  readonly contextLength: number
  readonly root: Generation<R>
}

export class CallerLoop<R extends RoutedRequest, E, A> implements CallHandle, LoopWatcher<E> {
  readonly #ready: ReadyRequest<R, E, A>
  readonly #call: LoopCall
  readonly #isWhole: boolean
  readonly #listener: LoopListener<R, E, A>
  #loop: LoopRun<R, E, A> | null = null
  #steps: PluginSteps<R, E, A> | null = null
  #isPaused = false
  /** Events that a plugin has to judge before they are shown. */
  #held: E[] | null = null

  constructor(
    ready: ReadyRequest<R, E, A>,
    call: LoopCall,
    mode: 'stream' | 'whole',
    listener: LoopListener<R, E, A>,
  ) {
    this.#ready = ready
    this.#call = call
    this.#isWhole = mode === 'whole'
    this.#listener = listener
  }

  /** Never throws: the listener hears of everything, in a later turn of the event loop. */
  start(): void {
    this.#run().catch((error: unknown) => this.#handleDefect(error))
  }

  async #run(): Promise<void> {
    const { root, tools } = this.#ready
    try {
      await this.#call.openAccount()
      const fault = await this.#answer()
      await this.#close(fault)
      if (fault === LEFT) return
      if (fault !== null) this.#listener.onFailure(this.#steps?.failure(fault) ?? fault, root)
      else this.#listener.onEnd(root, this.#isWhole ? this.#loop!.conversation.answer() : null)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await this.#close(error)
      if (!this.#call.isLeft) this.#listener.onFailure(error, root)
    } finally {
      this.#steps?.end()
      await tools.close()
    }
  }

  /** Null where the caller has got an answer; otherwise the fault that it is to be told. */
  async #answer(): Promise<Fault | null> {
    const { format, request, tooling, tools, plugins, contextLength, root } = this.#ready
    const call = this.#call
    const meter = new LoopMeter(StopConditions.costLimit(tooling))
    const site: LoopSite = { call, meter, depth: 0, purpose: 'turn', signal: call.signal }
    const steps = new PluginSteps<R, E, A>(plugins, site, root.caller, contextLength, tools.runNested)
    this.#steps = steps
    const asked = await steps.before(format, request)
    if (asked instanceof Fault) return asked
    if (call.isLeft) return LEFT
    if (steps.holdAnswer) this.#held = []
    const loop = new LoopRun(site, format, asked, tooling, tools, root.caller, this)
    this.#loop = loop
    if (this.#isPaused) loop.pause()
    for (const extras of steps.extras) loop.conversation.annotate(extras)
    const outcome = await loop.run()
    root.loop!.pipeline.push(...loop.calls.stages)
    if (outcome.fault !== null) return this.#breakOff(loop, outcome)
    const finish = root.finish?.reason ?? ''
    const refused = await steps.after(loop.conversation, request, finish, this.#forgetHeld())
    this.#tellFigures()
    if (refused !== null) return refused
    if (call.isLeft) return LEFT
    loop.conversation.end(steps.isAnsweredAnew ? 'answered' : outcome.how)
    this.#release()
    return null
  }

  /** Throws away what is held of the answer; null where it has been shown. */
  #forgetHeld(): (() => void) | null {
    if (!this.#isWhole && this.#held === null) return null
    return () => {
      if (this.#held !== null) this.#held = []
    }
  }

  /**
   * A later turn has failed: what there is of a whole answer is told, with why it goes no further (contract/tools 1.6);
   * not where it had to be judged first.
   */
  #breakOff({ conversation }: LoopRun<R, E, A>, { fault }: LoopOutcome): Fault | null {
    const { root } = this.#ready
    root.failed = root.served !== null
    this.#tellFigures()
    const isShown = this.#isWhole && this.#held === null
    if (!isShown || fault === LEFT || conversation.text() === '') return fault
    conversation.end('broken', fault!)
    root.finish = { reason: 'error', native: null }
    return null
  }

  #tellFigures(): void {
    this.#ready.root.consumption = this.#call.account.consumption()
  }

  async #close(fault: Fault | null): Promise<void> {
    if (!this.#call.isOpen) return
    const outcome: InferenceOutcome =
      fault === null
        ? { kind: 'completed' }
        : fault === LEFT
          ? { kind: 'aborted' }
          : { kind: 'failed', fault }
    await this.#call.account.close(outcome)
  }

  // ── What the loop tells ─────────────────────────────────────────────────────

  onRequestSent(body: unknown): void {
    this.#listener.onRequestSent?.(body)
  }

  onServed(turn: Generation<RoutedRequest>): void {
    const { root } = this.#ready
    root.served = turn.served
    if (root.firstEventAt === 0) root.firstEventAt = turn.firstEventAt
  }

  onTurnOver(turn: Generation<RoutedRequest>): void {
    const { root } = this.#ready
    root.served = turn.served ?? root.served
    root.attempts.push(...turn.attempts)
    root.droppedFields.splice(0, root.droppedFields.length, ...turn.droppedFields)
    if (turn.finish !== null) root.finish = turn.finish
    root.serviceTier = turn.serviceTier ?? root.serviceTier
    if (root.admittedAt === 0) root.admittedAt = turn.admittedAt
    if (root.attemptedAt === 0) root.attemptedAt = turn.attemptedAt
  }

  onEvent(event: E): void {
    if (this.#isWhole || this.#call.isLeft) return
    if (this.#held === null) this.#listener.onEvent(event)
    else this.#held.push(event)
  }

  onFlush(): void {
    if (!this.#isWhole && this.#held === null && !this.#call.isLeft) this.#listener.onFlush()
  }

  onProgress(progress: ToolProgress): void {
    if (this.#isWhole || this.#call.isLeft) return
    // What the model writes to a tool is not shown either before it is judged.
    const { arguments: _, ...told } = progress
    this.#listener.onToolProgress?.(this.#held === null ? progress : told)
  }

  #release(): void {
    const held = this.#held
    this.#held = null
    for (const event of held ?? []) this.onEvent(event)
    this.onFlush()
  }

  // ── The caller ──────────────────────────────────────────────────────────────

  pause(): void {
    this.#isPaused = true
    this.#loop?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#loop?.resume()
  }

  /** The caller has gone: the turn under way and the tools end, what ran is settled. */
  cancel(): void {
    this.#call.leave()
  }

  #handleDefect(cause: unknown): void {
    this.#call.ports.onDefect(cause)
    const fault = new Fault('internal', { detail: 'a defect in a loop of server tools' })
    const wasLeft = this.#call.isLeft
    // Nobody waits any more for what may still be under way.
    this.#call.leave()
    this.#close(fault).catch((error: unknown) => this.#call.ports.onDefect(error))
    if (!wasLeft) this.#listener.onFailure(fault, this.#ready.root)
  }
}
