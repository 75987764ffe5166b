/** A conversation with a model: what was said, and the answer that is under way. */
import { type Signal, signal } from '@preact/signals'
import { problemIn, send } from '../../api/call.ts'
import { eventsOf } from '../../api/events.ts'
import { CHAT, type Chunk, type Usage } from './wire.ts'

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Of an answer. */
  readonly told?: Told
}

/** What is known of an answer; durations in milliseconds, counted by the browser. */
export interface Told {
  readonly id: string | null
  readonly state: 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'
  readonly thinking: string
  readonly firstMs: number | null
  readonly totalMs: number | null
  readonly finish: string | null
  readonly usage: Usage | null
  /** The server's own sentence. */
  readonly problem: string | null
}

export interface Request {
  readonly model: string
  readonly system: string
  readonly temperature: number | null
  readonly maxTokens: number | null
  /** Null where the session pays. */
  readonly key: string | null
}

const BEGUN: Told = {
  ...{ id: null, state: 'waiting', thinking: '', firstMs: null, totalMs: null, finish: null },
  ...{ usage: null, problem: null },
}

/** What is sent of a conversation; also what its curl shows. */
export function bodyOf({ model, system, temperature, maxTokens }: Request, turns: readonly Turn[]): object {
  const said = turns.filter(({ text }) => text !== '').map(({ role, text }) => ({ role, content: text }))
  return {
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...said],
    ...(temperature !== null && { temperature }),
    ...(maxTokens !== null && { max_tokens: maxTokens }),
    stream: true,
    stream_options: { include_usage: true },
  }
}

export class Conversation {
  readonly turns: Signal<readonly Turn[]> = signal([])
  #leaving: AbortController | null = null
  #answer: Turn = { role: 'assistant', text: '' }
  #frame = 0

  get isBusy(): boolean {
    const state = this.turns.value.at(-1)?.told?.state
    return state === 'waiting' || state === 'streaming'
  }

  /** Says something and reads the answer; resolves when it has ended, however it did. */
  async ask(request: Request, text: string): Promise<void> {
    const asked: readonly Turn[] = [...this.turns.value, { role: 'user', text }]
    const leaving = new AbortController()
    this.#leaving = leaving
    this.#answer = { role: 'assistant', text: '', told: BEGUN }
    this.turns.value = [...asked, this.#answer]
    const began = performance.now()
    try {
      const answer = await send('POST', CHAT, {
        body: bodyOf(request, asked),
        signal: leaving.signal,
        headers: {
          Accept: 'text/event-stream',
          ...(request.key !== null && { Authorization: `Bearer ${request.key}` }),
        },
      })
      if (answer === null) return this.#end({ state: 'failed', problem: 'The server cannot be reached' })
      this.#tell({ id: answer.headers.get('X-Generation-Id') })
      if (!answer.ok || answer.body === null)
        return this.#end({ state: 'failed', problem: (await problemIn(answer)).message })
      for await (const { data } of eventsOf(answer.body)) if (data !== '[DONE]') this.#take(data, began)
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

  #take(data: string, began: number): void {
    const { choices, usage, error } = JSON.parse(data) as Chunk
    const { delta, finish_reason: finish } = choices?.[0] ?? {}
    const { firstMs, thinking } = this.#answer.told!
    const isFirst = firstMs === null && Boolean(delta?.content || delta?.reasoning)
    if (delta?.content) this.#answer = { ...this.#answer, text: this.#answer.text + delta.content }
    this.#tell({
      state: 'streaming',
      thinking: thinking + (delta?.reasoning ?? ''),
      ...(isFirst && { firstMs: performance.now() - began }),
      ...(finish && { finish }),
      ...(usage && { usage }),
      ...(error && { problem: error.message ?? 'The answer failed' }),
    })
  }

  #tell(change: Partial<Told>): void {
    this.#answer = { ...this.#answer, told: { ...this.#answer.told!, ...change } }
    if (this.#frame !== 0) return
    // Hundreds of pieces may come in a second; they are drawn once a frame.
    this.#frame = requestAnimationFrame(() => this.#draw())
  }

  #end(change: Partial<Told>): void {
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
