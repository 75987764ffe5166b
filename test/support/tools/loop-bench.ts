/** Loops of server tools over scripted models and scripted tools, with money that is only counted. */
import type { Clock } from '../../../src/base/clock.js'
import { systemClock } from '../../../src/base/clock.js'
import type { Fault } from '../../../src/base/fault.js'
import type { Catalog } from '../../../src/gateway/catalog/catalog.js'
import type {
  ChatEvent,
  ChatRequest,
  Completion,
  RoutedRequest,
  Usage,
} from '../../../src/gateway/formats/canonical.js'
import type { Tooling } from '../../../src/gateway/formats/tooling.js'
import { Gateway, type InferenceOutcome } from '../../../src/gateway/gateway.js'
import { chatTurns } from '../../../src/gateway/loop/chat/chat-conversation.js'
import { Loops, type PreparedLoop } from '../../../src/gateway/loop/loops.js'
import type {
  LoopAccount,
  LoopListener,
  LoopPorts,
  ToolProgress,
  ToolRow,
  ToolSpending,
} from '../../../src/gateway/loop/ports.js'
import { ReplaySeal } from '../../../src/gateway/loop/replay-seal.js'
import type { Plugin } from '../../../src/gateway/plugins/port/plugin.js'
import type {
  CallHandle,
  ProviderCall,
  ProviderFailure,
} from '../../../src/gateway/providers/port/provider.js'
import type { Consumption, Generation } from '../../../src/gateway/run/generation.js'
import type { PreparedTool, ServerTool, ToolOutcome, ToolRun } from '../../../src/gateway/tools/port/tool.js'
import { NO_FILE_PORTS, NO_FILES } from '../data/no-files.js'
import { routingState } from '../providers/routing.js'
import { CALLER, catalogOf, ScriptedProvider, text, usage } from '../providers/scripted-provider.js'
import { requested } from './tool-call.js'

export { CALLER }

/** What a model does in a turn. */
export interface ScriptedTurn {
  readonly say?: string
  /** Name, arguments. */
  readonly calls?: readonly (readonly [name: string, given?: object | string, id?: string])[]
  readonly finish?: string
  readonly usage?: Usage
  readonly failure?: ProviderFailure
  /** Events before the calls, as they are. */
  readonly events?: readonly ChatEvent[]
  /** Nothing comes, or nothing more than the text, until the test says so. */
  readonly hangs?: true
}

export type Script = readonly ScriptedTurn[] | ((call: ProviderCall, turn: number) => ScriptedTurn)

let callIds = 0

function eventsOf({
  say,
  calls = [],
  finish,
  usage: figures = usage(10, 5),
  events = [],
}: ScriptedTurn): ChatEvent[] {
  const told: ChatEvent[] = [...events]
  // Pieces, so that what is joined is seen to be joined.
  for (const piece of say?.match(/\S+\s*/g) ?? [])
    told.push({ type: 'delta', choice: 0, delta: { content: piece } })
  calls.forEach(([name, given = {}, id = `call_${++callIds}`], index) => {
    const text = typeof given === 'string' ? given : JSON.stringify(given)
    const begin = { index, id, type: 'function' as const, function: { name, arguments: '' } }
    told.push({ type: 'delta', choice: 0, delta: { tool_calls: [begin] } })
    for (const part of [text.slice(0, 3), text.slice(3)]) {
      const delta = { tool_calls: [{ index, function: { arguments: part } }] }
      if (part !== '') told.push({ type: 'delta', choice: 0, delta })
    }
  })
  const reason = (finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')) as 'stop'
  told.push({ type: 'finish', choice: 0, reason, native: reason }, { type: 'usage', usage: figures })
  return told
}

/** A model whose turns are written down. */
export class ScriptedModel extends ScriptedProvider {
  readonly #script: Script
  readonly #onTurn: ((turn: number) => void) | null

  constructor(script: Script, onTurn: ((turn: number) => void) | null = null) {
    super()
    this.#script = script
    this.#onTurn = onTurn
  }

  override stream(call: ProviderCall, receiver: Parameters<ScriptedProvider['stream']>[1]): CallHandle {
    const at = this.calls.length
    const handle = super.stream(call, receiver)
    const turn = typeof this.#script === 'function' ? this.#script(call, at) : this.#script[at]
    if (turn === undefined) throw new Error(`no turn ${at} is written down`)
    const { told } = this.last
    setImmediate(() => {
      this.#onTurn?.(at)
      if (told.includes('cancel')) return
      if (turn.hangs === true && turn.say !== undefined) receiver.onEvent(text(turn.say))
      if (turn.hangs === true) return
      const events = turn.failure !== undefined && turn.say === undefined ? [] : eventsOf(turn)
      for (const event of events) {
        if (turn.failure !== undefined && event.type === 'finish') break
        receiver.onEvent(event)
      }
      receiver.onFlush()
      if (turn.failure !== undefined) receiver.onFailure(turn.failure)
      else receiver.onEnd()
    })
    return handle
  }

  /** What each turn was asked. */
  get requests(): readonly ChatRequest[] {
    return this.calls.map(({ call }) => call.request)
  }
}

type Answerer = (given: Readonly<Record<string, unknown>>, run: ToolRun) => ToolOutcome | Promise<ToolOutcome>

export function said(content: unknown, more: Partial<ToolOutcome> = {}): ToolOutcome {
  return { content, isError: false, executed: true, charged: 0, ...more }
}

/** A tool of one function that is named like it. */
export function scriptedTool(
  name: string,
  answer: Answerer = (given) => said({ echo: given }),
  more: Partial<PreparedTool> & { readonly feeNanos?: number } = {},
): ServerTool {
  const { feeNanos = 0, ...rest } = more
  return {
    name,
    prepare: () => ({
      functions: [{ name, description: name, parameters: { type: 'object' } }],
      backend: 'scripted',
      fee: () => feeNanos,
      run: async (call, run) => answer(call.arguments, run),
      ...rest,
    }),
  }
}

export function tooling(names: readonly string[], more: Partial<Tooling> = {}): Tooling {
  const tools = names.map((name) => requested(name))
  return { tools, plugins: [], disabled: [], stopWhen: null, maxToolCalls: 30, ...more }
}

/** Everything a listener was told. */
export class LoopEar implements LoopListener<ChatRequest, ChatEvent, Completion> {
  readonly events: ChatEvent[] = []
  readonly progress: ToolProgress[] = []
  readonly over: Promise<{ answer: Completion | null; fault: Fault | null }>
  #end!: (end: { answer: Completion | null; fault: Fault | null }) => void
  ends = 0

  constructor() {
    this.over = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  onEvent(event: ChatEvent): void {
    this.events.push(event)
  }

  onFlush(): void {}

  onToolProgress(progress: ToolProgress): void {
    this.progress.push(progress)
  }

  onEnd(_: Generation<ChatRequest>, answer: Completion | null): void {
    this.ends++
    this.#end({ answer, fault: null })
  }

  onFailure(fault: Fault): void {
    this.ends++
    this.#end({ answer: null, fault })
  }

  get text(): string {
    return this.events.map((event) => (event.type === 'delta' ? (event.delta.content ?? '') : '')).join('')
  }

  get finishes(): readonly string[] {
    return this.events.flatMap((event) => (event.type === 'finish' ? [event.reason] : []))
  }
}

export interface LoopBenchOptions {
  readonly clock?: Clock
  readonly deadlineMs?: number
  readonly mostCalls?: number
  /** Before tokens are counted. */
  readonly counting?: Promise<void>
  readonly plugins?: readonly Plugin[]
  readonly catalog?: (model: ScriptedModel) => Catalog
  readonly recheck?: LoopAccount['recheck']
  readonly reserve?: (row: ToolRow) => Fault | null
  readonly onTurn?: (turn: number) => void
}

/** Counts what turns and tools cost, as the accounting does. */
class Ledger {
  readonly rows: { id: string; kind: string; name: string; charged: number }[] = []
  readonly closed: InferenceOutcome[] = []
  readonly spendings: ToolSpending[] = []
  held = 0
  prompt = 0
  completion = 0

  get charged(): number {
    return this.rows.reduce((sum, { charged }) => sum + charged, 0)
  }

  addTurn(generation: Generation<RoutedRequest>): void {
    const { id, parent, consumption } = generation
    this.prompt += consumption?.usage.prompt ?? 0
    this.completion += consumption?.usage.completion ?? 0
    this.rows.push({ id, kind: 'turn', name: parent!.purpose, charged: consumption?.cost.total ?? 0 })
  }

  consumption(): Consumption {
    const cost = { total: this.charged, prompt: 0, completion: 0, tools: 0 }
    return { usage: usage(this.prompt, this.completion), cost, estimated: false, guessed: false }
  }
}

export class LoopBench {
  readonly model: ScriptedModel
  readonly ledger = new Ledger()
  readonly defects: unknown[] = []
  readonly loops: Loops
  readonly gateway: Gateway

  constructor(script: Script, tools: readonly ServerTool[], options: LoopBenchOptions = {}) {
    const { clock = systemClock, deadlineMs = 60_000, mostCalls = 100 } = options
    this.model = new ScriptedModel(script, options.onTurn)
    const catalog =
      options.catalog?.(this.model) ?? catalogOf({ 'acme/one': [{ slug: 'first' }] }, () => this.model)
    const onDefect = (error: unknown): void => void this.defects.push(error)
    const countTokens: LoopPorts['countTokens'] = async (texts) => {
      await options.counting
      return { counts: texts.map(({ length }) => length), areGuessed: false }
    }
    this.gateway = new Gateway({
      catalog: () => catalog,
      ...routingState(clock),
      countTokens,
      clock,
      files: NO_FILE_PORTS,
      deadlineMs,
      onDefect,
      observe: () => {},
      admit: () => {
        this.ledger.held++
        return {
          recordLost: () => {},
          settle: (generation) => {
            this.ledger.held--
            this.ledger.addTurn(generation)
            return null
          },
        }
      },
      admitCount: async () => () => {},
    })
    this.loops = new Loops(this.gateway, {
      clock,
      deadlineMs,
      countTokens,
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      plugins: new Map((options.plugins ?? []).map((plugin) => [plugin.id, plugin])),
      seal: SEAL,
      filesOf: () => NO_FILES,
      admitTooling: (_, asked) => asked,
      defaultTooling: () => null,
      isCompressedUnasked: () => false,
      wallClockMs: () => 30_000,
      mostCalls: () => mostCalls,
      openAccount: () => this.#account(options),
      onDefect,
    })
  }

  #account({ recheck, reserve }: LoopBenchOptions): ReturnType<LoopPorts['openAccount']> {
    const { ledger } = this
    return {
      recheck: () => recheck?.() ?? CALLER,
      reserve: (row) => {
        const refused = reserve?.(row) ?? null
        if (refused !== null) return refused
        ledger.held++
        return {
          settle: (spent) => {
            ledger.held--
            ledger.spendings.push(spent)
            const charged = spent.executed ? Math.min(spent.charged, row.fee) : 0
            ledger.rows.push({ id: row.id, kind: row.kind, name: row.name, charged })
            return charged
          },
        }
      },
      get charged() {
        return ledger.charged
      },
      consumption: () => ledger.consumption(),
      close: (outcome) => {
        ledger.closed.push(outcome)
        return null
      },
    }
  }

  async prepare(request: Partial<ChatRequest>): Promise<PreparedLoop<ChatRequest, ChatEvent, Completion>> {
    const asked: ChatRequest = {
      model: 'acme/one',
      messages: [{ role: 'user', content: 'hello' }],
      ...request,
    }
    const inference = { request: asked, caller: CALLER, simulate: '', traceparent: '' }
    const loop = await this.loops.prepare(chatTurns, inference, { arrivedAt: performance.now() })
    if (!('root' in loop)) throw new Error('there is nothing to run')
    return loop
  }

  /** Runs a request to its end. */
  async run(request: Partial<ChatRequest>, mode: 'stream' | 'whole' = 'stream') {
    const loop = await this.prepare(request)
    const ear = new LoopEar()
    loop.run(mode, ear)
    const end = await ear.over
    return { ...end, ear, root: loop.root }
  }
}

export const SEAL = new ReplaySeal(Buffer.alloc(32, 7))
