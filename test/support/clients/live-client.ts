/** Readers of the live feed, as a browser or a program reads it. */
import { get, type IncomingMessage } from 'node:http'
import { eventually } from '../timing/eventually.js'

interface LiveEvent {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: tests name the members they look at.
  readonly data: any
}

/** One stream over a connection of its own. */
export class LiveReader {
  readonly events: LiveEvent[] = []
  /** The server has ended it properly, or its connection has broken. */
  ended: 'closed' | 'cut' | null = null
  #rest = ''

  private constructor(private readonly response: IncomingMessage) {
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#take(text))
    response.on('end', () => {
      this.ended ??= 'closed'
    })
    response.on('error', () => {
      this.ended ??= 'cut'
    })
  }

  /** Rejects with the status where it is not 200. */
  static open(baseUrl: string, headers: Readonly<Record<string, string>>): Promise<LiveReader> {
    return new Promise((resolve, reject) => {
      const request = get(`${baseUrl}/api/v1/live`, { agent: false, headers }, (response) => {
        if (response.statusCode === 200) resolve(new LiveReader(response))
        else {
          response.resume()
          reject(new Error(String(response.statusCode)))
        }
      })
      request.on('error', reject)
    })
  }

  static withKey(baseUrl: string, key: string): Promise<LiveReader> {
    return LiveReader.open(baseUrl, { Authorization: `Bearer ${key}` })
  }

  dataOf(event: string): LiveEvent['data'][] {
    return this.events.flatMap((each) => (each.event === event ? [each.data] : []))
  }

  /** The next sample that comes. */
  async nextSample(): Promise<LiveEvent['data']> {
    const before = this.dataOf('sample').length
    return eventually(() => this.dataOf('sample')[before])
  }

  close(): void {
    this.response.destroy()
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split('\n\n')
    this.#rest = blocks.pop()!
    for (const block of blocks) {
      const match = /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(block)
      if (match !== null) this.events.push({ event: match[1]!, data: JSON.parse(match[2]!) })
    }
  }
}
