/** Clients that ask for something and go away before they have got it. */
import type { StreamOutcome } from '../../harness/sse/checked-streams.js'
import { StreamConnection } from '../../harness/sse/stream-connection.js'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { mockModel, tagOf } from '../../performance/gateway/mock-models.js'

export class LeavingClients {
  /** Calls that have ended: before anybody left, refused, failed or complete ones. */
  readonly ended: StreamOutcome[] = []
  readonly #connections: StreamConnection[] = []

  /** Opens `count` connections and sends a call on each; does not wait for answers. Faults: Error when one is refused. */
  async ask(port: number, model: string, count: number): Promise<void> {
    const tagged = mockModel(model)?.tagged === true
    for (let number = 0; number < count; number++) {
      const connection = await StreamConnection.open(port)
      if (connection === null) throw new Error(`the gateway refused connection ${number + 1} of ${count}`)
      this.#connections.push(connection)
      const tag = tagged ? tagOf(number) : ''
      void connection
        .call(callBytes(SLUICE_CHAT, model, tag), tag)
        .then((outcome) => this.ended.push(outcome))
    }
  }

  /** How many have had at least one token. */
  get reading(): number {
    return this.#connections.filter(({ tokens }) => tokens > 0).length
  }

  /** All leave at once, every second one by a reset instead of an orderly end. */
  leave(): void {
    for (const [index, connection] of this.#connections.entries()) connection.leave(index % 2 === 1)
  }

  /** Tokens that carried another call's tag; known once all have left. */
  get crossed(): number {
    return this.ended.reduce((sum, { crossed }) => sum + crossed, 0)
  }
}
