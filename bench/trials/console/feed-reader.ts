/** A reader of the live feed that counts what comes: as cheap as one can be, so that what is measured is the server. */
import { type ClientRequest, get } from 'node:http'
import { MANAGEMENT_KEY } from '../../performance/gateway/calls.js'

const EVENT = 'event: '

export class FeedReader {
  /** Events that have come. */
  messages = 0
  bytes = 0

  private constructor(private readonly request: ClientRequest) {}

  /** Resolves when the feed has begun. Faults: Error when it is refused. */
  static open(port: number): Promise<FeedReader> {
    return new Promise((resolve, reject) => {
      const headers = { Authorization: `Bearer ${MANAGEMENT_KEY}` }
      const request = get(`http://127.0.0.1:${port}/api/v1/live`, { agent: false, headers }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`the feed answered ${response.statusCode}`))
        const reader = new FeedReader(request)
        response.setEncoding('utf8')
        response.on('data', (text: string) => {
          reader.bytes += text.length
          reader.messages += text.split(EVENT).length - 1
        })
        // The trial closes it, which is no failure.
        response.on('error', () => {})
        resolve(reader)
      })
      request.on('error', reject)
    })
  }

  close(): void {
    this.request.destroy()
  }
}
