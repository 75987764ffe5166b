/** Paced chat calls that all machines of a fleet get in turn, and what became of each. */
import { Agent, request } from 'node:http'

/** One call; times are those of `performance.now()`. */
export interface FleetCall {
  /** Place of the machine that was called. */
  readonly machine: number
  readonly sentAt: number
  readonly endedAt: number
  /** 0 when no whole answer came. */
  readonly status: number
  /** Of the generation; `''` when no head came. */
  readonly id: string
  /** Whether the answer said when to come again. */
  readonly hasRetryAfter: boolean
  /** The beginning of the answer where it was not served; `''` otherwise. */
  readonly said: string
}

interface LoadSettings {
  /** Of the machines on 127.0.0.1, in their order. */
  readonly ports: readonly number[]
  /** A credential. */
  readonly key: string
  readonly model: string
  /** Over all machines. */
  readonly perSecond: number
  /** Sends no more than these. */
  readonly most?: number
}

/** Without an end after so long a call counts as unanswered. */
const PATIENCE_MS = 30_000
/** Calls to one machine that wait for their answers; beyond them its turns are left out. */
const MOST_PENDING = 400
const TICK_MS = 10
const KEPT_ANSWER = 300

export class FleetLoad {
  /** In the order of their ends. */
  readonly calls: FleetCall[] = []
  /** Turns that were left out, because a machine owed too many answers. */
  skipped = 0
  readonly #settings: LoadSettings
  readonly #body: string
  readonly #agents: readonly Agent[]
  readonly #pending: number[]
  readonly #startedAt = performance.now()
  readonly #timer: NodeJS.Timeout
  readonly #underWay = new Set<Promise<void>>()
  #sent = 0

  /** Begins at once. */
  constructor(settings: LoadSettings) {
    this.#settings = settings
    const { model, ports } = settings
    const messages = [{ role: 'user', content: 'one call' }]
    this.#body = JSON.stringify({ model, max_tokens: 4, messages })
    this.#agents = ports.map(() => new Agent({ keepAlive: true }))
    this.#pending = ports.map(() => 0)
    this.#timer = setInterval(() => this.#sendDue(), TICK_MS)
  }

  /** Turns so far, those that were left out included. */
  get sent(): number {
    return this.#sent
  }

  /** Answered with 200, whole. */
  get served(): readonly FleetCall[] {
    return this.calls.filter(({ status }) => status === 200)
  }

  /** Sends no more, and waits for what is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#underWay)
    for (const agent of this.#agents) agent.destroy()
  }

  #sendDue(): void {
    const { perSecond, ports, most = Number.POSITIVE_INFINITY } = this.#settings
    const due = Math.min(most, Math.floor(((performance.now() - this.#startedAt) / 1_000) * perSecond))
    for (; this.#sent < due; this.#sent++) {
      const machine = this.#sent % ports.length
      if (this.#pending[machine]! >= MOST_PENDING) this.skipped++
      else this.#send(machine)
    }
  }

  #send(machine: number): void {
    this.#pending[machine]!++
    const sentAt = performance.now()
    const call = this.#ask(machine).then((answer) => {
      this.#pending[machine]!--
      this.calls.push({ machine, sentAt, endedAt: performance.now(), ...answer })
      this.#underWay.delete(call)
    })
    this.#underWay.add(call)
  }

  /** Never rejects. */
  #ask(machine: number): Promise<Pick<FleetCall, 'status' | 'id' | 'hasRetryAfter' | 'said'>> {
    return new Promise((resolve) => {
      const heard = { status: 0, id: '', hasRetryAfter: false, said: '' }
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.#settings.ports[machine],
          agent: this.#agents[machine],
          method: 'POST',
          path: '/api/v1/chat/completions',
          signal: AbortSignal.timeout(PATIENCE_MS),
          headers: {
            Authorization: `Bearer ${this.#settings.key}`,
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(this.#body),
          },
        },
        (answer) => {
          heard.id = String(answer.headers['x-generation-id'] ?? '')
          heard.hasRetryAfter = answer.headers['retry-after'] !== undefined
          answer.on('error', () => resolve(heard))
          answer.once('end', () => resolve({ ...heard, status: answer.complete ? answer.statusCode! : 0 }))
          if (answer.statusCode === 200) answer.resume()
          else {
            answer.setEncoding('utf8').on('data', (piece: string) => {
              heard.said = `${heard.said}${piece}`.slice(0, KEPT_ANSWER)
            })
          }
        },
      )
      sent.on('error', () => resolve(heard))
      sent.end(this.#body)
    })
  }
}
