/** The calls of server tools of one loop: which of them are run, how, and what the model is told of each. */
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import { asObject, countJsonValues, type JsonObject, parseJson } from '../formats/json-values.js'
import type { PipelineEntry } from '../plugins/port/plugin.js'
import type { NestedAnswer, NestedRun, PreparedTool, ToolOutcome } from '../tools/port/tool.js'
import { CallGuard } from './call-guard.js'
import type { LoopSite } from './loop-call.js'
import type { LoopTools, ReadyFunction } from './loop-tools.js'
import type { ToolProgress } from './ports.js'
import { runWithin } from './run-within.js'
import type { StopConditions } from './stop-conditions.js'
import type { CallResult, CallView, TurnCall, TurnEnd } from './turn-format.js'

const MOST_AT_A_TIME = 4
/** Values in the arguments of a call. */
const MOST_ARGUMENT_VALUES = 20_000
/** Characters of one result, and of all results of a loop: each turn sends all of them again. */
const LONGEST_RESULT = 2_000_000
const LONGEST_RESULTS = 8_000_000
/** Characters of all pictures of a loop, which an answer has as data URLs. */
const LONGEST_PICTURES = 32_000_000

/** What a loop lets its tools see and tell. */
interface CallContext {
  readonly site: LoopSite
  readonly tools: LoopTools
  readonly stop: StopConditions
  readonly conversation: CallView
  readonly onProgress: (progress: ToolProgress) => void
}

/** A call that is over; `outcome` is null where it was refused. */
interface RanCall {
  readonly result: CallResult
  readonly outcome: ToolOutcome | null
}

/** A call that has been looked at: what runs it, or why it is not run. */
type JudgedCall =
  | {
      readonly call: TurnCall
      readonly ready: ReadyFunction
      readonly given: JsonObject
      readonly refused: null
    }
  | { readonly call: TurnCall; readonly ready: ReadyFunction | null; readonly refused: string }

export class ToolCalls {
  readonly #context: CallContext
  readonly #guard = new CallGuard()
  readonly #used = new Map<string, { calls: number; charged: number; backend: string }>()
  #resultChars = 0
  #pictureChars = 0
  #begun = 0

  constructor(context: CallContext) {
    this.#context = context
  }

  /**
   * Runs the calls of a turn. Resolves to their results, in order; to the fault that ends the loop where the caller may
   * go on no more. Never rejects.
   */
  async run({ calls, callerCalls }: TurnEnd): Promise<readonly CallResult[] | Fault> {
    const { stop, conversation, site } = this.#context
    const allowed = !conversation.oneCallATurn ? calls.length : callerCalls.length > 0 ? 0 : 1
    const judged = calls.map((call, at) => this.#judge(call, at < allowed))
    const ran: RanCall[] = []
    let ending: Fault | null = null
    let next = 0
    const work = async (): Promise<void> => {
      while (next < judged.length && ending === null && !site.signal.aborted) {
        const at = next++
        const one = judged[at]!
        const done =
          one.refused === null ? await this.#runWhole(one) : this.#refuse(one.call, one.ready, one.refused)
        if (done instanceof Fault) ending = done
        else {
          ran[at] = done
          conversation.callEnded?.(done.result)
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(MOST_AT_A_TIME, judged.length) }, work))
    for (const { outcome } of ran.filter(Boolean)) if (outcome !== null) conversation.annotate(outcome)
    if (ending !== null) return ending
    stop.recordResults(ran.every(({ outcome }) => outcome?.executed !== true))
    return ran.map(({ result }) => result)
  }

  /** In the order of the calls, before any of them runs: so what is refused does not depend on who is faster. */
  #judge(call: TurnCall, isAllowed: boolean): JudgedCall {
    const { tools, site } = this.#context
    site.call.loop.requested++
    const ready = tools.byName.get(call.name) ?? null
    const isBelowCeiling = site.call.countCall()
    if (ready === null) return { call, ready, refused: 'there is no such function' }
    if (!isBelowCeiling) return { call, ready, refused: 'no further tool call is allowed in this request' }
    if (!isAllowed)
      return { call, ready, refused: 'only one call a turn is allowed: call it again by itself' }
    const given = readArguments(call.arguments)
    if (given === null) return { call, ready, refused: 'the arguments are no JSON object' }
    if (!this.#guard.admit(call.name, given))
      return {
        call,
        ready,
        refused: 'this was called with the same arguments before: use what it gave, or call differently',
      }
    return { call, ready, given, refused: null }
  }

  #refuse(call: TurnCall, ready: ReadyFunction | null, why: string): RanCall {
    this.#context.stop.recordCall(namesOf(call, ready), false)
    const offered = ready?.offered ?? null
    return { result: { call, offered, content: { error: why }, isError: true, citations: [] }, outcome: null }
  }

  /** A defect of a tool is a result like any other, and the calls beside it go on. */
  #runWhole(one: JudgedCall & { readonly refused: null }): Promise<RanCall | Fault> {
    return this.#runOne(one).catch((error: unknown) => {
      this.#context.site.call.ports.onDefect(error)
      return this.#refuse(one.call, one.ready, 'the tool has failed')
    })
  }

  async #runOne(one: JudgedCall & { readonly refused: null }): Promise<RanCall | Fault> {
    const { call, ready, given } = one
    const { site } = this.#context
    const { account } = site.call
    const caller = await site.call.recheck()
    if (caller instanceof Fault) return caller
    const { prepared, offered } = ready
    const input = { id: call.id, function: offered.function.name, arguments: given }
    const fee = prepared.fee(input)
    const { name } = offered.tool
    const row = { id: site.call.newRowId(), kind: 'tool' as const, name, backend: prepared.backend, fee }
    const permit = await account.reserve(row)
    if (permit instanceof Fault && permit.kind === 'unauthenticated') return permit
    if (permit instanceof Fault) return this.#refuse(call, ready, `its fee cannot be paid: ${permit.kind}`)
    const step = ++this.#begun
    const startedAt = site.call.clock.monotonicMs()
    let outcome: ToolOutcome = BROKEN
    let charged = 0
    try {
      this.#tell('started', call, name, step, { arguments: call.arguments })
      outcome = this.#bound(this.#guard.judge(await this.#ask(ready, input, caller, fee)))
    } finally {
      const durationMs = site.call.clock.monotonicMs() - startedAt
      const wrote = outcome.files?.map((file) => file.id)
      charged = permit.settle({ ...outcome, ...(wrote !== undefined && { wrote }), durationMs })
    }
    site.meter.addFee(charged)
    this.#record(ready, call, outcome.executed, charged)
    this.#tell(outcome.isError ? 'failed' : 'completed', call, name, step, { cost: charged })
    return { result: toResult(ready, call, outcome), outcome }
  }

  #record(ready: ReadyFunction, call: TurnCall, executed: boolean, charged: number): void {
    const { offered, prepared } = ready
    const { name } = offered.tool
    this.#context.stop.recordCall(namesOf(call, ready), executed)
    if (!executed) return
    this.#context.site.call.loop.executed++
    const before = this.#used.get(name)
    const calls = (before?.calls ?? 0) + 1
    this.#used.set(name, { calls, charged: (before?.charged ?? 0) + charged, backend: prepared.backend })
  }

  /** What was run, by tool, as stages that had a part in the answer. */
  get stages(): readonly PipelineEntry[] {
    return [...this.#used].map(([name, { calls, charged, backend }]) => {
      const summary = `${calls} ${calls === 1 ? 'call' : 'calls'} run by ${backend}`
      return { type: 'server_tools', name, summary, cost: charged }
    })
  }

  /** Asks the tool, within its wall clock and that of the call. Never rejects. */
  async #ask(
    { prepared, offered }: ReadyFunction,
    input: Parameters<PreparedTool['run']>[0],
    caller: Principal,
    fee: number,
  ): Promise<ToolOutcome> {
    const { site, tools, conversation } = this.#context
    const { call } = site
    const { deferred } = conversation
    const ms = Math.min(
      prepared.wallClockMs ?? call.ports.wallClockMs(offered.tool.name),
      Math.max(0, call.timeLeft),
    )
    /** Runs beneath the call. They end with it, and what they came to is known before it is over. */
    const beneath: Promise<NestedAnswer>[] = []
    const runBeneath = (signal: AbortSignal, run: NestedRun): Promise<NestedAnswer> => {
      const answer = tools.runNested({ ...site, signal }, run)
      beneath.push(answer)
      return answer
    }
    const started = (signal: AbortSignal): Promise<ToolOutcome> =>
      prepared.run(input, {
        caller,
        signal,
        deadlineAt: call.clock.monotonicMs() + ms,
        depth: site.depth,
        budget: site.meter.rest,
        request: conversation.asChat(),
        ...(deferred !== undefined && { deferred }),
        files: call.files,
        nested: (run) => runBeneath(signal, run),
      })
    const bounds = { ms, clock: call.clock, signal: site.signal, fee, onDefect: call.ports.onDefect }
    const outcome = await runWithin(started, bounds)
    await Promise.all(beneath)
    return outcome
  }

  /** No result beyond what a conversation may hold. */
  #bound(outcome: ToolOutcome): ToolOutcome {
    const length = JSON.stringify(outcome.content ?? null).length
    const { images = [], ...rest } = outcome
    const pictures = images.reduce((sum, { length: chars }) => sum + chars, 0)
    const isShort = length <= LONGEST_RESULT && this.#resultChars + length <= LONGEST_RESULTS
    if (isShort && this.#pictureChars + pictures <= LONGEST_PICTURES) {
      this.#resultChars += length
      this.#pictureChars += pictures
      return outcome
    }
    return { ...rest, content: { error: 'the result is too long to be shown' }, isError: true }
  }

  #tell(
    state: ToolProgress['state'],
    { id }: TurnCall,
    name: string,
    step: number,
    more: Pick<ToolProgress, 'arguments' | 'cost'>,
  ): void {
    const { stop, site, conversation, onProgress } = this.#context
    const most = stop.mostSteps(site.call.ports.mostCalls())
    const callId = conversation.shownCallId?.(id) ?? id
    onProgress({ state, name, callId, step, most, ...more })
  }
}

/** Of a call that a defect has kept from ending. */
const BROKEN: ToolOutcome = { content: null, isError: true, executed: false, charged: 0 }

function readArguments(text: string): JsonObject | null {
  if (text.trim() === '') return {}
  if (countJsonValues(text, MOST_ARGUMENT_VALUES) > MOST_ARGUMENT_VALUES) return null
  return asObject(parseJson(text))
}

function toResult({ offered }: ReadyFunction, call: TurnCall, outcome: ToolOutcome): CallResult {
  const { content, isError, citations = [] } = outcome
  return { call, offered, content, isError, citations }
}

/** By which a condition may know a call. */
function namesOf({ name }: TurnCall, ready: ReadyFunction | null): readonly string[] {
  if (ready === null) return [name]
  const { tool } = ready.offered
  return [name, tool.name, tool.type, tool.calledName ?? tool.name]
}
