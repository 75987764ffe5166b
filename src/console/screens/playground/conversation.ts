/** A conversation with a model: what was said, and the answer that is under way. */
import { type Signal, signal } from '@preact/signals'
import { problemIn, send } from '../../api/call.ts'
import { eventsOf } from '../../api/events.ts'
import { type Attachment, FORMATS, type Piece, type Request, type Said, type ToolRun } from './formats.ts'
import { soundCall } from './sound.ts'
import type { Usage } from './wire.ts'

export interface Turn extends Said {
  /** Of an answer. */
  readonly told?: Told
}

/** What is known of an answer; durations in milliseconds, counted by the browser. */
export interface Told {
  readonly id: string | null
  readonly state: 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'
  readonly thinking: string
  readonly tools: readonly ToolRun[]
  readonly pictures: readonly string[]
  /** Titles of what it cites, by address. */
  readonly sources: ReadonlyMap<string, string>
  /** Ids of files. */
  readonly made: ReadonlySet<string>
  /** Address of what was spoken, within this page. */
  readonly spoken: string | null
  /** Dollars that it comes to about, by the length of what has come so far. */
  readonly about: number
  /** The events as they came, the first of them. */
  readonly raw: readonly string[]
  readonly events: number
  readonly firstMs: number | null
  readonly totalMs: number | null
  readonly finish: string | null
  readonly usage: Usage | null
  /** The server's own sentence. */
  readonly problem: string | null
}

const BEGUN: Told = {
  ...{ id: null, state: 'waiting', thinking: '', firstMs: null, totalMs: null, finish: null },
  ...{ usage: null, problem: null, tools: [], pictures: [], raw: [], events: 0, spoken: null, about: 0 },
  ...{ sources: new Map(), made: new Set() },
}

const MOST_RAW_EVENTS = 500
/** About as many letters are a token; the true count comes with the end. */
const CHARS_A_TOKEN = 4
const MOST_RAW_CHARS = 2_000
/** What a page draws without another request; anything else that a model names is no picture here. */
const PICTURE = /^data:image\/(png|jpeg|webp|gif);base64,/

export class Conversation {
  readonly turns: Signal<readonly Turn[]> = signal([])
  #leaving: AbortController | null = null
  #answer: Turn = { role: 'assistant', text: '' }
  #frame = 0
  #asked = 0
  #prices = { prompt: 0, completion: 0 }

  get isBusy(): boolean {
    const state = this.turns.value.at(-1)?.told?.state
    return state === 'waiting' || state === 'streaming'
  }

  /** Says something and reads the answer; resolves when it has ended, however it did. */
  async ask(request: Request, text: string, files: readonly Attachment[]): Promise<void> {
    const spoken: Turn = { role: 'user', text, files: files.length > 0 ? files : undefined }
    const asked: readonly Turn[] = [...this.turns.value, spoken]
    const leaving = new AbortController()
    this.#leaving = leaving
    this.#answer = { role: 'assistant', text: '', told: BEGUN }
    this.turns.value = [...asked, this.#answer]
    const began = performance.now()
    const { read, ...format } = FORMATS[request.format]
    const { path, body } =
      request.sound === null
        ? { path: format.path, body: format.body(request, asked) }
        : soundCall(request.sound, request, asked)
    this.#prices = request.prices
    this.#asked = JSON.stringify(body).length
    try {
      const answer = await send('POST', `api/v1/${path}`, {
        body,
        signal: leaving.signal,
        headers: {
          Accept: request.sound === null ? 'text/event-stream' : '*/*',
          'X-Service-Tool-Events': 'enabled',
          ...(request.key !== null && { Authorization: `Bearer ${request.key}` }),
        },
      })
      if (answer === null) return this.#end({ state: 'failed', problem: 'The server cannot be reached' })
      this.#tell({ id: answer.headers.get('X-Generation-Id') })
      if (!answer.ok || answer.body === null)
        return this.#end({ state: 'failed', problem: (await problemIn(answer)).message })
      if (request.sound !== null) return this.#end(await soundIn(answer, began))
      for await (const { data } of eventsOf(answer.body)) this.#take(read(data), data, began)
      const { problem, finish } = this.#answer.told!
      const isWhole = problem === null && finish !== null
      const why = problem ?? (isWhole ? null : 'The answer broke off')
      this.#end({ state: isWhole ? 'done' : 'failed', problem: why, totalMs: performance.now() - began })
    } catch {
      if (!leaving.signal.aborted) this.#end({ state: 'failed', problem: 'The answer broke off' })
    }
  }

  /** Leaves the answer; what has come of it stays, and is paid. */
  stop(): void {
    this.#leaving?.abort()
    if (this.isBusy) this.#end({ state: 'stopped' })
  }

  clear(): void {
    this.stop()
    this.turns.value = []
  }

  #take(piece: Piece | null, data: string, began: number): void {
    const told = this.#answer.told!
    const { text, thinking, pictures, sources, made, tool, finish, usage, problem } = piece ?? {}
    if (text) this.#answer = { ...this.#answer, text: this.#answer.text + text }
    const isFirst = told.firstMs === null && Boolean(text || thinking || pictures)
    const raw = data.length > MOST_RAW_CHARS ? `${data.slice(0, MOST_RAW_CHARS)}…` : data
    this.#tell({
      state: 'streaming',
      events: told.events + 1,
      about:
        (this.#asked * this.#prices.prompt +
          (this.#answer.text.length + told.thinking.length) * this.#prices.completion) /
        CHARS_A_TOKEN,
      ...(told.events < MOST_RAW_EVENTS && { raw: [...told.raw, raw] }),
      ...(isFirst && { firstMs: performance.now() - began }),
      ...(thinking && { thinking: told.thinking + thinking }),
      ...(pictures && { pictures: [...told.pictures, ...pictures.filter((each) => PICTURE.test(each))] }),
      ...(sources && { sources: new Map([...told.sources, ...sources]) }),
      ...(made && { made: new Set([...told.made, ...made]) }),
      ...(tool && { tools: withTool(told.tools, tool) }),
      ...(finish && { finish }),
      ...(usage && { usage }),
      ...(problem !== undefined && { problem }),
    })
  }

  #tell(change: Partial<Told>): void {
    this.#answer = { ...this.#answer, told: { ...this.#answer.told!, ...change } }
    if (this.#frame !== 0) return
    // Hundreds of pieces may come in a second; they are drawn once a frame.
    this.#frame = requestAnimationFrame(() => this.#draw())
  }

  #end({ text, ...change }: Partial<Told> & { text?: string }): void {
    if (text !== undefined) this.#answer = { ...this.#answer, text }
    this.#tell(change)
    this.#draw()
  }

  #draw(): void {
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
    const { value } = this.turns
    // A conversation that was cleared has no place for it.
    if (value.at(-1)?.role === 'assistant') this.turns.value = [...value.slice(0, -1), this.#answer]
  }
}

/** An answer of sound: bytes that are played, or the text of a recording. */
async function soundIn(answer: Response, began: number): Promise<Partial<Told> & { text?: string }> {
  const blob = await answer.blob()
  const told = { state: 'done', finish: 'stop', totalMs: performance.now() - began } as const
  if (blob.type.startsWith('audio/')) return { ...told, spoken: URL.createObjectURL(blob) }
  const { text, usage } = JSON.parse(await blob.text()) as { text: string; usage?: { cost?: number } }
  return { ...told, text, usage: { prompt_tokens: 0, completion_tokens: 0, cost: usage?.cost } }
}

function withTool(tools: readonly ToolRun[], { id, name, state }: NonNullable<Piece['tool']>): ToolRun[] {
  const known = tools.some((each) => each.id === id)
  return known
    ? tools.map((each) => (each.id === id ? { ...each, state } : each))
    : [...tools, { id, name: name ?? 'tool', state }]
}
